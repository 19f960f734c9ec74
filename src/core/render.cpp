#include "src/core/render.hpp"

#include <algorithm>
#include <array>

#include "pawl/types/check.hpp"
#include "pawl/types/json.hpp"
#include "src/core/held_answer.hpp"
#include "src/core/json_writer.hpp"
#include "src/core/overloaded.hpp"

namespace pawl {
namespace {

struct ProblemType {
  Problem problem;
  std::string_view slug;
  int status;
  bool should_retry;  // the same request, with the same key
  std::string_view title;
  std::string_view detail;
};

// One row per type, in the order of the enumeration. Titles never change: clients may show them.
constexpr std::array<ProblemType, 30> problem_types{{
    {Problem::key_missing, "key-missing", 400, false, "Idempotency-Key is missing",
     "This operation needs an Idempotency-Key header. Send a random one, such as a UUID, and "
     "repeat "
     "it on every retry."},
    {Problem::key_invalid, "key-invalid", 400, false, "Idempotency-Key is not valid",
     "Send one Idempotency-Key header whose value is an opaque string, such as a UUID."},
    {Problem::body_invalid, "body-invalid", 400, false, "The body cannot be read",
     "The body is not what its Content-Type says."},
    {Problem::unauthenticated, "unauthenticated", 401, false, "The caller is not known",
     "Send valid credentials: a key belongs to the caller that used it."},
    {Problem::body_too_large, "body-too-large", 413, false, "The body is too large",
     "The body is larger than this operation accepts."},
    {Problem::key_reused, "key-reused", 422, false, "Idempotency-Key is already used",
     "This key was first used with another request. Repeat that request unchanged, or use a new "
     "key "
     "for a new operation."},
    {Problem::in_flight, "in-flight", 409, true,
     "A request is outstanding for this Idempotency-Key",
     "The first request with this key is still running. Retry with the same key and body."},
    {Problem::outcome_unknown, "outcome-unknown", 409, true, "The outcome is not known yet",
     "The operation may have happened. Retry with the same key and body, and do not use a new "
     "key."},
    {Problem::abandoned, "abandoned", 408, false, "Accepted but not completed",
     "This request could not be sent on before it expired: nothing was executed. Send it again "
     "under "
     "a new key."},
    {Problem::key_expired, "key-expired", 410, false, "Idempotency-Key has expired",
     "This key was used before and its answer is no longer kept. Look the operation up before you "
     "send it under a new key."},
    {Problem::rate_limited, "rate-limited", 429, true, "Too many new requests",
     "Retry later with the same key."},
    {Problem::too_many_keys, "too-many-keys", 429, true, "Too many active keys",
     "This caller has as many unfinished requests as it may have: some are running, or the outcome "
     "of "
     "some is not known and must be settled first. Nothing was sent on. Retry later with the same "
     "key."},
    {Problem::stale_request, "stale-request", 400, false, "The request is too old",
     "The request was made longer ago than this operation accepts."},
    {Problem::store_unavailable, "store-unavailable", 503, true, "The key could not be reserved",
     "Nothing was sent on. Retry with the same key."},
    {Problem::upstream_unreachable, "upstream-unreachable", 502, true,
     "The service could not be reached", "Nothing was sent on. Retry with the same key."},
    {Problem::bad_upstream_response, "bad-upstream-response", 502, true,
     "The service's answer could not be read",
     "The operation may have happened. Retry with the same key and body, and do not use a new "
     "key."},
    {Problem::draining, "draining", 503, true, "This node is shutting down",
     "Nothing was sent on. Retry with the same key."},
    {Problem::bad_request, "bad-request", 400, false, "The request is malformed",
     "The message could not be read unambiguously, so nothing of it was sent on."},
    {Problem::uri_too_long, "uri-too-long", 414, false, "The request target is too long",
     "Send a shorter target."},
    {Problem::expectation_failed, "expectation-failed", 417, false, "Expectation not supported",
     "The only expectation that is understood is 100-continue."},
    {Problem::headers_too_large, "headers-too-large", 431, false, "The header fields are too large",
     "Send fewer or shorter header fields."},
    {Problem::not_implemented, "not-implemented", 501, false, "Not implemented",
     "The method or transfer coding is not supported."},
    {Problem::version_not_supported, "version-not-supported", 505, false,
     "HTTP version not supported", "Use HTTP/1.1."},
    {Problem::near_duplicate, "near-duplicate", 409, false, "The same request was just made",
     "The same request came under another key a moment ago. Retry under that key; if a second one "
     "is "
     "meant, make it later."},
    {Problem::stale_fence, "stale-fence", 409, false, "The key is not held under this fence",
     "Another owner has it by now, or it is settled. Nothing was changed."},
    {Problem::overloaded, "overloaded", 503, true, "This node has no capacity to spare",
     "Nothing was sent on. Retry with the same key."},
    {Problem::caller_unproven, "caller-unproven", 409, false,
     "This key was used with other credentials",
     "No way to distinguish callers is configured, so a key belongs to the credentials that used "
     "it first. Nothing was sent on. Retry with those credentials; who runs this gateway can "
     "choose "
     "[caller] from."},
    {Problem::store_restored, "store-restored", 409, false,
     "This key may have been used before a restore",
     "The record store was restored from a backup and may have lost the record of this key. "
     "Nothing was sent on. Look the operation up before you send it under a new key."},
    {Problem::forbidden, "forbidden", 403, false, "The caller may not do this",
     "The credentials are known and not allowed here. Nothing was sent on."},
    {Problem::auth_unavailable, "auth-unavailable", 503, true, "The caller cannot be checked now",
     "Nothing was sent on. Retry with the same key."},
}};

const ProblemType& type_of(Problem problem) {
  const ProblemType& type = problem_types.at(static_cast<std::size_t>(problem));
  PAWL_CHECK(type.problem == problem);
  return type;
}

int status_in(const ProblemType& type, const ProblemDetails& problem, Profile profile) {
  if (profile == Profile::stripe && problem.problem == Problem::key_reused) return 400;
  return problem.status.value_or(type.status);
}

std::string stripe_body(const ProblemType& type, std::string_view detail) {
  JsonObject error;
  error.text("type", "idempotency_error").text("code", type.slug).text("message", detail);
  return JsonObject().raw("error", error.done()).done();
}

std::string problem_body(const ProblemType& type, int status, std::string_view detail) {
  JsonObject body;
  body.text("type", "urn:pawl:problem:" + std::string(type.slug)).text("title", type.title);
  body.number("status", status).text("detail", detail).text("code", type.slug);
  return std::move(body).done();
}

std::string whole_seconds(Duration duration) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(duration);
  return std::to_string(std::max<std::int64_t>(seconds.count(), 1));
}

// A client that waits out a whole lease waits far too long: most requests end within seconds, and
// asking again costs one read.
constexpr Duration retry_after_max = std::chrono::seconds(5);
constexpr Duration store_retry_after = std::chrono::seconds(1);

// Ours stands in place of whatever the upstream said under that name: never two of a kind.
void set_header(Headers& headers, std::string_view name, std::string value) {
  std::erase_if(headers, [&](const Header& old) { return same_field_name(old.name, name); });
  headers.push_back({std::string(name), std::move(value)});
}

void add_common(Headers& headers, const Dialect& dialect) {
  if (!dialect.key_as_sent.empty()) set_header(headers, "Idempotency-Key", dialect.key_as_sent);
  if (!dialect.request_id.empty()) set_header(headers, "Pawl-Request-Id", dialect.request_id);
}

Response render_in_flight(const InFlight& running, const Record& record, const Dialect& dialect) {
  const Duration wait = std::clamp<Duration>(running.lease_left, Duration{0}, retry_after_max);
  // On an async route every duplicate gets 202, also while a worker is at it.
  const bool accepted = running.pending || record.policy.mode == Mode::async ||
                        dialect.in_flight == WhenInFlight::accepted;
  if (!accepted) {
    return render_problem({Problem::in_flight, "", {}, wait}, dialect);
  }
  Response response{.status = 202, .headers = {}, .body = {}};
  response.headers = {{"Content-Type", "application/json"}, {"Retry-After", whole_seconds(wait)}};
  if (!dialect.status_url.empty()) response.headers.push_back({"Location", dialect.status_url});
  add_common(response.headers, dialect);
  response.body = running.pending ? R"({"status":"pending"})" : R"({"status":"in_progress"})";
  return response;
}

// A client waits: a source is asked every few seconds, and no longer wait is needed.
constexpr Duration source_retry_after_max = std::chrono::seconds(60);

// What is known of an operation that may have happened.
std::string what_is_known(const Record& record) {
  const int status = answered_status(record);
  if (status == 0) return "The operation may have happened.";
  const std::string answer =
      "The operation may have happened: the service answered " + std::to_string(status);
  if (service_said_outcome(record)) return answer + " and did not say whether it was done.";
  if (status < 500) return answer + ", and after such an answer nothing is executed again here.";
  return answer + ", which does not say whether it was done.";
}

// How the service can say so that such an answer leaves nothing unknown; empty: it cannot.
std::string advice(const Record& record) {
  if (answered_status(record) == 0 || service_said_outcome(record)) return {};
  const std::string setting = freeing_setting(record);
  return " A service that knows that nothing was done can say so: Pawl-Outcome: not-executed with "
         "the answer" +
         (setting.empty() ? "." : ", or " + setting + " for its route.");
}

// Who finds out what became of it, and so whether it helps to come back.
ProblemDetails outcome_unknown(const Record& record, std::optional<int> status, Duration wait,
                               const Dialect& dialect) {
  ProblemDetails details{Problem::outcome_unknown, "", status, std::nullopt};
  details.detail = what_is_known(record);
  const auto* unknown = std::get_if<Unknown>(&record.state);
  const bool dead_lettered = unknown != nullptr && unknown->dead_lettered;
  if (dialect.source_is_asked && !dead_lettered) {
    details.detail +=
        " What became of it is being asked of the provider. Retry with the same key and body, and "
        "do not use a new key.";
    details.retry_after = std::clamp<Duration>(wait, retry_after_max, source_retry_after_max);
  } else {
    details.detail +=
        " No source is being asked what became of it: unless the provider reports it, an operator "
        "must decide. Until then every retry gets this answer. Do not use a new key.";
  }
  details.detail += advice(record);
  return details;
}

// Without an answer. On a transactional route that very write has made the old owner's completion
// impossible; a flow goes on where it stopped.
ProblemDetails unanswered(const Record& settled, int status, const Dialect& dialect) {
  switch (status_of(settled)) {
    case Status::failed_retryable:
      return {Problem::outcome_unknown,
              "The service did not answer, and what it had begun cannot be committed any more. "
              "Retry with the same key and body, and do not use a new key.",
              status, store_retry_after};
    case Status::pending:
    case Status::in_progress:
      return {Problem::outcome_unknown,
              "The service did not answer in time, and the request will be continued. Retry with "
              "the same key and body, and do not use a new key.",
              status, retry_after_max};
    case Status::completed:
    case Status::unknown:
    case Status::expired: break;
  }
  return outcome_unknown(settled, status, retry_after_max, dialect);
}

// Fields that describe the bytes of a body that is not there.
bool describes_body(const Header& header) {
  static constexpr std::array names{"Content-Type", "Content-Encoding", "Content-Language",
                                    "Content-MD5",  "Content-Digest",   "Content-Range",
                                    "Repr-Digest",  "Digest",           "ETag"};
  return std::ranges::any_of(names,
                             [&](const char* name) { return same_field_name(name, header.name); });
}

}  // namespace

std::string_view slug_of(Problem problem) { return type_of(problem).slug; }

Response render_problem(const ProblemDetails& problem, const Dialect& dialect) {
  const ProblemType& type = type_of(problem.problem);
  const int status = status_in(type, problem, dialect.profile);
  const std::string_view detail =
      problem.detail.empty() ? type.detail : std::string_view(problem.detail);
  const bool stripe = dialect.profile == Profile::stripe;
  Response response{.status = status, .headers = {}, .body = {}};
  response.headers = {
      {"Content-Type", stripe ? "application/json" : "application/problem+json"},
      {"Content-Language", "en"},
      {"Link", R"(</_pawl/v1/policy>; rel="describedby")"},
      {"Pawl-Should-Retry", problem.should_retry.value_or(type.should_retry) ? "true" : "false"},
  };
  if (problem.retry_after) {
    response.headers.push_back({"Retry-After", whole_seconds(*problem.retry_after)});
  }
  if (!problem.challenge.empty()) {
    response.headers.push_back({"WWW-Authenticate", problem.challenge});
  }
  add_common(response.headers, dialect);
  response.body = stripe ? stripe_body(type, detail) : problem_body(type, status, detail);
  return response;
}

namespace {

// Where only a person can help, a program that comes back gets the same again.
Response render_unknown(const ProblemDetails& details, const Dialect& dialect) {
  Response response = render_problem(details, dialect);
  if (!details.retry_after) set_header(response.headers, "Pawl-Should-Retry", "false");
  return response;
}

}  // namespace

Response render(const Decision& decision, const Record& record, const Dialect& dialect) {
  return std::visit(
      Overloaded{
          [&](const Execute&) -> Response {
            check_failed("an execution has no answer yet", __FILE__, __LINE__);
            return {};
          },
          [&](const Replay& replay) {
            return render_stored(replay.response, record.expires_at, Delivery::replay, dialect);
          },
          [&](const InFlight& running) { return render_in_flight(running, record, dialect); },
          [&](const Misuse&) {
            return render_problem({Problem::key_reused, "", {}, {}}, dialect);
          },
          [&](const Undetermined& waits) {
            return render_unknown(outcome_unknown(record, {}, waits.until_reconciled, dialect),
                                  dialect);
          },
          [&](const Gone&) {
            return render_problem({Problem::key_expired, "", {}, {}}, dialect);
          },
          [&](const Spent&) {
            return render_problem({Problem::stale_fence,
                                   "This owner token has had its attempt at the key: released, or "
                                   "its lease is over. Reserve with a new one.",
                                   {},
                                   {}},
                                  dialect);
          },
          [&](const Unproven&) {
            return render_problem({Problem::caller_unproven, "", {}, {}}, dialect);
          },
          [&](const Restored&) {
            return render_problem({Problem::store_restored, "", {}, {}}, dialect);
          }},
      decision);
}

Response render_stored(const StoredResponse& stored, Instant expires_at, Delivery delivery,
                       const Dialect& dialect) {
  Response response{.status = stored.status, .headers = stored.headers, .body = {}};
  if (stored.body) {
    response.body = *stored.body;
  } else {
    std::erase_if(response.headers, describes_body);
    response.headers.push_back({"Content-Type", "application/json"});
    response.body =
        R"({"pawl":"body-withheld","detail":"The original answer was too large to keep. It was )"
        R"(delivered to the first request; this status and these header fields are its own."})";
  }
  set_header(response.headers, "Idempotency-Expires", imf_fixdate(expires_at));
  if (delivery == Delivery::replay) set_header(response.headers, "Idempotent-Replayed", "true");
  add_common(response.headers, dialect);
  return response;
}

Response render_outcome(Outcome outcome, const Record& settled, const Dialect& dialect) {
  return std::visit(
      Overloaded{[&](const NotSent&) {
                   return render_problem({Problem::upstream_unreachable, "", {}, store_retry_after},
                                         dialect);
                 },
                 [&](const Lost& lost) {
                   const int status = lost.how == Lost::How::timeout ? 504 : 502;
                   return render_unknown(unanswered(settled, status, dialect), dialect);
                 },
                 [&](Answered& answer) {
                   Response response = std::move(answer.response);
                   std::erase_if(response.headers, is_pawl_outcome);
                   if (status_of(settled) == Status::completed) {
                     set_header(response.headers, "Idempotency-Expires",
                                imf_fixdate(settled.expires_at));
                   }
                   add_common(response.headers, dialect);
                   return response;
                 }},
      outcome);
}

}  // namespace pawl
