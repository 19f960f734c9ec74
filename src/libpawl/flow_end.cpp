// How a run ends without the answer of a phase: what the record says then, and what the client is
// told.
#include "pawl/types/json.hpp"
#include "src/libpawl/flow_run.hpp"

namespace pawl::detail {
namespace {

using namespace std::chrono_literals;

constexpr Duration retry_after = 1s;

// On the node's thread: the engine and its leases belong to it.
//
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

}  // namespace

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
    completed_ = true;  // a commit that was in doubt, or a concurrent update
    return render(stopped, settlement);
  }
  ProblemDetails details{Problem::outcome_unknown,
                         "The request is not finished, and will be continued where it stopped. "
                         "Retry with the same key and body, and do not use a new key.",
                         status, retry_after};
  return node_.boundary().problem(*granted_.context, std::move(details));
}

// Only a reconciliation result leads out of `unknown`. The send intent stays for whoever asks about
// the call, and until the result says that it was not executed (core: `resolved`).
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

// Another owner has it, or finished it. Nothing of ours was kept.
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
