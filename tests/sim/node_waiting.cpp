// in_flight = "wait", as src/gateway/waiting.cpp does it: the real table of flights, and sleep in
// simulated time.
#include "pawl/core/mutant.hpp"
#include "tests/sim/node_run.hpp"

namespace pawl::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration wait_limit = 8s;
constexpr Duration poll_first = 50ms;
constexpr Duration poll_max = 1s;
constexpr std::size_t waiters_max = 3;

class Sleeper final : public gateway::Flights::Waiter {
 public:
  Sleeper(Process& process, const Scheduler& scheduler)
      : process_(process), scheduler_(scheduler), ticket_(process.ticket()) {}
  void wake() override { process_.wake(ticket_, scheduler_.now(), "waiting"); }
  Task<void> sleep(Duration until) {
    process_.wake(ticket_, until, "waiting");
    return process_.park(ticket_);
  }

 private:
  Process& process_;
  const Scheduler& scheduler_;
  Process::Ticket ticket_;
};

Answer still_in_flight() {
  Answer answer;
  answer.said = Said::in_flight;
  answer.retry_after = 1s;
  return answer;
}

}  // namespace

Task<Answer> Node::lead(Run& run, const Exchange& exchange, const Request& request, Scope whose,
                        BootTime until) {
  const gateway::Landing landing(run.flights, whose, request.key);
  Answer answer = co_await execute(run, exchange, request);
  Duration pause = poll_first;
  while (answer.said == Said::in_flight && run.clock.now() < until && !exchange.hung_up) {
    co_await run.clock.sleep_until(std::min(until, run.clock.now() + pause));
    pause = std::min<Duration>(pause * 2, poll_max);
    answer = co_await execute(run, exchange, request);
  }
  run.overheard[request.key.text] = answer;
  co_return answer;
}

Task<Answer> Node::take_turns(Run& run, const Exchange& exchange, const Request& request) {
  const BootTime until = run.clock.now() + wait_limit;
  for (;;) {
    const auto sleeper = std::make_shared<Sleeper>(*run.process, outside_.scheduler);
    const Scope whose = mutant(Mutant::waiter_told_by_key) ? Scope{} : request.scope;
    switch (run.flights.board(whose, request.key, request.fingerprint, waiters_max, sleeper)) {
      case gateway::Flights::Role::leader:
        co_return co_await lead(run, exchange, request, whose, until);
      case gateway::Flights::Role::outsider: co_return co_await execute(run, exchange, request);
      case gateway::Flights::Role::too_many: co_return still_in_flight();
      case gateway::Flights::Role::waiter: break;
    }
    note(text_of(exchange.identity) + " waits for the first");
    co_await sleeper->sleep(run.clock.true_time(until));
    run.flights.leave(whose, request.key, sleeper);
    const auto overheard = run.overheard.find(request.key.text);
    if (mutant(Mutant::waiter_told_by_key) && overheard != run.overheard.end()) {
      co_return overheard->second;
    }
    if (const std::optional<Answer> cached = from_memory(run, request)) co_return *cached;
    if (run.clock.now() < until && !exchange.hung_up) continue;
    if (mutant(Mutant::waiter_frees_key)) co_await free_key(run, exchange.identity);
    co_return still_in_flight();
  }
}

}  // namespace pawl::sim
