// What a guarded request's client is told.
#include "pawl/core/overloaded.hpp"
#include "src/gateway/passage.hpp"

namespace pawl::gateway {
namespace {

constexpr Duration unknown_retry_after = std::chrono::seconds(5);
constexpr std::size_t late_bytes_max = std::size_t{64} << 20;

// A row that cannot be read, a lost race, or a row that a service's open transaction holds say
// nothing against the store.
bool is_away(StoreError error) {
  return error == StoreError::unavailable || error == StoreError::in_doubt;
}

// What an outcome that waits for the store holds in memory, roughly.
std::size_t bytes_of(const Record& record, const Outcome& outcome) {
  constexpr std::size_t fixed = 1024;  // the record, its lease, what lists and strings cost
  std::size_t bytes = fixed + record.scope.text.size() + record.key.text.size() +
                      record.path.size() + record.route.size();
  const auto* answered = std::get_if<Answered>(&outcome);
  if (answered == nullptr) return bytes;
  for (const Header& header : answered->response.headers) {
    bytes += sizeof header + header.name.size() + header.value.size();
  }
  return bytes + answered->response.body.size();
}

}  // namespace

Response Gateway::render_guarded(Passage& passage, Guarded guarded) {
  return std::visit(
      Overloaded{
          [&](const Refused& refused) {
            shared_.breaker.succeeded();
            shared_.metrics.duplicate(passage.scope.text);
            const Reservation& found = refused.reservation;
            const DecisionKind kind = kind_of(found.decision);
            passage.decided = kind;
            passage.line.decision = to_text(kind);
            const bool ran = status_of(*found.record) != Status::pending;
            if (ran) passage.line.execution = pawl::request_id(*found.record);
            passage.request_id =
                kind == DecisionKind::replay ? passage.line.execution : id_of(passage);
            if (kind == DecisionKind::replay) {
              shared_.metrics.replayed(/*from_memory=*/false);
              std::shared_ptr<const Cached> kept =
                  shared_.cache.keep(*found.record, passage.request_id, passage.purge_epoch);
              if (kept) return render_replay(passage, std::move(kept));
            }
            if (kind == DecisionKind::misuse) {
              shared_.metrics.misuse(passage.scope.text);
            }
            return render(found.decision, *found.record, passage.dialect());
          },
          [&](Executed& executed) {
            if (executed.settlement) {
              shared_.breaker.succeeded();
            } else if (is_away(executed.settlement.error())) {
              shared_.breaker.failed(clock_.now());
            }
            // The execution is this request, by the id its service was told.
            if (executed.lease) {
              passage.id = pawl::request_id(*executed.lease->record);
            }
            passage.decided = DecisionKind::execute;
            passage.line.decision = to_text(DecisionKind::execute);
            passage.line.evidence = to_text(evidence_of(executed.outcome));
            return render_executed(passage, executed);
          },
          [&](const Unreserved& unreserved) { return store_failed(passage, unreserved.error); }},
      guarded);
}

Response Gateway::store_failed(Passage& passage, StoreError error, std::string detail) {
  passage.line.trouble = to_text(error);
  if (is_away(error)) shared_.breaker.failed(clock_.now());
  ProblemDetails failed{Problem::store_unavailable, std::move(detail), {}, Breaker::retry_after};
  return problem(passage, std::move(failed));
}

Response Gateway::render_executed(Passage& passage, Executed& executed) {
  if (!executed.settlement) {
    // Durable before answered: what could not be written down is not told.
    passage.line.trouble = "the outcome could not be recorded";
    remember_late(passage, executed);
    ProblemDetails unknown{Problem::outcome_unknown,
                           "The operation may have happened, and its outcome could not be recorded "
                           "yet. Retry with the same key and body, and do not use a new key.",
                           503, unknown_retry_after};
    return problem(passage, std::move(unknown));
  }
  const Settlement& settlement = *executed.settlement;
  passage.request_id = pawl::request_id(*settlement.record);
  if (passage.request_id != id_of(passage)) passage.line.execution = passage.request_id;
  if (const auto* lost = std::get_if<Lost>(&executed.outcome)) passage.line.trouble = lost->why;
  if (const auto* none = std::get_if<NotSent>(&executed.outcome)) passage.line.trouble = none->why;
  if (const auto* answered = std::get_if<Answered>(&executed.outcome)) {
    const std::string_view said = outcome_said(answered->response);
    if (said == "not understood") passage.line.trouble = "Pawl-Outcome: not understood";
  }
  if (settlement.uncommitted) passage.line.trouble = "a 2xx without pawl.complete";
  shared_.cache.keep(*settlement.record, passage.request_id, passage.purge_epoch);
  const auto* completed = std::get_if<Completed>(&settlement.record->state);
  if (settlement.recorded || completed == nullptr) {
    if (settlement.superseded) {
      ProblemDetails unknown{Problem::outcome_unknown,
                             "The operation may have happened, and another attempt at it has begun "
                             "since. Retry with the same key and body, and do not use a new key.",
                             409, unknown_retry_after};
      return problem(passage, std::move(unknown));
    }
    const auto* answer = std::get_if<Answered>(&executed.outcome);
    const bool withheld = answer != nullptr && answer->withheld;
    passage.from_spool = withheld && passage.spool && passage.spool->whole();
    if (withheld && !passage.from_spool) {  // nothing was left to be delivered: no room for it
      passage.line.trouble = "no room for a large answer in the folder of temporary files";
      return render_withheld(passage, *answer, *settlement.record);
    }
    return render_outcome(std::move(executed.outcome), *settlement.record, passage.dialect());
  }
  // Somebody else settled it, or took it over and finished it: what is stored is the answer.
  return render_stored(completed->response, settlement.record->expires_at, Delivery::original,
                       passage.dialect());
}

Response Gateway::render_withheld(Passage& passage, const Answered& answer, const Record& record) {
  if (status_of(record) == Status::completed) {
    const StoredResponse stored = storable(answer, SettleOptions{});
    return render_stored(stored, record.expires_at, Delivery::original, passage.dialect());
  }
  ProblemDetails unknown{Problem::outcome_unknown, "", 502, {}};
  return problem(passage, std::move(unknown));
}

void Gateway::remember_late(Passage& passage, const Executed& executed) {
  if (!executed.lease) return;
  const std::size_t bytes = bytes_of(*executed.lease->record, executed.outcome);
  if (late_bytes_ + bytes > late_bytes_max) return;
  late_bytes_ += bytes;
  ++late_count_;
  late_.push_back({executed.lease, executed.outcome, bytes, passage.memory.split(bytes)});
}

Task<void> Gateway::settle_late() {
  std::list<Late> waiting;
  waiting.swap(late_);
  while (!waiting.empty()) {
    Late& late = waiting.front();
    const StoreResult<Settlement> settled = co_await engine_.settle(*late.lease, late.outcome);
    const bool hopeless = !settled && settled.error() == StoreError::unreadable;
    if (hopeless) shared_.log.say("warning", "an outcome is lost: its record cannot be read");
    if (settled || hopeless) {
      late_bytes_ -= late.bytes;
      --late_count_;
      waiting.pop_front();
      continue;
    }
    // Still away, most likely: none of the others would fare better now. The next time another one
    // is the first, in case it is this one's row that is the trouble.
    waiting.splice(waiting.end(), waiting, waiting.begin());
    late_.splice(late_.end(), waiting);
  }
}

}  // namespace pawl::gateway
