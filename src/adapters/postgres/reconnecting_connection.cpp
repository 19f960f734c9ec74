#include "src/adapters/postgres/reconnecting_connection.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "src/adapters/postgres/ask.hpp"
#include "src/adapters/postgres/connection_string.hpp"
#include "src/adapters/postgres/run_on.hpp"

namespace pawl::postgres {
namespace {

namespace net = boost::asio;

using Owned = std::unique_ptr<PGconn, decltype(&PQfinish)>;

constexpr std::chrono::milliseconds pause_min{20};
constexpr std::chrono::milliseconds pause_max{1000};

// Every name in full: it runs before the search_path is ours.
constexpr const char* who_is_there =
    "SELECT pg_catalog.pg_backend_pid(), pg_catalog.current_setting('fsync'),"
    " pg_catalog.current_setting('synchronous_commit'),"
    " pg_catalog.current_setting('default_transaction_isolation'), pg_catalog.pg_is_in_recovery(),"
    " pg_catalog.current_setting('transaction_read_only'),"
    " pg_catalog.current_setting('synchronous_standby_names')";

// For the whole session, where nobody shares it. Behind a pooler each transaction says it anew.
constexpr const char* settle_in =
    "SELECT pg_catalog.set_config('search_path', $1, false),"
    " pg_catalog.set_config('synchronous_commit', $2, false)";

bool has_several_hosts(PGconn* connection) {
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(PQconninfo(connection),
                                                                             PQconninfoFree);
  for (const PQconninfoOption* option = options.get(); option && option->keyword; ++option) {
    const std::string_view name = option->keyword;
    const bool list = name == "host" || name == "hostaddr";
    if (list && option->val && std::string_view(option->val).find(',') != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

// Why this server must not be written to, going by what it says about itself.
std::optional<std::string> loses_writes(PGconn* connection, const std::string& fsync,
                                        bool has_standbys) {
  if (fsync != "on") {
    return "the server runs with fsync = off and may forget what it acknowledged; set "
           "allow_lossy_store = true to accept that";
  }
  if (has_several_hosts(connection) && !has_standbys) {
    return "several hosts without synchronous standbys lose acknowledged writes in a failover; set "
           "synchronous_standby_names, or allow_lossy_store = true to accept that";
  }
  return std::nullopt;
}

Expected<SessionFacts, std::string> examine(PGconn* connection, const Options& options,
                                            Until until) {
  const Result result = ask(connection, who_is_there, until);
  if (!result) return Unexpected{silence(connection, until)};
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK || PQntuples(result.get()) != 1) {
    return Unexpected{first_line(PQerrorMessage(connection))};
  }
  const auto field = [&](int i) { return std::string(PQgetvalue(result.get(), 0, i)); };
  if (field(4) == "t" || field(5) == "on") {
    return Unexpected{std::string("the server is read-only (a standby?)")};
  }
  SessionFacts facts;
  facts.has_standbys = !field(6).empty();
  if (!options.allow_lossy_store) {
    if (auto trouble = loses_writes(connection, field(1), facts.has_standbys)) {
      return Unexpected{std::move(*trouble)};
    }
  }
  if (field(3) != "read committed") {
    return Unexpected{"default_transaction_isolation is '" + field(3) +
                      "' and must be 'read committed' for this role and database"};
  }
  // A pooler makes up the process id it tells its clients.
  facts.direct = field(0) == std::to_string(PQbackendPID(connection));
  // `local` is this server's disk alone: a failover would lose what was acknowledged.
  const bool weak = field(2) == "off" || field(2) == "local";
  facts.synchronous_commit = weak ? "on" : field(2);
  return facts;
}

std::optional<std::string> make_ours(PGconn* connection, const SessionFacts& facts, Until until) {
  const std::array<const char*, 2> values{search_path, facts.synchronous_commit.c_str()};
  const Result result = ask(connection, settle_in, {.count = 2, .values = values.data()}, until);
  if (!result) return silence(connection, until);
  if (PQresultStatus(result.get()) == PGRES_TUPLES_OK) return std::nullopt;
  return first_line(PQerrorMessage(connection));
}

void rethrow(std::exception_ptr failure) {
  if (failure) std::rethrow_exception(failure);
}

Task<Expected<Established, std::string>> establish_there(std::string url, Options options) {
  co_return establish(url, options);
}

// To resolve a name and to connect may block for seconds: on a thread that lives for as long.
Task<Expected<Established, std::string>> establish_elsewhere(std::string url, Options options) {
  std::optional<net::thread_pool> thread;
  try {
    thread.emplace(1);
  } catch (const std::exception& failure) {  // the machine has none left: tried again later
    co_return Unexpected{std::string("no thread to connect on: ") + failure.what()};
  }
  Task<Expected<Established, std::string>> task =
      run_on(thread->get_executor(), establish_there(std::move(url), options));
  Expected<Established, std::string> established = co_await std::move(task);
  co_return established;
}

}  // namespace

Expected<Established, std::string> establish(const std::string& url, const Options& options,
                                             Speaker speaker) {
  const std::string timeout = std::to_string(options.connect_timeout.count());
  // Later ones win: the connection string may set timeouts of its own, but not the encoding. A
  // server that is gone without a word is noticed within half a minute, whoever waits for what.
  const std::array<const char*, 9> names{"connect_timeout",
                                         "tcp_user_timeout",
                                         "keepalives_idle",
                                         "keepalives_interval",
                                         "keepalives_count",
                                         "fallback_application_name",
                                         "dbname",
                                         "client_encoding",
                                         nullptr};
  const std::array<const char*, 9> values{timeout.c_str(), "20000",     "10",   "5",    "3",
                                          "pawl",          url.c_str(), "UTF8", nullptr};
  Owned connection(PQconnectdbParams(names.data(), values.data(), 1), PQfinish);
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    return Unexpected{without_password(url, PQerrorMessage(connection.get()))};
  }
  auto notices = std::make_unique<Notices>();
  PQsetNoticeReceiver(connection.get(), take_notice, notices.get());
  const Until until =
      std::chrono::steady_clock::now() +
      std::max<std::chrono::milliseconds>(options.connect_timeout, options.operation_timeout);
  Expected<SessionFacts, std::string> facts = examine(connection.get(), options, until);
  if (!facts) return Unexpected{facts.error()};
  if (speaker == Speaker::pawl && facts->direct) {
    if (auto trouble = make_ours(connection.get(), *facts, until)) return Unexpected{*trouble};
  }
  return Established{std::move(notices), std::move(connection), std::move(*facts)};
}

void Health::good() {
  const std::lock_guard lock(mutex_);
  trouble_.reset();
}

void Health::bad(std::string why) {
  const std::lock_guard lock(mutex_);
  trouble_ = std::move(why);
}

std::optional<std::string> Health::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

ReconnectingConnection::ReconnectingConnection(LinkContext context)
    : context_(context), changed_(context.executor) {}

void ReconnectingConnection::stop() {
  stopped_ = true;
  changed_.cancel();
}

// Doubles from 20 ms to 1 s; half of it is chance, so that nodes do not come back in step.
std::chrono::milliseconds ReconnectingConnection::pause() {
  const int doublings = std::min(failures_++, 10);
  const auto whole = std::min(pause_min * (1 << doublings), pause_max);
  const auto chance = context_.chance() % static_cast<std::uint64_t>(whole.count() / 2 + 1);
  return whole / 2 + std::chrono::milliseconds(chance);
}

// Goes on by itself: whoever asked may have stopped waiting.
Task<void> ReconnectingConnection::connect() {
  Expected<Established, std::string> established =
      co_await establish_elsewhere(context_.url, context_.options);
  if (established) {
    connection_ = std::make_shared<Connection>(context_.executor, std::move(*established),
                                               context_.statements);
    context_.health.good();
  } else {
    context_.health.bad("PostgreSQL: " + established.error());
  }
  connecting_ = false;
  changed_.cancel();
}

Task<void> ReconnectingConnection::wait(Deadline until) {
  changed_.expires_at(until);
  co_await changed_.async_wait(net::as_tuple(net::use_awaitable));
}

Task<std::shared_ptr<Connection>> ReconnectingConnection::get(Deadline deadline) {
  while (!stopped_) {
    if (connection_ && connection_->alive()) {
      failures_ = 0;
      co_return connection_;
    }
    if (connection_) context_.health.bad("connection to PostgreSQL lost");
    connection_.reset();
    if (std::chrono::steady_clock::now() >= deadline) break;
    if (!connecting_) {
      connecting_ = true;
      net::co_spawn(context_.executor, connect(), rethrow);
    }
    while (connecting_ && !stopped_ && std::chrono::steady_clock::now() < deadline) {
      co_await wait(deadline);
    }
    if (connection_ || connecting_) continue;
    co_await wait(std::min(std::chrono::steady_clock::now() + pause(), deadline));
  }
  co_return nullptr;
}

}  // namespace pawl::postgres
