#include "src/adapters/postgres/connection.hpp"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "pawl/types/check.hpp"
#include "src/adapters/postgres/ask.hpp"
#include "src/adapters/postgres/doubts.hpp"
#include "src/adapters/postgres/options.hpp"

namespace pawl::postgres {
namespace {

namespace net = boost::asio;
using namespace net::experimental::awaitable_operators;
using Wait = net::posix::descriptor_base;

constexpr int binary = 1;

bool is(const char* sqlstate, std::string_view code) {
  return sqlstate != nullptr && sqlstate == code;
}

}  // namespace

std::optional<std::string_view> Rows::field(int row, std::size_t column) const {
  const int number = static_cast<int>(column);
  if (PQgetisnull(result_.get(), row, number) != 0) return std::nullopt;
  return std::string_view(PQgetvalue(result_.get(), row, number),
                          static_cast<std::size_t>(PQgetlength(result_.get(), row, number)));
}

// Asio gets a descriptor of its own. libpq closes its socket by itself when the connection breaks;
// the number may then be another connection's before we let go of it.
Connection::Connection(net::any_io_executor executor, Established established,
                       const Statements& statements)
    : socket_(executor),
      timer_(executor),
      notices_(std::move(established.notices)),
      connection_(std::move(established.connection)),
      facts_(std::move(established.facts)),
      statements_(statements) {
  PGconn* const connection = connection_.get();
  const int own = ::fcntl(PQsocket(connection), F_DUPFD_CLOEXEC, 0);
  boost::system::error_code error;
  if (own >= 0) socket_.assign(own, error);
  usable_ = own >= 0 && !error && PQsetnonblocking(connection, 1) == 0 &&
            PQenterPipelineMode(connection) == 1;
}

bool Connection::alive() {
  if (!usable_ || PQstatus(connection_.get()) == CONNECTION_BAD) return false;
  pollfd readable{PQsocket(connection_.get()), POLLIN, 0};
  if (::poll(&readable, 1, 0) == 0) return true;  // silence is normal between exchanges
  // A notice, or the end. Asking tells; a server that went away while we were idle is found here,
  // before anything is sent that would then be in doubt.
  usable_ = PQconsumeInput(connection_.get()) == 1 && PQstatus(connection_.get()) == CONNECTION_OK;
  return usable_;
}

bool Connection::send(const Query& query, bool for_caller) {
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
  if (!facts_.direct) {
    expected_.push_back({std::nullopt, for_caller});
    return PQsendQueryParams(connection, statement.sql.c_str(), count, types.data(), values.data(),
                             lengths.data(), formats.data(), binary) == 1;
  }
  const bool on_its_way = std::ranges::find(expected_, std::optional(query.statement),
                                            &Awaited::parsed) != expected_.end();
  if (!prepared_.test(static_cast<std::size_t>(query.statement)) && !on_its_way) {
    expected_.push_back({query.statement, false});
    if (PQsendPrepare(connection, statement.name.c_str(), statement.sql.c_str(), count,
                      types.data()) != 1) {
      return false;
    }
  }
  expected_.push_back({std::nullopt, for_caller});
  return PQsendQueryPrepared(connection, statement.name.c_str(), count, values.data(),
                             lengths.data(), formats.data(), binary) == 1;
}

Task<bool> Connection::wait_readable() {
  if (overdue_) co_return false;
  const auto [error] = co_await socket_.async_wait(Wait::wait_read, as_result);
  co_return !error && PQconsumeInput(connection_.get()) == 1;
}

Task<bool> Connection::flush() {
  for (;;) {
    const int left = PQflush(connection_.get());
    if (left == 0) co_return true;
    if (left < 0 || overdue_) co_return false;
    // Both ways: a server whose answers nobody takes stops reading.
    const auto woken = co_await (socket_.async_wait(Wait::wait_write, as_result) ||
                                 socket_.async_wait(Wait::wait_read, as_result));
    const bool may_read = woken.index() == 1;
    const auto error = may_read ? std::get<0>(std::get<1>(woken)) : std::get<0>(std::get<0>(woken));
    if (error || (may_read && PQconsumeInput(connection_.get()) != 1)) co_return false;
  }
}

// A null pointer: the connection is broken.
Task<PGresult*> Connection::next_result() {
  for (int ends = 0; ends < 2; ++ends) {
    while (PQisBusy(connection_.get()) != 0) {
      const bool read = co_await wait_readable();
      if (!read) co_return nullptr;
    }
    PGresult* result = PQgetResult(connection_.get());
    if (result != nullptr) co_return result;  // else: the end of one statement's results
    if (PQstatus(connection_.get()) == CONNECTION_BAD) break;
  }
  co_return nullptr;  // two ends in a row: libpq expects nothing more, and we do
}

// A COMMIT may hang for minutes where a synchronous standby is gone: nothing on the server ends
// that.
void Connection::arm(Deadline deadline) {
  overdue_ = false;
  timer_.expires_at(deadline);
  timer_.async_wait(
      [weak = weak_from_this(), number = ++exchanges_](boost::system::error_code error) {
        const std::shared_ptr<Connection> self = weak.lock();
        if (error || !self || self->exchanges_ != number) return;
        // Kept: at this very moment there may be nothing to cancel, and the next wait begins.
        self->overdue_ = true;
        self->socket_.cancel();
      });
}

Expected<std::vector<Rows>, Failure> Connection::broken(const char* why) {
  usable_ = false;
  timer_.cancel();
  ++doubts();
  const std::string said = PQerrorMessage(connection_.get());
  return Unexpected{Failure{Failure::Kind::broken, {}, said.empty() ? why : said, false}};
}

Expected<std::vector<Rows>, Failure> Connection::refused(PGresult* error) {
  const char* sqlstate = PQresultErrorField(error, PG_DIAG_SQLSTATE);
  // A pooler that hid itself, or a schema that changed under a prepared statement: do without.
  const bool stale = is(sqlstate, "26000") || is(sqlstate, "42P05") || is(sqlstate, "0A000");
  const bool send_again = stale && facts_.direct;
  if (stale) {
    facts_.direct = false;
    settings_stay_ = false;  // they were another session's
  }
  // It was the primary once. The next connection is looked for from scratch.
  if (is(sqlstate, "25006")) usable_ = false;
  return Unexpected{Failure{Failure::Kind::refused, sqlstate == nullptr ? "" : sqlstate,
                            refusal(connection_.get(), error), send_again}};
}

// The settings that every batch needs. Behind a pooler they are made anew for each transaction; on
// a session of our own, once.
Query Connection::beginning() const {
  if (settings_stay_) return Query{StatementId::clock, {}};
  return Query{facts_.direct ? StatementId::begin_all : StatementId::begin,
               {text_parameter(batch_lock_timeout), text_parameter(facts_.synchronous_commit),
                text_parameter(search_path)}};
}

Task<Expected<std::vector<Rows>, Failure>> Connection::exchange(std::vector<Query> queries,
                                                                Deadline deadline,
                                                                Limit statement_limit) {
  using Reply = Expected<std::vector<Rows>, Failure>;
  if (!alive()) {
    usable_ = false;
    const char* said = PQerrorMessage(connection_.get());
    co_return Reply(Unexpected{Failure{Failure::Kind::not_sent, {}, said, false}});
  }
  expected_.clear();
  notices_->wait_cancelled = false;
  const std::uint64_t doubts_before = doubts();
  const bool has_standbys = facts_.has_standbys || has_waited_for_standby();
  const bool doubtful = has_standbys && doubts_settled_ != doubts_before;
  bool sent = send(beginning());
  if (doubtful) sent = sent && send({StatementId::barrier, {}}, false);
  if (statement_limit) {
    const std::string limit = std::to_string(statement_limit->count());
    sent = sent && send({StatementId::limit, {text_parameter(limit)}}, false);
  }
  for (const Query& query : queries) sent = sent && send(query);
  sent = sent && PQpipelineSync(connection_.get()) == 1;
  if (!sent) co_return broken("could not send");
  arm(deadline);
  const bool flushed = co_await flush();
  if (!flushed) co_return broken("deadline passed while sending");
  std::vector<Rows> rows;
  std::optional<Failure> failure;
  for (std::size_t position = 0;;) {
    PGresult* result = co_await next_result();
    if (result == nullptr) co_return broken("deadline passed while waiting for the answer");
    Rows owned(result);
    switch (PQresultStatus(result)) {
      case PGRES_TUPLES_OK:
      case PGRES_COMMAND_OK: {
        PAWL_CHECK(position < expected_.size());
        const Awaited& of = expected_[position++];
        if (of.parsed) prepared_.set(static_cast<std::size_t>(*of.parsed));
        if (of.for_caller) rows.push_back(std::move(owned));
        break;
      }
      case PGRES_PIPELINE_SYNC:
        timer_.cancel();
        ++exchanges_;  // a timer that has just fired means nothing any more
        if (notices_->wait_cancelled) co_return broken(wait_cancelled_text);
        if (failure) co_return Reply(Unexpected{std::move(*failure)});
        doubts_settled_ = doubts_before;
        settings_stay_ = facts_.direct;  // committed: no rollback takes them back
        co_return Reply(std::move(rows));
      case PGRES_PIPELINE_ABORTED: break;
      default:
        if (PQstatus(connection_.get()) == CONNECTION_BAD) co_return broken("connection lost");
        failure = refused(result).error();
        // Everything had been done and the commit itself failed: on a distributed server that may
        // leave it in doubt.
        if (position == expected_.size()) {
          failure->kind = Failure::Kind::broken;
          ++doubts();
        }
    }
  }
}

}  // namespace pawl::postgres
