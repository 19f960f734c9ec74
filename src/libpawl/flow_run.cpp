#include "src/libpawl/flow_run.hpp"

#include <algorithm>
#include <thread>

#include "pawl/types/json.hpp"
#include "src/core/derived_key.hpp"
#include "src/core/utf8.hpp"
#include "src/libpawl/call_verdict.hpp"
#include "src/libpawl/http_caller.hpp"

namespace pawl::detail {
namespace {

using namespace std::chrono_literals;

constexpr Duration retry_after = 1s;
constexpr Duration settle_allowance = 10s;
constexpr Duration record_pause_first = 50ms;
constexpr Duration record_pause_max = 1s;

// Thrown: nobody said whether it was committed. The record knows.
struct InDoubt {
  std::string what;
};

// The transaction of one phase, as its author sees it.
class AuthorTransaction final : public Transaction {
 public:
  AuthorTransaction(PhaseTransaction& work, const Record& held, const std::string& phase)
      : Transaction(work), held_(held), phase_(phase) {}

  std::string enqueue(const OutboxItem& item) override {
    demand_text(item);
    OutboxItem named = item;
    ++promised_;
    if (named.step.empty()) {
      named.step = phase_;
      named.step.append("#").append(std::to_string(promised_));
    }
    return work_.enqueue(held_, named);
  }

 private:
  // The same on both stores, and said where it is made: they are kept as text.
  static void demand_text(const OutboxItem& item) {
    const auto demand = [](std::string_view text, const std::string& what) {
      if (is_text(text)) return;
      throw std::invalid_argument("enqueue: " + what + " must be UTF-8 without a zero byte");
    };
    demand(item.destination, "the destination");
    demand(item.path, "the path");
    demand(item.step, "the step");
    for (const Header& header : item.headers) {
      demand(header.name, "a header's name");
      demand(header.value, "the header " + header.name);
    }
  }

  const Record& held_;
  const std::string& phase_;
  int promised_ = 0;
};

// These run on the node's thread: the engine and its leases belong to it.

Task<Done> extend(NodeCore& node, Lease& lease) {
  lease.renew_until = node.clock().now() + lease.record->policy.upstream_timeout + settle_allowance;
  co_return Done{};
}

Task<Done> take_over_record(Lease& lease, Record after) {
  if (status_of(after) == Status::in_progress) {
    lease.record = share(std::move(after));
  } else {
    lease.lost = true;  // nothing left to renew
  }
  co_return Done{};
}

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

// `recovery_point` must be true already, whatever becomes of the outcome: a renewal may write it
// down before the outcome is, or instead of it.
Task<StoreResult<Settlement>> settle(NodeCore& node, Lease& lease,
                                     std::optional<std::string> recovery_point,
                                     const Outcome& outcome) {
  if (recovery_point) {
    Record changed = *lease.record;
    changed.recovery_point = std::move(*recovery_point);
    lease.record = share(std::move(changed));
  }
  co_return co_await node.engine().settle(lease, outcome);
}

std::string why_of(const Outcome& outcome) {
  if (const auto* none = std::get_if<NotSent>(&outcome)) return "not sent: " + none->why;
  if (const auto* lost = std::get_if<Lost>(&outcome)) return "sent, and no answer: " + lost->why;
  return "answered " + std::to_string(std::get<Answered>(outcome).response.status);
}

}  // namespace

FlowRun::FlowRun(const FlowCore& flow, Granted granted)
    : flow_(flow), node_(flow.node()), granted_(std::move(granted)), held_(granted_.record) {}

Response FlowRun::run() {
  std::optional<Point> point = flow_.point_of(held_);
  if (!point || !held_.request) return refuse();
  point_ = std::move(*point);
  try {
    for (;;) {
      const Phase& phase = *flow_.find(point_.phase);
      hold_on();
      Step over = phase.foreign() ? run_foreign(phase) : run_local(phase);
      if (over) return std::move(*over);
    }
  } catch (const Superseded& lost) {
    return superseded(lost.why);
  } catch (const InDoubt& doubt) {
    return stop(named(doubt.what));
  } catch (const std::exception& failure) {
    return stop(named(failure.what()));
  } catch (...) {
    return stop(named("an exception of no known type"));
  }
}

// A hung phase does not hold its key for ever, but each phase has a time of its own.
void FlowRun::hold_on() { node_.run(extend(node_, *granted_.lease())); }

void FlowRun::adopt(Record after) {
  held_ = after;
  node_.run(take_over_record(*granted_.lease(), std::move(after)));
}

Run FlowRun::run_now() const {
  return Run{.scope = held_.scope,
             .key = held_.key,
             .request = HttpRequest{held_.method, held_.request->target, held_.request->headers,
                                    held_.request->body},
             .state = point_.state,
             .attempt = held_.attempt,
             .created_at = held_.created_at};
}

std::string FlowRun::named(const std::string& text) const { return point_.phase + ": " + text; }

FlowRun::Step FlowRun::run_local(const Phase& phase) {
  const Run run = run_now();
  return commit(phase, [&](Transaction& transaction) { return phase.local(transaction, run); });
}

void FlowRun::demand_next(const Phase& phase, const Next& next) const {
  if (next.phase.has_value() == next.response.has_value()) {
    throw std::logic_error("a phase must either advance or respond");
  }
  if (next.response && (next.response->status < 200 || next.response->status > 599)) {
    throw std::logic_error("respond: " + std::to_string(next.response->status) +
                           " is no final HTTP status (200 to 599)");
  }
  if (!next.phase) return;
  const Phase* to = flow_.find(*next.phase);
  if (to == nullptr || to <= &phase) {
    std::string text = "advance(\"" + *next.phase + "\"): the phases after this one are";
    for (const Phase* later = &phase + 1; later <= &flow_.phases().back(); ++later) {
      text.append(" ").append(later->name);
    }
    throw std::logic_error(text);
  }
}

FlowRun::Step FlowRun::commit(const Phase& phase, const std::function<Next(Transaction&)>& decide) {
  node_.reach(phase.name, "begin");
  std::unique_ptr<PhaseTransaction> work = node_.transactions().begin();
  AuthorTransaction transaction(*work, held_, phase.name);
  Next next = decide(transaction);
  demand_next(phase, next);
  return go_on(std::move(work), phase, std::move(next));
}

FlowRun::Step FlowRun::go_on(std::unique_ptr<PhaseTransaction> work, const Phase& phase,
                             Next next) {
  Point to{next.phase.value_or(""), point_.state};
  for (auto& [name, value] : next.state) to.state.insert_or_assign(name, std::move(value));
  Record after;
  if (next.phase) {
    const std::string text = encode(to);
    if (text.size() > state_bytes_max) {
      throw std::logic_error("the phases hand on more than 4 KiB to each other");
    }
    after = work->advance(held_, text);
  } else {
    after = work->complete(held_, storable(*next.response, granted_.lease()->settle));
  }
  node_.reach(phase.name, "before-commit");
  const Commit committed = work->commit();
  work.reset();  // before anybody asks the record: this connection may still hold it
  if (committed == Commit::in_doubt) throw InDoubt{"its commit is in doubt"};
  node_.reach(phase.name, "after-commit");
  adopt(std::move(after));
  point_ = std::move(to);
  if (next.phase) return std::nullopt;
  completed_ = true;
  const Outcome answered = Answered{std::move(*next.response)};
  return render_outcome(answered, held_, granted_.context->dialect());
}

FlowRun::Step FlowRun::run_foreign(const Phase& phase) {
  Call call;
  call.key = point_.sending ? point_.sending->key : phase_key(held_.scope, held_.key, phase.name);
  call.request = phase.call(run_now());
  call.timeout = held_.policy.upstream_timeout;
  if (point_.found) {  // somebody knew: see core, `resolved`
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
  // What the record says if it turns out that nothing was sent under a mark of ours.
  std::optional<std::string> unmarked;
  if (!point_.sending) {
    unmarked = held_.recovery_point;
    mark(phase, call.key);
  }
  const Outcome outcome = send(phase, call, gate);
  node_.reach(phase.name, "after-send");
  return take_in(phase, call, outcome, unmarked);
}

// Durable before the first byte: from here on whoever comes next knows that it may have been sent.
void FlowRun::mark(const Phase& phase, const std::string& key) {
  node_.reach(phase.name, "before-mark");
  Point marked = point_;
  marked.sending = Sending{node_.run(store_time(node_)), key};
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

// It must not be sent again. Whoever knows is asked; if nobody does, nobody guesses.
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

// Nobody else has this answer, and where the other side does not dedupe nobody can get it again: a
// database that is away for a while is waited for, and what cannot be recorded is kept as evidence.
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

Response FlowRun::render(const Outcome& outcome, const StoreResult<Settlement>& settlement) {
  // Without the lease: a renewal on the node's thread may give it another record meanwhile.
  Executed executed{outcome, settlement, nullptr};
  return node_.boundary().render_executed(*granted_.context, executed);
}

Response FlowRun::stop(const std::string& why, std::optional<std::string> recovery_point,
                       int status) {
  node_.say(LogLevel::warning, "flow \"" + flow_.rules().name + "\": " +
                                   log_name(held_.scope, held_.key) + " stopped at " + why);
  const Outcome stopped = NotSent{why};
  const StoreResult<Settlement> settlement =
      node_.run(settle(node_, *granted_.lease(), std::move(recovery_point), stopped));
  if (settlement && std::holds_alternative<Completed>(settlement->record->state)) {
    completed_ = true;  // a commit that was in doubt, or somebody who was quicker
    return render(stopped, settlement);
  }
  ProblemDetails details{Problem::outcome_unknown,
                         "The request is not finished, and will be continued where it stopped. "
                         "Retry with the same key and body, and do not use a new key.",
                         status, retry_after};
  return node_.boundary().problem(*granted_.context, std::move(details));
}

// Only a finding leads out of `unknown`. The mark stays for whoever looks for the call, and until
// it is found that it was not executed (core: `resolved`).
Response FlowRun::give_up_unknown(const std::string& why) {
  std::string text = why;
  if (point_.sending) {
    text.append("; first sent ").append(imf_fixdate(point_.sending->first_sent_at));
    text.append(" as ").append(point_.sending->key);
  }
  node_.say(LogLevel::warning, "flow \"" + flow_.rules().name + "\": " +
                                   log_name(held_.scope, held_.key) + " is unknown: " + text);
  const Outcome lost = Lost{Lost::How::timeout, text};
  const StoreResult<Settlement> settlement =
      node_.run(settle(node_, *granted_.lease(), std::nullopt, lost));
  return render(lost, settlement);
}

Response FlowRun::refuse() {
  const std::string why = flow_.unknown_point(held_);
  node_.say(LogLevel::error, why);
  const Outcome stopped = NotSent{why};
  static_cast<void>(node_.run(settle(node_, *granted_.lease(), std::nullopt, stopped)));
  ProblemDetails details{Problem::outcome_unknown,
                         "The request was begun by another version of this service, which must "
                         "finish it. Retry later with the same key and body.",
                         503, std::chrono::seconds(30)};
  return node_.boundary().problem(*granted_.context, std::move(details));
}

// Somebody else has it, or finished it. Nothing of ours was kept.
Response FlowRun::superseded(const std::string& why) {
  node_.say(LogLevel::warning, "flow \"" + flow_.rules().name +
                                   "\": " + log_name(held_.scope, held_.key) +
                                   " was taken over; rolled back: " + why);
  const StoreResult<std::optional<Record>> found =
      node_.run(node_.store().find(held_.scope, held_.key));
  if (found && *found && (*found)->fingerprint == held_.fingerprint) {
    if (const auto* done = std::get_if<Completed>(&(*found)->state)) {
      Dialect dialect = granted_.context->dialect();
      dialect.request_id = request_id(**found);
      return render_stored(done->response, (*found)->expires_at, Delivery::original, dialect);
    }
  }
  return node_.boundary().problem(*granted_.context, {Problem::in_flight, "", {}, retry_after});
}

}  // namespace pawl::detail
