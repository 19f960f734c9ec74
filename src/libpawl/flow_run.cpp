#include "src/libpawl/flow_run.hpp"

#include "src/libpawl/author_transaction.hpp"

namespace pawl::detail {
namespace {

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

}  // namespace

FlowRun::FlowRun(const FlowCore& flow, Granted granted)
    : flow_(flow), node_(flow.node()), granted_(std::move(granted)), held_(granted_.record) {}

Response FlowRun::run() {
  std::optional<RecoveryPoint> point = flow_.point_of(held_);
  if (!point || !held_.request) return refuse();
  point_ = std::move(*point);
  try {
    for (;;) {
      const Phase& phase = *flow_.find(point_.phase);
      hold_on();
      Step over = phase.foreign() ? run_external_call(phase) : run_transactional(phase);
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

FlowRun::Step FlowRun::run_transactional(const Phase& phase) {
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
  RecoveryPoint to{next.phase.value_or(""), point_.state};
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
  work.reset();  // before the record is read: this connection may still hold it
  if (committed == Commit::in_doubt) throw InDoubt{"its commit is in doubt"};
  node_.reach(phase.name, "after-commit");
  adopt(std::move(after));
  point_ = std::move(to);
  if (next.phase) return std::nullopt;
  completed_ = true;
  const Outcome answered = Answered{std::move(*next.response)};
  return render_outcome(answered, held_, granted_.context->dialect());
}

}  // namespace pawl::detail
