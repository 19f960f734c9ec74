// What a guarded request's client is told.
#include "pawl/core/overloaded.hpp"
#include "src/gateway/passage.hpp"

namespace pawl::gateway {
namespace {

constexpr Duration unknown_retry_after = std::chrono::seconds(5);
constexpr std::size_t late_bytes_max = std::size_t{64} << 20;
constexpr Duration late_for = std::chrono::minutes(5);

// A row that cannot be read, a lost race, or a row that a service's open transaction holds say
// nothing against the store.
bool is_away(StoreError error) {
  return error == StoreError::unavailable || error == StoreError::in_doubt;
}

std::size_t bytes_of(const Outcome& outcome) {
  const auto* answered = std::get_if<Answered>(&outcome);
  return answered == nullptr ? 0 : answered->response.body.size();
}

}  // namespace

Response Gateway::render_guarded(Passage& passage, const Guarded& guarded) {
  return std::visit(
      Overloaded{[&](const Refused& refused) {
                   shared_.breaker.succeeded();
                   shared_.metrics.duplicate(passage.scope.text);
                   const Reservation& found = refused.reservation;
                   const DecisionKind kind = kind_of(found.decision);
                   passage.line.decision = to_text(kind);
                   if (kind == DecisionKind::replay) {
                     shared_.cache.keep(found.record);
                     shared_.metrics.replayed(/*from_memory=*/false);
                   }
                   if (kind == DecisionKind::misuse) shared_.metrics.misuse();
                   passage.request_id = kind == DecisionKind::replay
                                            ? pawl::request_id(found.record)
                                            : new_request_id();
                   return render(found.decision, found.record, passage.dialect());
                 },
                 [&](const Executed& executed) {
                   if (executed.settlement) {
                     shared_.breaker.succeeded();
                   } else if (is_away(executed.settlement.error())) {
                     shared_.breaker.failed(clock_.now());
                   }
                   passage.line.decision = to_text(DecisionKind::execute);
                   passage.line.evidence = to_text(evidence_of(executed.outcome));
                   return render_executed(passage, executed);
                 },
                 [&](const Unreserved& unreserved) {
                   passage.line.trouble = to_text(unreserved.error);
                   if (is_away(unreserved.error)) shared_.breaker.failed(clock_.now());
                   ProblemDetails failed{Problem::store_unavailable, "", {}, Breaker::retry_after};
                   return problem(passage, std::move(failed));
                 }},
      guarded);
}

Response Gateway::render_executed(Passage& passage, const Executed& executed) {
  if (!executed.settlement) {
    // Durable before answered: what could not be written down is not told.
    passage.line.trouble = "the outcome could not be recorded";
    remember_late(executed);
    ProblemDetails unknown{Problem::outcome_unknown, "", 503, unknown_retry_after};
    return problem(passage, std::move(unknown));
  }
  const Settlement& settlement = *executed.settlement;
  passage.request_id = pawl::request_id(settlement.record);
  if (const auto* lost = std::get_if<Lost>(&executed.outcome)) passage.line.trouble = lost->why;
  if (const auto* none = std::get_if<NotSent>(&executed.outcome)) passage.line.trouble = none->why;
  if (settlement.uncommitted) passage.line.trouble = "a 2xx without pawl.complete";
  shared_.cache.keep(settlement.record);
  const auto* completed = std::get_if<Completed>(&settlement.record.state);
  if (settlement.recorded || completed == nullptr) {
    if (settlement.superseded) {
      ProblemDetails unknown{Problem::outcome_unknown, "", 409, unknown_retry_after};
      return problem(passage, std::move(unknown));
    }
    return render_outcome(executed.outcome, settlement.record, passage.dialect());
  }
  // Somebody else settled it, or took it over and finished it: what is stored is the answer.
  return render_stored(completed->response, settlement.record.expires_at, Delivery::original,
                       passage.dialect());
}

void Gateway::remember_late(const Executed& executed) {
  const std::size_t bytes = bytes_of(executed.outcome);
  if (!executed.lease || late_bytes_ + bytes > late_bytes_max) return;
  late_bytes_ += bytes;
  ++late_count_;
  late_.push_back({executed.lease, executed.outcome, bytes, clock_.now() + late_for});
}

Task<void> Gateway::settle_late() {
  std::list<Late> waiting;
  waiting.swap(late_);
  while (!waiting.empty()) {
    Late& late = waiting.front();
    const StoreResult<Settlement> settled = co_await engine_.settle(*late.lease, late.outcome);
    if (settled || clock_.now() >= late.give_up_at) {
      late_bytes_ -= late.bytes;
      --late_count_;
      waiting.pop_front();
      continue;
    }
    late_.splice(late_.end(), waiting);  // still away: none of the others fares better
  }
}

}  // namespace pawl::gateway
