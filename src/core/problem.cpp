#include "src/core/problem.hpp"

#include <algorithm>
#include <array>

#include "pawl/types/check.hpp"
#include "src/core/answer_fields.hpp"
#include "src/core/json_writer.hpp"

namespace pawl {
namespace {

// Stripe's types of errors: what SDKs for its API and for those made like it know.
constexpr std::string_view api_error = "api_error";
constexpr std::string_view authentication_error = "authentication_error";
constexpr std::string_view idempotency_error = "idempotency_error";
constexpr std::string_view invalid_request_error = "invalid_request_error";
constexpr std::string_view rate_limit_error = "rate_limit_error";

struct ProblemType {
  Problem problem;
  std::string_view slug;
  int status;
  bool should_retry;  // the same request, with the same key
  std::string_view error_type;
  std::string_view title;
  std::string_view detail;
  std::string_view advice = {};  // for requests with a key
};

constexpr std::string_view same_key = " Retry with the same key.";
constexpr std::string_view same_request =
    " Retry with the same key and body, and do not use a new key.";

// One row per type, in the order of the enumeration. Titles never change: clients may show them.
constexpr std::array<ProblemType, 30> problem_types{{
    {Problem::key_missing, "key-missing", 400, false, invalid_request_error,
     "Idempotency-Key is missing",
     "This operation needs an Idempotency-Key header. Send a random one, such as a UUID, and "
     "repeat "
     "it on every retry."},
    {Problem::key_invalid, "key-invalid", 400, false, invalid_request_error,
     "Idempotency-Key is not valid",
     "Send one Idempotency-Key header whose value is an opaque string, such as a UUID."},
    {Problem::body_invalid, "body-invalid", 400, false, invalid_request_error,
     "The body cannot be read", "The body is not what its Content-Type says."},
    {Problem::unauthenticated, "unauthenticated", 401, false, authentication_error,
     "The caller is not known",
     "Send valid credentials: a key belongs to the caller that used it."},
    {Problem::body_too_large, "body-too-large", 413, false, invalid_request_error,
     "The body is too large", "The body is larger than this operation accepts."},
    {Problem::key_reused, "key-reused", 422, false, idempotency_error,
     "Idempotency-Key is already used",
     "This key was first used with another request. Repeat that request unchanged, or use a new "
     "key "
     "for a new operation."},
    {Problem::in_flight, "in-flight", 409, true, idempotency_error,
     "A request is outstanding for this Idempotency-Key",
     "The first request with this key is still running. Retry with the same key and body."},
    {Problem::outcome_unknown, "outcome-unknown", 409, true, idempotency_error,
     "The outcome is not known yet", "The operation may have happened.", same_request},
    {Problem::abandoned, "abandoned", 408, false, api_error, "Accepted but not completed",
     "This request could not be sent on before it expired: nothing was executed. Send it again "
     "under "
     "a new key."},
    {Problem::key_expired, "key-expired", 410, false, idempotency_error,
     "Idempotency-Key has expired",
     "This key was used before and its answer is no longer kept. Look the operation up before you "
     "send it under a new key."},
    {Problem::rate_limited, "rate-limited", 429, true, rate_limit_error, "Too many new requests",
     "This caller has made as many new requests as it may for now.",
     " Retry later with the same key."},
    {Problem::too_many_keys, "too-many-keys", 429, true, rate_limit_error, "Too many active keys",
     "This caller has as many unfinished requests as it may have: some are running, or the outcome "
     "of "
     "some is not known and must be settled first. Nothing was sent on.",
     " Retry later with the same key."},
    {Problem::stale_request, "stale-request", 400, false, invalid_request_error,
     "The request is too old", "The request was made longer ago than this operation accepts."},
    {Problem::store_unavailable, "store-unavailable", 503, true, api_error,
     "The key could not be reserved", "Nothing was sent on.", same_key},
    {Problem::upstream_unreachable, "upstream-unreachable", 502, true, api_error,
     "The service could not be reached", "Nothing was sent on.", same_key},
    {Problem::bad_upstream_response, "bad-upstream-response", 502, true, api_error,
     "The service's answer could not be read", "The operation may have happened.", same_request},
    {Problem::draining, "draining", 503, true, api_error, "This node is shutting down",
     "Nothing was sent on.", same_key},
    {Problem::bad_request, "bad-request", 400, false, invalid_request_error,
     "The request is malformed",
     "The message could not be read unambiguously, so nothing of it was sent on."},
    {Problem::uri_too_long, "uri-too-long", 414, false, invalid_request_error,
     "The request target is too long", "Send a shorter target."},
    {Problem::expectation_failed, "expectation-failed", 417, false, invalid_request_error,
     "Expectation not supported", "The only expectation that is understood is 100-continue."},
    {Problem::headers_too_large, "headers-too-large", 431, false, invalid_request_error,
     "The header fields are too large", "Send fewer or shorter header fields."},
    {Problem::not_implemented, "not-implemented", 501, false, invalid_request_error,
     "Not implemented", "The method or transfer coding is not supported."},
    {Problem::version_not_supported, "version-not-supported", 505, false, invalid_request_error,
     "HTTP version not supported", "Use HTTP/1.1."},
    {Problem::near_duplicate, "near-duplicate", 409, false, idempotency_error,
     "The same request was just made",
     "The same request came under another key a moment ago. Retry under that key; if a second one "
     "is "
     "meant, make it later."},
    {Problem::stale_fence, "stale-fence", 409, false, idempotency_error,
     "The key is not held under this fence",
     "Another owner has it by now, or it is settled. Nothing was changed."},
    {Problem::overloaded, "overloaded", 503, true, api_error, "This node has no capacity to spare",
     "Nothing was sent on.", same_key},
    {Problem::caller_unproven, "caller-unproven", 409, false, idempotency_error,
     "This key was used with other credentials",
     "No way to distinguish callers is configured, so a key belongs to the credentials that used "
     "it first. Nothing was sent on. Retry with those credentials; who runs this gateway can "
     "choose "
     "[caller] from."},
    {Problem::store_restored, "store-restored", 409, false, idempotency_error,
     "This key may have been used before a restore",
     "The record store was restored from a backup and may have lost the record of this key. "
     "Nothing was sent on. Look the operation up before you send it under a new key."},
    {Problem::forbidden, "forbidden", 403, false, invalid_request_error,
     "The caller may not do this",
     "The credentials are known and not allowed here. Nothing was sent on."},
    {Problem::auth_unavailable, "auth-unavailable", 503, true, api_error,
     "The caller cannot be checked now", "Nothing was sent on.", same_key},
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

// A key that stands in the way is a conflict; an operation without an answer is a failure.
std::string_view error_type_in(const ProblemType& type, int status) {
  return type.problem == Problem::outcome_unknown && status >= 500 ? api_error : type.error_type;
}

std::string own_words(const ProblemType& type, const Dialect& dialect) {
  std::string words(type.detail);
  if (!type.advice.empty()) words += dialect.keyless ? " Retry later." : type.advice;
  return words;
}

// What HTTP's own words are for programs.
struct PlainType {
  int status;
  std::string_view code;
  std::string_view error_type;
};
constexpr std::array plain_types{PlainType{401, "unauthenticated", authentication_error},
                                 PlainType{403, "forbidden", invalid_request_error},
                                 PlainType{404, "not-found", invalid_request_error},
                                 PlainType{405, "method-not-allowed", invalid_request_error},
                                 PlainType{422, "unprocessable-content", invalid_request_error}};

const PlainType& plain_type_of(int status) {
  const auto* const found = std::ranges::find(plain_types, status, &PlainType::status);
  PAWL_CHECK(found != plain_types.end());
  return *found;
}

Headers error_headers(bool should_retry, const Dialect& dialect) {
  const bool stripe = dialect.profile == Profile::stripe;
  const char* const advice = should_retry ? "true" : "false";
  Headers headers{{"Content-Type", stripe ? "application/json" : "application/problem+json"},
                  {"Content-Language", "en"},
                  {"Link", R"(</_pawl/v1/policy>; rel="describedby")"},
                  {"Pawl-Should-Retry", advice}};
  if (stripe) {
    headers.push_back({"Stripe-Should-Retry", advice});
    if (!dialect.request_id.empty()) headers.push_back({"Request-Id", dialect.request_id});
  }
  return headers;
}

}  // namespace

std::string_view slug_of(Problem problem) { return type_of(problem).slug; }

std::string error_member(std::string_view type, std::string_view code, std::string_view message) {
  JsonObject error;
  error.text("type", type).text("code", code).text("message", message);
  return std::move(error).done();
}

Response render_problem(const ProblemDetails& problem, const Dialect& dialect) {
  const ProblemType& type = type_of(problem.problem);
  const int status = status_in(type, problem, dialect.profile);
  const std::string detail = problem.detail.empty() ? own_words(type, dialect) : problem.detail;
  Response response{.status = status, .headers = {}, .body = {}};
  response.headers = error_headers(problem.should_retry.value_or(type.should_retry), dialect);
  if (problem.retry_after) {
    response.headers.push_back({"Retry-After", whole_seconds(*problem.retry_after)});
  }
  if (!problem.challenge.empty()) {
    response.headers.push_back({"WWW-Authenticate", problem.challenge});
  }
  add_common(response.headers, dialect);
  JsonObject body;
  body.text("type", "urn:pawl:problem:" + std::string(type.slug)).text("title", type.title);
  body.number("status", status).text("detail", detail).text("code", type.slug);
  body.raw("error", error_member(error_type_in(type, status), type.slug, detail));
  response.body = std::move(body).done();
  return response;
}

Response render_plain(const PlainProblem& problem, const Dialect& dialect) {
  const PlainType& type = plain_type_of(problem.status);
  Response response{.status = problem.status, .headers = {}, .body = {}};
  response.headers = error_headers(/*should_retry=*/false, dialect);
  add_common(response.headers, dialect);
  JsonObject body;
  body.text("type", "about:blank").text("title", problem.title).number("status", problem.status);
  if (!problem.detail.empty()) body.text("detail", problem.detail);
  const std::string_view message = problem.detail.empty() ? problem.title : problem.detail;
  body.raw("error", error_member(type.error_type, type.code, message));
  response.body = std::move(body).done();
  return response;
}

}  // namespace pawl
