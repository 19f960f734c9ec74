// Errors of ours as HTTP: one document for every problem, in every profile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pawl/types/http.hpp"
#include "pawl/types/policy.hpp"
#include "pawl/types/time.hpp"

namespace pawl {

// Problem types, "urn:pawl:problem:" + slug (design section 10).
enum class Problem : std::uint8_t {
  key_missing,
  key_invalid,
  body_invalid,
  unauthenticated,
  body_too_large,
  key_reused,
  in_flight,
  outcome_unknown,
  abandoned,
  key_expired,
  rate_limited,
  too_many_keys,
  stale_request,
  store_unavailable,
  upstream_unreachable,
  bad_upstream_response,
  draining,
  bad_request,
  uri_too_long,
  expectation_failed,
  headers_too_large,
  not_implemented,
  version_not_supported,
  near_duplicate,
  stale_fence,
  overloaded,
  caller_unproven,
  store_restored,
  forbidden,
  auth_unavailable,
};

std::string_view slug_of(Problem problem);

// What every answer of ours knows about its request.
struct Dialect {
  Profile profile = Profile::ietf;
  WhenInFlight in_flight = WhenInFlight::conflict;
  std::string key_as_sent;  // echoed in the form it came in; empty: not echoed
  std::string request_id;   // of the execution that produced the answer, or of our own error
  std::string status_url;   // where the key's state can be read, for 202
  // A source is asked what became of requests like this one. Else a person must decide, and waiting
  // does not help.
  bool source_is_asked = false;
  // What a request in flight usually still takes; nothing: not known.
  std::optional<Duration> usually_left = std::nullopt;
  // It changes nothing and has no key: nothing is said of one.
  bool keyless = false;
};

struct ProblemDetails {
  Problem problem;
  std::string detail;                   // what to do about it; empty: the type's own words
  std::optional<int> status;            // where a type has several (outcome-unknown)
  std::optional<Duration> retry_after;  // whole seconds on the wire, 1 to 60
  std::optional<bool> should_retry = std::nullopt;  // where it is not the type's own
  std::string challenge = {};  // 401: how a caller makes itself known (WWW-Authenticate)
};

// The members of RFC 9457, and beside them `error` (`type`, `code`, `message`): popular SDKs look
// for that and not at the status, and would take an error without it for a result. The types of
// `error` are Stripe's; its profile has Stripe's header fields too.
Response render_problem(const ProblemDetails& problem, const Dialect& dialect);

// What HTTP's own words say well enough (about:blank).
struct PlainProblem {
  int status;
  std::string_view title;
  std::string_view detail = {};
};
Response render_plain(const PlainProblem& problem, const Dialect& dialect);

// The member `error` of an answer that is not what was asked for.
std::string error_member(std::string_view type, std::string_view code, std::string_view message);

}  // namespace pawl
