// in_flight = "wait": a duplicate waits for the first to finish and is given its answer.
//
// On one node the first one leads and the others sleep; the store is not asked again. Where another
// node has the key, the leader asks the store now and then, sooner if that node says it is done,
// and the others sleep beside it.
#include <algorithm>

#include "src/boundary/boundary.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;

constexpr Duration poll_first = 50ms;
constexpr Duration poll_max = 1s;
constexpr Duration check_client_every = 250ms;  // a client that has hung up is not waited for
constexpr Duration full_retry_after = 1s;

}  // namespace

// Sleeps until the leader is back, the time is up or the client is gone.
Task<void> Boundary::wait_for_leader(RequestContext& context, std::shared_ptr<Sleeper> sleeper,
                                     BootTime until) {
  const Clock& clock = ports_.clock;
  while (!sleeper->woken() && clock.now() < until && !context.client_is_gone()) {
    co_await sleeper->sleep(std::min<Duration>(until - clock.now(), check_client_every));
  }
  state_.flights.leave(context.scope, context.key, sleeper);
}

// The leader's part: reserve, or see what another node makes of it.
Task<Boundary::Admission> Boundary::lead(RequestContext& context, BootTime until) {
  auto flight = std::make_unique<FlightGuard>(state_.flights, context.scope, context.key);
  Admission admission = co_await reserve(context);
  if (context.decided == DecisionKind::in_flight) {
    admission = co_await watch_another_node(context, until, std::move(admission));
  }
  if (auto* granted = std::get_if<Granted>(&admission)) granted->flight = std::move(flight);
  co_return admission;
}

// Asks the store now and then, and when the other node says that there is something to see.
Task<Boundary::Admission> Boundary::watch_another_node(RequestContext& context, BootTime until,
                                                       Admission admission) {
  const Clock& clock = ports_.clock;
  const std::shared_ptr<Sleeper> sleeper = ports_.sleepers.new_sleeper();
  const Subscription settled(state_.notices, context.scope, context.key, sleeper);
  Duration pause = poll_first;
  while (context.decided == DecisionKind::in_flight && clock.now() < until &&
         !context.client_is_gone()) {
    co_await sleeper->sleep(std::min<Duration>(until - clock.now(), pause));
    sleeper->rest();
    pause = std::min<Duration>(pause * 2, poll_max);
    context.decided.reset();
    admission = co_await look_up(context, std::nullopt);
    if (context.decided) continue;
    admission = co_await reserve(context);  // it is free now, or that cannot be told
  }
  co_return admission;
}

Task<Boundary::Admission> Boundary::take_turns(RequestContext& context) {
  const BootTime until = ports_.clock.now() + context.policy.wait_limit;
  // A client that may not have the answer does not wait for it.
  const Fingerprint same{context.fingerprint.text + context.credentials};
  for (;;) {
    const std::shared_ptr<Sleeper> sleeper = ports_.sleepers.new_sleeper();
    switch (
        state_.flights.join(context.scope, context.key, same, context.policy.waiters, sleeper)) {
      case SingleFlight::Role::leader: co_return co_await lead(context, until);
      case SingleFlight::Role::different_request: co_return co_await reserve(context);
      case SingleFlight::Role::too_many: co_return still_in_flight(context);
      case SingleFlight::Role::waiter: break;
    }
    co_await wait_for_leader(context, sleeper, until);
    // Completed records are in memory by now; anything else is for the next leader to find out.
    std::optional<Response> replay = from_memory(context);
    if (replay) co_return std::move(*replay);
    if (context.client_is_gone()) co_return still_in_flight(context);
    if (ports_.clock.now() >= until) co_return co_await look_once_more(context);
  }
}

// For one whose time is up: the answer may be in the store by now, though not in memory. What is
// free is not executed any more.
Task<Response> Boundary::look_once_more(RequestContext& context) {
  context.decided.reset();
  Response found = co_await look_up(context, std::nullopt);
  if (context.decided) co_return found;
  co_return still_in_flight(context);
}

Response Boundary::still_in_flight(RequestContext& context) {
  context.decided = DecisionKind::in_flight;
  context.lease_left.reset();
  context.trace.decision = to_text(DecisionKind::in_flight);
  ports_.metrics.decided_in_memory(to_text(DecisionKind::in_flight));
  ProblemDetails running{Problem::in_flight, "", {}, full_retry_after};
  return problem(context, std::move(running));
}

}  // namespace pawl
