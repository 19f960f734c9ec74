#include "src/adapters/postgres/session.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "src/adapters/postgres/failures.hpp"

namespace pawl::postgres {
namespace {

namespace net = boost::asio;

}  // namespace

Task<void> Turn::take(Urgency urgency) {
  if (!taken_) {
    taken_ = true;
    co_return;
  }
  const auto mine = std::make_shared<net::steady_timer>(executor_, Deadline::max());
  (urgency == Urgency::request ? requests_ : background_).push_back(mine);
  co_await mine->async_wait(net::as_tuple(net::use_awaitable));  // ended by give(): it is ours now
}

void Turn::give() {
  Waiting& waiting = requests_.empty() ? background_ : requests_;
  if (waiting.empty()) {
    taken_ = false;
    return;
  }
  // Expired rather than cancelled: a waiter that has not begun to wait yet must not miss it.
  waiting.front()->expires_at(Deadline::min());
  waiting.pop_front();
}

Session::Session(const LinkContext& context)
    : context_(context), link_(context), turn_(context.executor) {}

Task<Session::Reply> Session::exchange(std::vector<Query> queries, Urgency urgency) {
  const auto timeout = context_.options.operation_timeout;
  const bool background = urgency == Urgency::background;
  const Deadline asked_at = std::chrono::steady_clock::now();
  co_await turn_.take(urgency);
  // Requests come next on this connection: what takes too long behind them is ended by the server
  // before its deadline would cost them the connection.
  const Deadline from = background ? std::chrono::steady_clock::now() : asked_at;
  const Connection::Limit limit = background ? Connection::Limit(timeout * 3 / 4) : std::nullopt;
  Reply reply = co_await in_turn(std::move(queries), from + timeout, limit);
  turn_.give();
  co_return reply;
}

Task<Session::Reply> Session::in_turn(std::vector<Query> queries, Deadline deadline,
                                      Connection::Limit limit) {
  for (;;) {
    const std::shared_ptr<Connection> connection = co_await link_.get(deadline);
    const bool late = std::chrono::steady_clock::now() >= deadline;
    if (!connection || late) {
      const std::string why = context_.health.trouble().value_or("no connection");
      co_return Reply(Unexpected{Failure{Failure::Kind::not_sent, {}, why, false}});
    }
    Reply reply = co_await connection->exchange(queries, deadline, limit);
    if (reply) {
      context_.health.good();
      co_return reply;
    }
    const Failure& failure = reply.error();
    if (failure.kind == Failure::Kind::not_sent || failure.send_again) continue;
    if (failure.kind == Failure::Kind::broken)
      context_.health.bad("PostgreSQL: " + failure.message);
    co_return reply;
  }
}

StoreError store_error(const Failure& failure) {
  switch (failure.kind) {
    case Failure::Kind::not_sent: return StoreError::unavailable;
    case Failure::Kind::broken: return StoreError::in_doubt;
    case Failure::Kind::refused: break;
  }
  return error_of_one_row(failure.sqlstate);
}

}  // namespace pawl::postgres
