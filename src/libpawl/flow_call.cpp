// External-call phases: from the send intent to the recorded answer.
#include <algorithm>
#include <thread>

#include "src/core/derived_key.hpp"
#include "src/libpawl/call_verdict.hpp"
#include "src/libpawl/flow_run.hpp"
#include "src/libpawl/http_caller.hpp"

namespace pawl::detail {
namespace {

using namespace std::chrono_literals;

constexpr Duration record_pause_first = 50ms;
constexpr Duration record_pause_max = 1s;

// These run on the node's thread: the engine and its leases belong to it.

Task<Instant> store_time(NodeCore& node) { co_return node.engine().time().at(node.clock().now()); }

Task<Instant> store_time_at_latest(NodeCore& node) {
  co_return node.engine().time().at_latest(node.clock().now());
}

// What of a window must be left for the first byte of a call that may be out there already: the
// other side may take it up as late as the call may last, and an owner whom the gate has let pass
// may be held up for as long as its lease.
Duration time_to_arrive(const StoredPolicy& policy) {
  return policy.upstream_timeout + policy.lease;
}

// The lease, and after whatever renewing it took, the window.
class PhaseGate final : public SendGate {
 public:
  PhaseGate(NodeCore& node, Lease& lease, std::optional<Instant> send_before)
      : node_(node), lease_(lease), send_before_(send_before) {}

  Task<bool> may_send() override {
    const bool held = co_await node_.engine().may_send(lease_);
    if (!held || !send_before_) co_return held;
    const Instant latest = co_await store_time_at_latest(node_);
    co_return latest <= *send_before_;
  }

 private:
  NodeCore& node_;
  Lease& lease_;
  const std::optional<Instant> send_before_;  // none where nothing is out there
};

std::string why_of(const Outcome& outcome) {
  if (const auto* none = std::get_if<NotSent>(&outcome)) return "not sent: " + none->why;
  if (const auto* lost = std::get_if<Lost>(&outcome)) return "sent, and no answer: " + lost->why;
  return "answered " + std::to_string(std::get<Answered>(outcome).response.status);
}

}  // namespace

FlowRun::Step FlowRun::run_external_call(const Phase& phase) {
  Call call;
  call.key = point_.sending ? point_.sending->key : phase_key(held_.scope, held_.key, phase.name);
  call.request = phase.call(run_now());
  call.timeout = held_.policy.upstream_timeout;
  if (point_.found) {  // by a reconciliation result: see core, `resolved`
    const Run run = run_now();
    return commit(phase, [&](Transaction& transaction) {
      return phase.record(transaction, run, *point_.found);
    });
  }
  std::optional<Instant> send_before;
  if (point_.sending) send_before = last_sending(phase.destination);
  PhaseGate gate(node_, *granted_.lease(), send_before);
  call.may_send = [&] { return node_.run(gate.may_send()); };
  if (point_.sending && !may_send_again(phase.destination)) {
    return look_up(phase, call, "it may have been sent before a crash, and must not be sent again");
  }
  // What the record says if it turns out that nothing was sent under a send intent of ours.
  std::optional<std::string> unmarked;
  if (!point_.sending) {
    unmarked = held_.recovery_point;
    store_send_intent(phase, call.key);
  }
  const Outcome outcome = send(phase, call, gate);
  node_.reach(phase.name, "after-send");
  return take_in(phase, call, outcome, unmarked);
}

// Durable before the first byte: from here on the next owner knows that it may have been sent.
void FlowRun::store_send_intent(const Phase& phase, const std::string& key) {
  node_.reach(phase.name, "before-mark");
  RecoveryPoint marked = point_;
  marked.sending = SendIntent{node_.run(store_time(node_)), key};
  std::unique_ptr<PhaseTransaction> work = node_.transactions().begin();
  Record after = work->advance(held_, encode(marked));
  const Commit committed = work->commit();
  work.reset();
  if (committed == Commit::in_doubt) throw InDoubt{"the commit of its send intent is in doubt"};
  node_.reach(phase.name, "after-mark");
  adopt(std::move(after));
  point_ = std::move(marked);
}

Outcome FlowRun::send(const Phase& phase, const Call& call, SendGate& gate) {
  node_.reach(phase.name, "before-send");
  const Destination& destination = phase.destination;
  if (destination.http) {
    return node_.run(destination.http->send(gate, held_, call));
  }
  if (!call.may_send()) return NotSent{"too little was left of the lease or of the window"};
  try {
    return destination.send(call);
  } catch (const std::exception& failure) {
    return Lost{Lost::How::reset, failure.what()};  // it may have got anywhere
  } catch (...) {
    return Lost{Lost::How::reset, "an exception of no known type"};
  }
}

// Past this the other side may have forgotten the key before a call gets there.
Instant FlowRun::last_sending(const Destination& destination) const {
  return point_.sending->first_sent_at + destination.dedupe_window - time_to_arrive(held_.policy);
}

bool FlowRun::may_send_again(const Destination& destination) const {
  return destination.dedupes && node_.run(store_time_at_latest(node_)) <= last_sending(destination);
}

FlowRun::Step FlowRun::take_in(const Phase& phase, const Call& call, const Outcome& outcome,
                               const std::optional<std::string>& unmarked) {
  const bool resent = !unmarked;
  const CallVerdict meaning = heard(outcome, phase.destination, held_.policy, resent);
  if (meaning == CallVerdict::answer) {
    return record_answer(phase, call, std::get<Answered>(outcome).response);
  }
  const std::string why = named(why_of(outcome));
  if (meaning == CallVerdict::nothing && !resent) return stop(why, unmarked);
  const auto* lost = std::get_if<Lost>(&outcome);
  const int status = lost != nullptr && lost->how == Lost::How::timeout ? 504 : 503;
  if (meaning != CallVerdict::doubt && may_send_again(phase.destination)) {
    return stop(why, std::nullopt, status);
  }
  return look_up(phase, call, why_of(outcome));
}

// It must not be sent again. The destination is asked; what it does not know is not guessed at.
FlowRun::Step FlowRun::look_up(const Phase& phase, const Call& call, const std::string& why) {
  std::optional<Response> found;
  if (phase.destination.look_up) {
    node_.reach(phase.name, "before-look-up");
    found = phase.destination.look_up(call);
    node_.reach(phase.name, "after-look-up");
  }
  if (!found) return give_up_unknown(named(why));
  return record_answer(phase, call, *found);
}

// This answer is nowhere else, and where the other side does not dedupe it cannot be had again: a
// database that is unavailable for a while is waited for, and what cannot be recorded is kept as
// evidence.
FlowRun::Step FlowRun::record_answer(const Phase& phase, const Call& call, const Response& answer) {
  const Run run = run_now();
  const auto decide = [&](Transaction& transaction) {
    return phase.record(transaction, run, answer);
  };
  const BootTime give_up = node_.clock().now() + settle_allowance;
  Duration pause = record_pause_first;
  for (;;) {
    try {
      return commit(phase, decide);
    } catch (const Superseded& lost) {
      keep_evidence(call, answer, "the record had been taken over: " + lost.why);
      node_.metrics().add(Counter::double_execution, to_text(Evidence::answered), 1);
      throw;
    } catch (const InDoubt& doubt) {
      keep_evidence(call, answer, doubt.what);
      throw;
    } catch (const DatabaseError& failure) {
      if (!node_.transactions().may_pass(failure) || node_.clock().now() >= give_up) {
        keep_evidence(call, answer, failure.what());
        throw;
      }
      node_.say(LogLevel::warning,
                "flow \"" + flow_.rules().name + "\": " + log_name(held_.scope, held_.key) +
                    " has an answer that waits for the database: " + named(failure.what()));
    } catch (const std::exception& failure) {
      keep_evidence(call, answer, failure.what());
      throw;
    } catch (...) {
      keep_evidence(call, answer, "an exception of no known type");
      throw;
    }
    hold_on();
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, record_pause_max);
  }
}

void FlowRun::keep_evidence(const Call& call, const Response& answer, const std::string& why) {
  LateEvidence late;
  late.scope = held_.scope;
  late.key = held_.key;
  late.fence = held_.fence;
  late.owner = held_.owner;
  late.fingerprint = held_.fingerprint;
  late.attempt = held_.attempt;
  late.evidence = Evidence::answered;
  late.response = storable(answer, granted_.lease()->settle);
  // Which call it answers: a flow may make several.
  Headers& headers = late.response->headers;
  std::erase_if(headers, [](const Header& header) {
    return same_field_name(header.name, "Idempotency-Key");
  });
  headers.push_back({"Idempotency-Key", call.key});
  late.detail = named("its answer could not be recorded: " + why);
  node_.keep_evidence(std::move(late));
}

}  // namespace pawl::detail
