// in_flight = "wait": a duplicate waits for the first to finish and is given its answer.
//
// On one node the first one leads and the others sleep; the store is not asked again. Where another
// node has the key, the leader asks the store now and then, sooner if that node says it is done,
// and the others sleep beside it.
#include <boost/asio/this_coro.hpp>

#include "src/gateway/passage.hpp"
#include "src/gateway/sleeper.hpp"

namespace pawl::gateway {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;

constexpr Duration poll_first = 50ms;
constexpr Duration poll_max = 1s;
constexpr Duration look_at_client = 250ms;  // somebody who has hung up is not waited for
constexpr Duration full_retry_after = 1s;

}  // namespace

// Sleeps until the leader is back, the time is up or the client is gone.
Task<void> Gateway::wait_for_leader(Passage& passage, std::shared_ptr<Sleeper> sleeper,
                                    BootTime until) {
  while (!sleeper->woken() && clock_.now() < until && !passage.request.stream().is_gone()) {
    co_await sleeper->sleep(std::min<Duration>(until - clock_.now(), look_at_client));
  }
  shared_.flights.leave(passage.scope, passage.key, sleeper);
}

// The leader's part: execute, or see what another node makes of it.
Task<Response> Gateway::lead(Passage& passage, BootTime until) {
  const Landing landing(shared_.flights, passage.scope, passage.key);
  Response response = co_await reserve_and_execute(passage);
  if (passage.decided == DecisionKind::execute) {
    shared_.hints.say(Hints::name_of(passage.scope, passage.key));
  }
  if (passage.decided == DecisionKind::in_flight) {
    response = co_await watch_another_node(passage, until, std::move(response));
  }
  co_return response;
}

// Asks the store now and then, and when the other node says that there is something to see.
Task<Response> Gateway::watch_another_node(Passage& passage, BootTime until, Response response) {
  const net::any_io_executor executor = co_await net::this_coro::executor;
  const auto sleeper = std::make_shared<Sleeper>(executor);
  const Lookout lookout(shared_.hints, passage.scope, passage.key, sleeper);
  Duration pause = poll_first;
  while (passage.decided == DecisionKind::in_flight && clock_.now() < until &&
         !passage.request.stream().is_gone()) {
    co_await sleeper->sleep(std::min<Duration>(until - clock_.now(), pause));
    sleeper->rest();
    pause = std::min<Duration>(pause * 2, poll_max);
    passage.decided.reset();
    response = co_await look_only(passage, std::nullopt);
    if (passage.decided) continue;
    response = co_await reserve_and_execute(passage);  // it is free now, or nobody can tell
  }
  co_return response;
}

Task<Response> Gateway::take_turns(Passage& passage) {
  const BootTime until = clock_.now() + passage.policy.wait_limit;
  const net::any_io_executor executor = co_await net::this_coro::executor;
  // Whoever may not have the answer does not wait for it.
  const Fingerprint same{passage.fingerprint.text + passage.credentials};
  for (;;) {
    const auto sleeper = std::make_shared<Sleeper>(executor);
    switch (
        shared_.flights.board(passage.scope, passage.key, same, passage.policy.waiters, sleeper)) {
      case Flights::Role::leader: co_return co_await lead(passage, until);
      case Flights::Role::outsider: co_return co_await reserve_and_execute(passage);
      case Flights::Role::too_many: co_return still_in_flight(passage);
      case Flights::Role::waiter: break;
    }
    co_await wait_for_leader(passage, sleeper, until);
    // Completed records are in memory by now; anything else is for the next leader to find out.
    std::optional<Response> replay = from_memory(passage);
    if (replay) co_return std::move(*replay);
    const bool over = clock_.now() >= until || passage.request.stream().is_gone();
    if (over) co_return still_in_flight(passage);
  }
}

Response Gateway::still_in_flight(Passage& passage) {
  shared_.metrics.decided_in_memory(to_text(DecisionKind::in_flight));
  passage.line.decision = to_text(DecisionKind::in_flight);
  ProblemDetails running{Problem::in_flight, "", {}, full_retry_after};
  return problem(passage, std::move(running));
}

}  // namespace pawl::gateway
