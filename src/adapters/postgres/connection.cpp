#include "src/adapters/postgres/connection.hpp"

#include <fcntl.h>
#include <poll.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>

#include "pawl/core/check.hpp"

namespace pawl::postgres {
namespace {

namespace net = boost::asio;
using namespace net::experimental::awaitable_operators;
using Wait = net::posix::descriptor_base;

constexpr auto quietly = net::as_tuple(net::use_awaitable);
constexpr int binary = 1;
constexpr const char* lock_timeout = "100ms";

bool is(const char* sqlstate, std::string_view code) {
  return sqlstate != nullptr && sqlstate == code;
}

// A COMMIT may hang for minutes where a synchronous standby is gone: nothing on the server ends
// that.
class Alarm {
 public:
  Alarm(net::any_io_executor executor, Deadline deadline, std::function<void()> ring)
      : timer_(std::move(executor), deadline), armed_(std::make_shared<bool>(true)) {
    timer_.async_wait([armed = armed_, ring = std::move(ring)](boost::system::error_code error) {
      if (!error && *armed) ring();
    });
  }
  ~Alarm() { *armed_ = false; }  // one that has just gone off means nothing any more
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

 private:
  net::steady_timer timer_;
  std::shared_ptr<bool> armed_;
};

}  // namespace

// One exchange on its way.
struct Connection::Sent {
  std::uint64_t number = 0;
  bool direct = false;  // with statements that stay prepared
  // What its results belong to, in order: a statement being prepared, or its rows.
  std::vector<std::optional<StatementId>> expected;
};

std::optional<std::string_view> Rows::field(int row, std::size_t column) const {
  const int number = static_cast<int>(column);
  if (PQgetisnull(result_.get(), row, number) != 0) return std::nullopt;
  return std::string_view(PQgetvalue(result_.get(), row, number),
                          static_cast<std::size_t>(PQgetlength(result_.get(), row, number)));
}

// Asio gets a descriptor of its own. libpq closes its socket by itself when the connection breaks;
// the number may then be another connection's before we let go of it.
Connection::Connection(net::any_io_executor executor, PGconn* connection, SessionFacts facts,
                       const Statements& statements)
    : socket_(executor),
      changed_(executor),
      connection_(connection, PQfinish),
      facts_(std::move(facts)),
      statements_(statements) {
  const int own = ::fcntl(PQsocket(connection), F_DUPFD_CLOEXEC, 0);
  boost::system::error_code error;
  if (own >= 0) socket_.assign(own, error);
  usable_ = own >= 0 && !error && PQsetnonblocking(connection, 1) == 0 &&
            PQenterPipelineMode(connection) == 1;
}

bool Connection::alive() {
  if (!usable_ || PQstatus(connection_.get()) == CONNECTION_BAD) return false;
  if (under_way_ > 0) return true;  // the answer will tell
  pollfd readable{PQsocket(connection_.get()), POLLIN, 0};
  if (::poll(&readable, 1, 0) == 0) return true;  // silence is normal between exchanges
  // A notice, or the end. Asking tells; a server that went away while we were idle is found here,
  // before anything is sent that would then be in doubt.
  usable_ = PQconsumeInput(connection_.get()) == 1 && PQstatus(connection_.get()) == CONNECTION_OK;
  return usable_;
}

// A second one may follow where nothing depends on how the first one ends: not while the server is
// still learning statements or settings, and not through a pooler, which may change the server
// between two transactions.
bool Connection::has_room() const {
  if (under_way_ == 0) return true;
  return under_way_ == 1 && facts_.direct && settings_stay_ && !preparing_;
}

bool Connection::send(Sent& sent, const Query& query) {
  std::vector<TypeId> types;
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const Parameter& parameter : query.parameters) {
    types.push_back(parameter.type);
    values.push_back(parameter.null ? nullptr : parameter.bytes.data());
    lengths.push_back(static_cast<int>(parameter.bytes.size()));
    formats.push_back(binary);
  }
  const int count = static_cast<int>(values.size());
  const Statement& statement = statements_[query.statement];
  PGconn* connection = connection_.get();
  if (!sent.direct) {
    sent.expected.emplace_back(std::nullopt);
    return PQsendQueryParams(connection, statement.sql.c_str(), count, types.data(), values.data(),
                             lengths.data(), formats.data(), binary) == 1;
  }
  if (!prepared_.test(static_cast<std::size_t>(query.statement))) {
    preparing_ = true;
    sent.expected.emplace_back(query.statement);
    if (PQsendPrepare(connection, statement.name.c_str(), statement.sql.c_str(), count,
                      types.data()) != 1) {
      return false;
    }
  }
  sent.expected.emplace_back(std::nullopt);
  return PQsendQueryPrepared(connection, statement.name.c_str(), count, values.data(),
                             lengths.data(), formats.data(), binary) == 1;
}

bool Connection::send_all(Sent& sent, const std::vector<Query>& queries) {
  preparing_ = false;
  if (!send(sent, beginning())) return false;
  for (const Query& query : queries) {
    if (!send(sent, query)) return false;
  }
  return PQpipelineSync(connection_.get()) == 1;
}

Task<bool> Connection::wait_readable() {
  const auto [error] = co_await socket_.async_wait(Wait::wait_read, quietly);
  co_return !error && PQconsumeInput(connection_.get()) == 1;
}

Task<bool> Connection::flush() {
  for (;;) {
    const int left = PQflush(connection_.get());
    if (left == 0) co_return true;
    if (left < 0) co_return false;
    // Both ways: a server whose answers nobody takes stops reading.
    const auto woken = co_await (socket_.async_wait(Wait::wait_write, quietly) ||
                                 socket_.async_wait(Wait::wait_read, quietly));
    const bool may_read = woken.index() == 1;
    const auto error = may_read ? std::get<0>(std::get<1>(woken)) : std::get<0>(std::get<0>(woken));
    if (error || (may_read && PQconsumeInput(connection_.get()) != 1)) co_return false;
  }
}

// A null pointer: the connection is broken.
Task<PGresult*> Connection::next_result() {
  for (;;) {
    while (PQisBusy(connection_.get()) != 0) {
      const bool read = co_await wait_readable();
      if (!read) co_return nullptr;
    }
    PGresult* result = PQgetResult(connection_.get());
    if (result != nullptr) co_return result;  // else: the end of one statement's results
    if (PQstatus(connection_.get()) == CONNECTION_BAD) co_return nullptr;
  }
}

// Whoever else waits for this connection finds out now.
Connection::Reply Connection::broken(const char* why) {
  usable_ = false;
  const std::string said = PQerrorMessage(connection_.get());
  boost::system::error_code ignored;
  socket_.cancel(ignored);
  return Unexpected{Failure{Failure::Kind::broken, {}, said.empty() ? why : said, false}};
}

Connection::Reply Connection::not_sent() const {
  const char* said = PQerrorMessage(connection_.get());
  return Unexpected{Failure{Failure::Kind::not_sent, {}, said, false}};
}

Failure Connection::refused(PGresult* error, const Sent& sent) {
  const char* sqlstate = PQresultErrorField(error, PG_DIAG_SQLSTATE);
  // A pooler that hid itself, or a schema that changed under a prepared statement: do without.
  const bool stale = is(sqlstate, "26000") || is(sqlstate, "42P05") || is(sqlstate, "0A000");
  if (stale) {
    facts_.direct = false;
    settings_stay_ = false;  // they were another session's
  }
  // It was the primary once. The next connection is looked for from scratch.
  if (is(sqlstate, "25006")) usable_ = false;
  return Failure{Failure::Kind::refused, sqlstate == nullptr ? "" : sqlstate,
                 PQresultErrorMessage(error), stale && sent.direct};
}

// The settings that every batch needs. Behind a pooler they are made anew for each transaction; on
// a session of our own, once.
Query Connection::beginning() const {
  if (settings_stay_) return Query{StatementId::clock, {}};
  return Query{facts_.direct ? StatementId::begin_all : StatementId::begin,
               {text_parameter(lock_timeout), text_parameter(facts_.synchronous_commit)}};
}

Task<Connection::Reply> Connection::exchange(std::vector<Query> queries, Deadline deadline) {
  while (usable_ && !has_room() && std::chrono::steady_clock::now() < deadline) {
    co_await changed_.wait(deadline);
  }
  if (!has_room()) co_return not_sent();
  if (!alive()) {
    usable_ = false;
    co_return not_sent();
  }
  Sent sent{.number = ++sent_, .direct = facts_.direct, .expected = {}};
  ++under_way_;
  const std::weak_ptr<Connection> weak = weak_from_this();
  const Alarm alarm(socket_.get_executor(), deadline, [weak] {
    if (const std::shared_ptr<Connection> self = weak.lock()) self->socket_.cancel();
  });
  Reply reply = Unexpected{Failure{}};
  if (send_all(sent, queries)) {
    reply = co_await answer_to(sent);
  } else {
    reply = broken("could not send");
  }
  --under_way_;
  changed_.notify();
  co_return reply;
}

Task<Connection::Reply> Connection::answer_to(const Sent& sent) {
  const bool flushed = co_await flush();
  if (!flushed) co_return broken("deadline passed while sending");
  while (usable_ && answered_ + 1 != sent.number) co_await changed_.wait();
  if (!usable_) co_return broken("the connection broke before the answer came");
  Reply reply = co_await results_of(sent);
  answered_ = sent.number;
  co_return reply;
}

Task<Connection::Reply> Connection::results_of(const Sent& sent) {
  std::vector<Rows> rows;
  std::optional<Failure> failure;
  for (std::size_t position = 0;;) {
    PGresult* result = co_await next_result();
    if (result == nullptr) co_return broken("deadline passed while waiting for the answer");
    Rows owned(result);
    switch (PQresultStatus(result)) {
      case PGRES_TUPLES_OK:
      case PGRES_COMMAND_OK: {
        PAWL_CHECK(position < sent.expected.size());
        const std::optional<StatementId> parsed = sent.expected[position++];
        if (parsed) {
          prepared_.set(static_cast<std::size_t>(*parsed));
        } else {
          rows.push_back(std::move(owned));
        }
        break;
      }
      case PGRES_PIPELINE_SYNC:
        if (failure) co_return Reply(Unexpected{std::move(*failure)});
        settings_stay_ = facts_.direct;  // committed: no rollback takes them back
        co_return Reply(std::move(rows));
      case PGRES_PIPELINE_ABORTED: break;
      default:
        if (PQstatus(connection_.get()) == CONNECTION_BAD) co_return broken("connection lost");
        failure = refused(result, sent);
        // Everything had been done and the commit itself failed: on a distributed server that may
        // leave it in doubt.
        if (position == sent.expected.size()) failure->kind = Failure::Kind::broken;
    }
  }
}

}  // namespace pawl::postgres
