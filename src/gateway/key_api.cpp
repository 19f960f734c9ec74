// The key API: reserve, advance, complete, release and renew for programs that are not proxied.
//
// Their records live in scopes of their own, and every write needs the owner's token and its fence.
// Nothing of an owner is kept here: any node may be asked, and asking again is harmless.
#include <algorithm>
#include <cstdio>

#include "src/adapters/http/syntax.hpp"
#include "src/core/body_coding.hpp"
#include "src/core/json_writer.hpp"
#include "src/gateway/client_context.hpp"
#include "src/gateway/key_path.hpp"
#include "src/operator/key_document.hpp"

namespace pawl::gateway {
namespace {

// Part of every fingerprint: never to be changed, or honest retries would turn into misuse.
constexpr std::string_view fingerprint_method = "RESERVE";

constexpr std::string_view ask_again =
    "Repeat the call as it is, with the same owner: what is done already is not done again.";

// As the log has it: never with the key.
std::string_view path_of(KeyVerb verb) {
  switch (verb) {
    case KeyVerb::reserve: return "/_pawl/v1/keys/*/reserve";
    case KeyVerb::advance: return "/_pawl/v1/keys/*/advance";
    case KeyVerb::complete: return "/_pawl/v1/keys/*/complete";
    case KeyVerb::release: return "/_pawl/v1/keys/*/release";
    case KeyVerb::renew: return "/_pawl/v1/keys/*/renew";
  }
  return keys_path;
}

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

// The rules for keys are those of the header, whose quoted form can say any key.
Expected<Key, KeyRefusal> checked_key(std::string_view key, KeyRules rules) {
  std::string quoted = "\"";
  for (const char c : key) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  quoted += '"';
  rules.syntax = KeySyntax::ietf;
  const std::array<std::string_view, 1> lines{quoted};
  return parse_key(lines, rules);
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

// Off for everybody, or not for this caller.
std::optional<Response> Gateway::refuse_caller(const std::string& caller) const {
  const std::vector<std::string>& listed = shared_.config.key_api.callers;
  if (listed.empty()) {
    return plain_problem(404, "Not Found", "The key API is off: no caller is listed for it.");
  }
  if (std::ranges::find(listed, caller) != listed.end()) return std::nullopt;
  return plain_problem(403, "Forbidden", "This caller is not listed for the key API.");
}

// Everything that can be said before the body is there.
std::optional<ProblemDetails> Gateway::identify_call(ClientContext& context,
                                                     const std::string& caller,
                                                     std::string_view escaped_key) {
  context.scope = api_scope_of(caller);
  const KeyRules& rules = context.policy.key_rules;
  Expected<Key, KeyRefusal> key = checked_key(unescaped(escaped_key), rules);
  if (!key) return ProblemDetails{Problem::key_invalid, explain(key.error(), rules), {}, {}};
  context.key = std::move(*key);
  context.line.key = log_name(context.scope, context.key);
  note_credentials(context);
  const http::Fields& fields = context.request.head.fields;
  // Also what keeps a page in somebody's browser from calling: this type it may not send unasked.
  if (!is_json(http::find(fields, "Content-Type").value_or(""))) {
    return ProblemDetails{
        Problem::body_invalid, "Send JSON, with Content-Type: application/json.", 415, {}};
  }
  return check_coding(http::find(fields, "Content-Encoding").value_or(""),
                      http::find(fields, "Content-Type").value_or(""));
}

Task<void> Gateway::answer_key_call(ClientContext& context) {
  const KeyCallPath path = *key_call_in(context.request.head.method, context.request.head.path);
  const std::optional<KeyVerb> verb = from_text<KeyVerb>(path.verb);
  context.line.path = verb ? path_of(*verb) : keys_path;
  const Expected<std::string, ProblemDetails> caller = caller_of(context);
  std::optional<Response> refusal;
  if (shared_.config.key_api.callers.empty()) {
    refusal = refuse_caller({});
  } else if (!caller) {
    refusal = boundary_.problem(context, caller.error());
  } else if (!verb) {
    refusal = plain_problem(404, "Not Found",
                            "Below a key there are reserve, advance, complete, release and renew.");
  } else {
    refusal = refuse_caller(*caller);
  }
  if (refusal) {
    name_answer(context, *refusal);
    context.line.status = refusal->status;
    co_await context.request.answer(*refusal);
    co_return;
  }
  std::optional<ProblemDetails> trouble = identify_call(context, *caller, path.key);
  if (!co_await read_body(context, std::move(trouble))) co_return;
  Response response = co_await make_call(context, *verb);
  name_answer(context, response);
  co_await deliver(context, std::move(response));
}

Task<Response> Gateway::make_call(ClientContext& context, KeyVerb verb) {
  const Expected<KeyCall, std::string> call = read_key_call(verb, context.body);
  if (!call) {
    context.trace.trouble = slug_of(Problem::body_invalid);
    ProblemDetails invalid{Problem::body_invalid, call.error(), {}, {}};
    co_return boundary_.problem(context, std::move(invalid));
  }
  if (!shared_.breaker.lets_through(clock_.now())) {
    context.trace.trouble = "the store is known to be unavailable";
    ProblemDetails away{Problem::store_unavailable, "", {}, Breaker::retry_after};
    away.detail = ask_again;
    co_return boundary_.problem(context, std::move(away));
  }
  if (verb == KeyVerb::reserve) co_return co_await reserve_key(context, *call);
  co_return co_await write_key(context, verb, *call);
}

Task<Response> Gateway::reserve_key(ClientContext& context, const KeyCall& call) {
  const RequestContent content{.method = fingerprint_method,
                               .path = {},
                               .query = {},
                               .content_type = call.meaning_type,
                               .body = call.meaning};
  const FingerprintSecrets& secrets = shared_.config.fingerprint_secrets;
  Expected<Fingerprinted, json::Error> made =
      fingerprint(content, context.policy.fingerprint, secrets);
  PAWL_CHECK(made.has_value());  // it was read as JSON, or is none
  Request request;
  request.scope = context.scope;
  request.key = context.key;
  request.fingerprint = std::move(made->fingerprint);
  request.meant_then = [&](const Fingerprint& stored, const FingerprintRules& rules) {
    return matches(stored, content, rules, secrets);
  };
  request.route = context.route.name;
  request.credentials = context.credentials;
  const bool may_be_new =  // the key API has no active_keys: nothing is counted
      shared_.limits.start(context.scope, context.policy, clock_.now()).verdict ==
      ScopeLimits::Verdict::granted;
  if (!may_be_new) {
    const StoreResult<std::optional<Reservation>> seen =
        co_await engine_.peek_for(call.owner, request, context.policy);
    if (!seen) co_return boundary_.store_failed(context, seen.error(), std::string(ask_again));
    if (*seen) co_return render_reservation(context, **seen);
    context.trace.trouble = slug_of(Problem::rate_limited);
    ProblemDetails limited{Problem::rate_limited, "", {}, std::chrono::seconds(1)};
    co_return boundary_.problem(context, std::move(limited));
  }
  const StoreResult<Reservation> found =
      co_await engine_.reserve_for(call.owner, request, context.policy);
  const bool granted = found && kind_of(found->decision) == DecisionKind::execute;
  shared_.limits.finished(
      context.scope, context.policy,
      granted ? ScopeLimits::Ended::still_open : ScopeLimits::Ended::nothing_new);
  if (!found) co_return boundary_.store_failed(context, found.error(), std::string(ask_again));
  co_return render_reservation(context, *found);
}

Response Gateway::render_reservation(ClientContext& context, const Reservation& found) {
  shared_.breaker.succeeded();
  const DecisionKind kind = kind_of(found.decision);
  context.trace.decision = to_text(kind);
  if (kind != DecisionKind::execute) shared_.metrics.duplicate(context.scope.text);
  if (kind == DecisionKind::misuse) shared_.metrics.misuse(context.scope.text);
  if (status_of(*found.record) != Status::pending) {
    context.trace.execution = pawl::request_id(*found.record);
  }
  if (kind == DecisionKind::execute) {
    context.request_id = pawl::request_id(*found.record);
    JsonObject out;
    out.text("decision", word_of(kind));
    describe_grant(out, *found.record, engine_.lease_left(*found.record));
    return json_answer(201, out);
  }
  if (const auto* replay = std::get_if<Replay>(&found.decision)) {
    shared_.metrics.replayed(/*from_memory=*/false);
    context.request_id = pawl::request_id(*found.record);
    JsonObject out;
    out.text("decision", word_of(kind));
    describe_grant(out, *found.record, engine_.lease_left(*found.record));
    out.raw("completed_at", timestamp(std::get<Completed>(found.record->state).completed_at));
    out.raw("expires_at", timestamp(found.record->expires_at));
    out.raw("response", stored_response(replay->response));
    return json_answer(200, out);
  }
  context.request_id = boundary_.id_of(context);
  Response response = render(found.decision, *found.record, context.dialect());
  add_member(response, "decision", word_of(kind));
  return response;
}

Task<Response> Gateway::write_key(ClientContext& context, KeyVerb verb, const KeyCall& call) {
  const Grant grant{context.scope, context.key, call.owner, call.fence};
  const SettleOptions options{context.policy.response_bytes_max, context.policy.resource_type,
                              context.policy.resource_id};
  StoreResult<GrantWrite> written = Unexpected{StoreError::unavailable};
  switch (verb) {
    case KeyVerb::complete: {
      const Outcome answer = Answered{call.response, true};
      written = co_await engine_.settle_for(grant, answer, options);
      if (!written || written->done) break;
      std::optional<Response> instead =
          co_await keep_refused(context, grant, *written, answer, options);
      if (instead) co_return std::move(*instead);
      break;
    }
    case KeyVerb::release: {
      const Outcome nothing = NotSent{call.reason};
      written = co_await engine_.settle_for(grant, nothing, options);
      break;
    }
    case KeyVerb::advance: {
      const Step step{call.after, call.recovery_point};
      written = co_await engine_.advance_for(grant, step);
      break;
    }
    case KeyVerb::renew: written = co_await engine_.renew_for(grant); break;
    case KeyVerb::reserve: PAWL_CHECK(false);
  }
  if (!written) co_return boundary_.store_failed(context, written.error(), std::string(ask_again));
  shared_.breaker.succeeded();
  co_return render_write(context, call, *written);
}

Task<std::optional<Response>> Gateway::keep_refused(ClientContext& context, const Grant& grant,
                                                    const GrantWrite& refused,
                                                    const Outcome& answer,
                                                    const SettleOptions& options) {
  if (!is_evidence(grant, refused.current)) co_return std::nullopt;
  if (!shared_.limits.may_leave_evidence(context.scope, clock_.now())) {
    context.trace.trouble = slug_of(Problem::rate_limited);
    ProblemDetails limited{Problem::rate_limited,
                           "Too many answers under fences that are not, or no longer, granted.",
                           {},
                           std::chrono::seconds(1)};
    co_return boundary_.problem(context, std::move(limited));
  }
  const StoreResult<Done> kept =
      co_await engine_.keep_refused(grant, refused.current, answer, options);
  if (!kept) co_return boundary_.store_failed(context, kept.error(), std::string(ask_again));
  co_return std::nullopt;
}

Response Gateway::render_write(ClientContext& context, const KeyCall& call,
                               const GrantWrite& written) {
  if (!written.current) return plain_problem(404, "No such key");
  const Record& record = *written.current;
  if (!written.done) {
    context.trace.trouble = slug_of(Problem::stale_fence);
    std::string detail = why_stale(call, record) + " Nothing was changed.";
    ProblemDetails stale{Problem::stale_fence, std::move(detail), {}, {}};
    Response response = boundary_.problem(context, std::move(stale));
    add_member(response, "key_status", to_text(status_of(record)));
    return response;
  }
  context.trace.execution = context.request_id = pawl::request_id(record);
  JsonObject out;
  describe_grant(out, record, engine_.lease_left(record));
  return json_answer(200, out);
}

}  // namespace pawl::gateway
