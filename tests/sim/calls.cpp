// What workers send: accepted requests to the upstream, and messages to their destination.
#include "tests/sim/outbox.hpp"
#include "tests/sim/sources.hpp"

namespace pawl::sim {
namespace {

using namespace std::chrono_literals;

class SimCall final : public workers::StoredCall {
 public:
  SimCall(Outside& outside, Process& process, const NodeClock& clock, const Record& record,
          const std::string& who)
      : outside_(outside),
        process_(process),
        identity_(record.scope, record.key),
        call_(outside, process, clock, identity_, body_of(record), who) {}
  // The worker has done with it: what it knows must be written down by then.
  ~SimCall() override {
    if (process_.alive() && last_) outside_.checker.call_ended(identity_, call_.fence(), *last_);
  }
  Task<Outcome> send(const Record& attempt, SendGate& gate, BootTime deadline) override {
    Outcome outcome = co_await call_.send(attempt, gate, deadline);
    last_ = outcome;
    co_return outcome;
  }

 private:
  static Body body_of(const Record& record) {
    Body body;
    std::sscanf(record.request->body.c_str(), "{\"amount\":%d,\"nonce\":%d}", &body.amount,
                &body.nonce);
    return body;
  }

  Outside& outside_;
  Process& process_;
  Identity identity_;
  Call call_;
  std::optional<Outcome> last_;
};

}  // namespace

std::unique_ptr<workers::StoredCall> SimCalls::call_for(const Record& record) {
  return std::make_unique<SimCall>(outside_, process_, clock_, record, who_);
}

// One request to the destination, which works on whether or not this node still exists.
Task<CallResult> Receipts::send(const OutboxRow& row, const std::function<Instant()>&,
                                SendGate& gate, BootTime deadline) {
  Chaos& chaos = outside_.chaos;
  Scheduler& scheduler = outside_.scheduler;
  Stream stream(outside_.seed, "message", ++outside_.sends);
  const bool unreachable = chaos.strikes(Fault::upstream_unreachable, stream);
  const bool slow = chaos.strikes(Fault::upstream_slow, stream);
  const bool dies = chaos.strikes(Fault::upstream_dies, stream);
  const bool mute = chaos.strikes(Fault::upstream_mute, stream);
  const bool lies = chaos.strikes(Fault::upstream_lies, stream);
  const bool refuses = chaos.strikes(Fault::upstream_refuses, stream);
  const Duration connect_after = stream.between(0ms, 30ms);
  const Duration act_after = stream.between(0ms, slow ? outside_.outbox.rules().timeout : 200ms);
  const Process::Ticket connected = process_.ticket();
  process_.wake(connected, scheduler.now() + connect_after, "outbox.connect");
  co_await process_.park(connected);
  if (unreachable) co_return CallResult{NotSent{"connection refused"}, Duration{0}};
  const bool may = co_await gate.may_send();
  if (!may) co_return CallResult{NotSent{"too late to begin"}, Duration{0}};
  // No await since the gate: the first byte leaves at this very moment.
  outside_.outbox.first_byte(row);
  const auto answered = std::make_shared<bool>(false);
  const Process::Ticket answer = process_.ticket();
  if (!dies) {
    scheduler.at(scheduler.now() + act_after, [&outside = outside_, row, refuses, mute, answered,
                                               answer, process = process_.weak_from_this()] {
      if (!refuses) outside.outbox.act(row);
      const auto node = process.lock();
      if (mute || !node) return;
      *answered = true;
      node->wake(answer, outside.scheduler.now(), "outbox.answer");
    });
  }
  process_.wake(answer, clock_.true_time(deadline), "outbox.timeout");
  co_await process_.park(answer);
  if (!*answered) {
    co_return CallResult{Lost{Lost::How::timeout, "no answer in time"}, Duration{0}};
  }
  Answered said;
  said.response.status = lies ? 500 : refuses ? 429 : 200;
  co_return CallResult{std::move(said), Duration{0}};
}

}  // namespace pawl::sim
