// What a guarded request's client is told.
#include <algorithm>

#include "src/boundary/boundary.hpp"

namespace pawl {
namespace {

constexpr Duration unknown_retry_after = std::chrono::seconds(5);
constexpr std::size_t request_id_bytes = 24;

// A row that cannot be read, a lost race, or a row that a service's open transaction holds say
// nothing against the store.
bool is_unavailable(StoreError error) {
  return error == StoreError::unavailable || error == StoreError::in_doubt;
}

std::string trouble_of(const Executed& executed) {
  if (executed.settlement->uncommitted) return "a 2xx without pawl.complete";
  if (const auto* lost = std::get_if<Lost>(&executed.outcome)) return lost->why;
  if (const auto* none = std::get_if<NotSent>(&executed.outcome)) return none->why;
  const Response& answer = std::get<Answered>(executed.outcome).response;
  return outcome_said(answer) == "not understood" ? "Pawl-Outcome: not understood" : "";
}

}  // namespace

std::string Boundary::new_request_id() {
  return "req_" + ports_.entropy.new_owner().text.substr(0, request_id_bytes);
}

const std::string& Boundary::id_of(RequestContext& context) {
  if (context.id.empty()) context.id = new_request_id();
  return context.id;
}

Response Boundary::problem(RequestContext& context, ProblemDetails details) {
  ports_.metrics.refused(slug_of(details.problem));
  context.refused_as = details.problem;
  if (context.request_id.empty()) context.request_id = id_of(context);
  return render_problem(details, context.dialect());
}

Response Boundary::plain_problem(RequestContext& context, const PlainProblem& problem) {
  if (context.request_id.empty()) context.request_id = id_of(context);
  return render_plain(problem, context.dialect());
}

Response Boundary::overloaded(RequestContext& context, std::string detail) {
  context.trace.trouble = slug_of(Problem::overloaded);
  ProblemDetails details{Problem::overloaded, std::move(detail), {}, overload_retry_after};
  return problem(context, std::move(details));
}

Response Boundary::store_failed(RequestContext& context, StoreError error, std::string detail) {
  context.trace.trouble = to_text(error);
  if (is_unavailable(error)) state_.breaker.failed(ports_.clock.now());
  if (error == StoreError::unreadable && detail.empty()) {
    detail =
        "The record of this key, or what protects the records of its caller, cannot be read by "
        "this node. Nothing was executed.";
  }
  ProblemDetails failed{Problem::store_unavailable, std::move(detail), {}, Breaker::retry_after};
  return problem(context, std::move(failed));
}

Duration Boundary::usually_left(const RequestContext& context, const Record& record) const {
  const auto* held = std::get_if<InProgress>(&record.state);
  const StoreTime& time = ports_.engine.time();
  if (held == nullptr || !time.known()) return {};
  const Duration elapsed =
      std::max<Duration>(time.at(ports_.clock.now()) - held->locked_at, Duration{0});
  return state_.run_times.usually_left(context.route_name, elapsed);
}

Response Boundary::render_refused(RequestContext& context, const Reservation& found) {
  state_.breaker.succeeded();
  ports_.metrics.duplicate(context.scope.text);
  const DecisionKind kind = kind_of(found.decision);
  context.decided = kind;
  context.record = found.record;
  context.refused_as.reset();
  context.trace.decision = to_text(kind);
  if (const auto* busy = std::get_if<InFlight>(&found.decision)) {
    context.lease_left = busy->lease_left;
    context.usually_left = usually_left(context, *found.record);
  }
  const bool ran = status_of(*found.record) != Status::pending;
  if (ran) context.trace.execution = pawl::request_id(*found.record);
  context.request_id = kind == DecisionKind::replay ? context.trace.execution : id_of(context);
  if (kind == DecisionKind::replay) {
    ports_.metrics.replayed(/*from_memory=*/false);
    std::shared_ptr<const Cached> kept =
        state_.cache.keep(*found.record, context.request_id, context.purge_epoch);
    if (kept) return render_replay(context, std::move(kept));
  }
  if (kind == DecisionKind::misuse) ports_.metrics.misuse(context.scope.text);
  return render(found.decision, *found.record, context.dialect());
}

Response Boundary::render_replay(RequestContext& context, std::shared_ptr<const Cached> cached) {
  context.loan = cached->lend(state_.memory);
  if (!context.loan) return overloaded(context);
  context.replay = std::move(cached);
  return render_stored(context.replay->response, context.replay->expires_at, Delivery::replay,
                       context.dialect());
}

Response Boundary::render_executed(RequestContext& context, Executed& executed,
                                   const Execution* execution) {
  if (executed.settlement) {
    state_.breaker.succeeded();
  } else if (is_unavailable(executed.settlement.error())) {
    state_.breaker.failed(ports_.clock.now());
  }
  // The execution is this request, by the id its service was told.
  if (executed.lease) context.id = pawl::request_id(*executed.lease->record);
  context.decided = DecisionKind::execute;
  context.trace.decision = to_text(DecisionKind::execute);
  context.trace.evidence = to_text(evidence_of(executed.outcome));
  if (executed.settlement) return render_settled(context, executed, execution);
  // Durable before answered: what could not be written down is not told.
  context.trace.trouble = "the outcome could not be recorded";
  ProblemDetails unknown{Problem::outcome_unknown,
                         "The operation may have happened, and its outcome could not be recorded "
                         "yet. Retry with the same key and body, and do not use a new key.",
                         503, unknown_retry_after};
  return problem(context, std::move(unknown));
}

Response Boundary::render_settled(RequestContext& context, Executed& executed,
                                  const Execution* execution) {
  const Settlement& settlement = *executed.settlement;
  const Record& record = *settlement.record;
  context.record = settlement.record;
  context.request_id = pawl::request_id(record);
  if (context.request_id != id_of(context)) context.trace.execution = context.request_id;
  context.trace.trouble = trouble_of(executed);
  state_.cache.keep(record, context.request_id, context.purge_epoch);
  const auto* completed = std::get_if<Completed>(&record.state);
  if (completed != nullptr && !settlement.recorded) {
    // Another owner settled it, or took it over and finished it: what is stored is the answer.
    return render_stored(completed->response, record.expires_at, Delivery::original,
                         context.dialect());
  }
  if (settlement.superseded) {
    context.superseded = true;
    ProblemDetails unknown{Problem::outcome_unknown,
                           "The operation may have happened, and another attempt at it has begun "
                           "since. Retry with the same key and body, and do not use a new key.",
                           409, unknown_retry_after};
    return problem(context, std::move(unknown));
  }
  const auto* answer = std::get_if<Answered>(&executed.outcome);
  const bool withheld = answer != nullptr && answer->withheld;
  context.withheld_answer = withheld && execution != nullptr && execution->has_whole_answer();
  if (withheld && !context.withheld_answer) {  // nothing was left to be delivered: no room for it
    context.trace.trouble = "no room for a large answer in the folder of temporary files";
    return render_withheld(context, *answer, record);
  }
  return render_outcome(std::move(executed.outcome), record, context.dialect());
}

Response Boundary::render_withheld(RequestContext& context, const Answered& answer,
                                   const Record& record) {
  if (status_of(record) == Status::completed) {
    const StoredResponse stored = storable(answer, SettleOptions{});
    return render_stored(stored, record.expires_at, Delivery::original, context.dialect());
  }
  ProblemDetails unknown{Problem::outcome_unknown, "", 502, {}};
  const bool waiting_helps = status_of(record) != Status::unknown || context.source_is_asked;
  unknown.should_retry = waiting_helps;
  if (waiting_helps) unknown.retry_after = unknown_retry_after;
  return problem(context, std::move(unknown));
}

Task<void> Boundary::settle_late() {
  const std::size_t lost = co_await late_.settle(ports_.engine);
  for (std::size_t i = 0; i < lost; ++i) {
    ports_.log.say("warning", "an outcome is lost: its record cannot be read");
  }
}

Task<void> Boundary::all_recorded() {
  const std::shared_ptr<Sleeper> sleeper = ports_.sleepers.new_sleeper();
  late_.when_none_is_left(sleeper);
  while (late_.count() > 0) {
    sleeper->rest();
    co_await sleeper->sleep(std::chrono::hours(1));
  }
}

}  // namespace pawl
