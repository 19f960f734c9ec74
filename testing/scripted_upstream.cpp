#include "testing/scripted_upstream.hpp"

#include <utility>

namespace pawl::testing {

Outcome answered(int status, std::string body) {
  Response response;
  response.status = status;
  response.headers = {{"Content-Type", "application/json"}};
  response.body = std::move(body);
  return Answered{std::move(response)};
}

ScriptedUpstream::Step ScriptedUpstream::default_step() { return {true, answered(201)}; }

namespace {

// Taken out before it runs: a hook often makes somebody else send as well.
void run_once(std::function<void()>& hook) {
  if (const std::function<void()> taken = std::exchange(hook, nullptr)) taken();
}

}  // namespace

Task<Outcome> ScriptedUpstream::send(const Record&, SendGate& gate, BootTime) {
  run_once(before_gate);
  if (!co_await gate.may_send()) co_return NotSent{"the lease was nearly over"};
  run_once(after_gate);
  ++sends_;
  const Step step = step_;
  if (step.charges) ++charges_;
  run_once(before_answer);
  co_return step.outcome;
}

}  // namespace pawl::testing
