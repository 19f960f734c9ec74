// What the caller of the key API is told.
#include <cstdio>

#include "src/boundary/key_api.hpp"
#include "src/core/documents.hpp"
#include "src/core/json_writer.hpp"

namespace pawl {
namespace {

std::string_view word_of(DecisionKind kind) {
  switch (kind) {
    case DecisionKind::execute: return "execute";
    case DecisionKind::replay: return "replay";
    case DecisionKind::in_flight: return "in_flight";
    case DecisionKind::misuse: return "misuse";
    case DecisionKind::undetermined: return "undetermined";
    case DecisionKind::gone: return "gone";
    case DecisionKind::spent: return "spent";
    case DecisionKind::unproven: return "unproven";
    case DecisionKind::restored: return "restored";
  }
  return "?";
}

// RFC 9457 allows members of one's own.
void add_member(Response& problem, std::string_view name, std::string_view text) {
  problem.body.pop_back();
  problem.body.append(",").append(json::quote(name)).append(":");
  problem.body.append(json::quote(text)).append("}");
}

Response json_answer(int status, const JsonObject& document) {
  Response response;
  response.status = status;
  response.headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
  response.body = document.done() + "\n";
  return response;
}

// With milliseconds; a number, since no clock but the store's can read `lease_expires_at`.
std::string in_seconds(Duration time) {
  const auto left = std::chrono::floor<std::chrono::milliseconds>(time);
  char text[40];
  std::snprintf(text, sizeof text, "%lld.%03d", static_cast<long long>(left.count() / 1000),
                static_cast<int>(left.count() % 1000));
  return text;
}

// What an owner needs to know of what it holds.
void describe_grant(JsonObject& out, const Record& record, Duration lease_left) {
  const auto* held = std::get_if<InProgress>(&record.state);
  out.text("key", record.key.text).text("status", to_text(status_of(record)));
  out.number("fence", record.fence.number).number("attempt", record.attempt);
  out.text("recovery_point", record.recovery_point);
  out.raw("lease_expires_at", held == nullptr ? "null" : timestamp(held->locked_until));
  out.raw("lease_seconds", held == nullptr ? "null" : in_seconds(lease_left));
}

std::string why_stale(const KeyCall& call, const Record& record) {
  if (record.fence > call.fence) return "Another owner was granted this key after this fence.";
  if (record.fence < call.fence) return "This fence was never granted for this key.";
  if (record.owner != call.owner) return "This fence was granted to another owner.";
  switch (status_of(record)) {
    case Status::completed: return "The key is completed; its answer stays as it is.";
    case Status::failed_retryable: return "The key is released. Reserve it again.";
    case Status::unknown:
      return "The lease ended before it was renewed. To complete or release the key is still "
             "possible.";
    case Status::expired: return "The key has expired.";
    case Status::in_progress:
    case Status::pending: break;
  }
  if (record.recovery_point != call.after) {
    std::string why = "The recovery point is ";
    why.append(json::quote(record.recovery_point));
    return why.append(", neither /after nor /recovery_point: another call has moved it.");
  }
  return "The key was changed by another call.";
}

}  // namespace

KeyAnswer KeyApi::answer(RequestContext& context, Reservation found) {
  state_.breaker.succeeded();
  const Record& record = *found.record;
  const DecisionKind kind = kind_of(found.decision);
  context.trace.decision = to_text(kind);
  if (kind != DecisionKind::execute) ports_.metrics.duplicate(context.scope.text);
  if (kind == DecisionKind::misuse) ports_.metrics.misuse(context.scope.text);
  if (status_of(record) != Status::pending) context.trace.execution = pawl::request_id(record);
  KeyAnswer answer;
  answer.lease_left = ports_.engine.lease_left(record);
  if (kind == DecisionKind::execute) {
    context.request_id = pawl::request_id(record);
    JsonObject out;
    out.text("decision", word_of(kind));
    describe_grant(out, record, answer.lease_left);
    answer.response = json_answer(201, out);
  } else if (const auto* replay = std::get_if<Replay>(&found.decision)) {
    answer.response = render_replay(context, found, *replay, answer.lease_left);
  } else {
    context.request_id = boundary_.id_of(context);
    answer.response = render(found.decision, record, context.dialect());
    add_member(answer.response, "decision", word_of(kind));
  }
  answer.result = std::move(found);
  return answer;
}

Response KeyApi::render_replay(RequestContext& context, const Reservation& found,
                               const Replay& replay, Duration lease_left) {
  ports_.metrics.replayed(/*from_memory=*/false);
  const Record& record = *found.record;
  context.request_id = pawl::request_id(record);
  JsonObject out;
  out.text("decision", word_of(DecisionKind::replay));
  describe_grant(out, record, lease_left);
  out.raw("completed_at", timestamp(std::get<Completed>(record.state).completed_at));
  out.raw("expires_at", timestamp(record.expires_at));
  out.raw("response", stored_response(replay.response));
  return json_answer(200, out);
}

KeyAnswer KeyApi::answer(RequestContext& context, const KeyCall& call, GrantWrite written) {
  state_.breaker.succeeded();
  KeyAnswer answer;
  if (!written.current) {
    answer.response = boundary_.plain_problem(context, {404, "No such key"});
  } else if (!written.done) {
    answer.response = stale(context, call, *written.current);
  } else {
    const Record& record = *written.current;
    answer.lease_left = ports_.engine.lease_left(record);
    context.trace.execution = context.request_id = pawl::request_id(record);
    JsonObject out;
    describe_grant(out, record, answer.lease_left);
    answer.response = json_answer(200, out);
  }
  answer.result = std::move(written);
  return answer;
}

Response KeyApi::stale(RequestContext& context, const KeyCall& call, const Record& record) {
  context.trace.trouble = slug_of(Problem::stale_fence);
  std::string detail = why_stale(call, record) + " Nothing was changed.";
  ProblemDetails stale{Problem::stale_fence, std::move(detail), {}, {}};
  Response response = boundary_.problem(context, std::move(stale));
  add_member(response, "key_status", to_text(status_of(record)));
  return response;
}

}  // namespace pawl
