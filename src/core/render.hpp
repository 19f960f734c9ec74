// Decisions and failures as HTTP: status, fields, problem document. A mapping, no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pawl/types/http.hpp"
#include "pawl/types/names.hpp"
#include "pawl/types/outcome.hpp"
#include "pawl/types/policy.hpp"
#include "src/core/decision.hpp"

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
};

struct ProblemDetails {
  Problem problem;
  std::string detail;                   // what to do about it; empty: the type's own words
  std::optional<int> status;            // where a type has several (outcome-unknown)
  std::optional<Duration> retry_after;  // whole seconds on the wire, rounded up, at least 1
  std::optional<bool> should_retry = std::nullopt;  // where it is not the type's own
  std::string challenge = {};  // 401: how a caller makes itself known (WWW-Authenticate)
};

Response render_problem(const ProblemDetails& problem, const Dialect& dialect);

// Any decision but Execute, which has no answer yet. `record` is what was decided on.
Response render(const Decision& decision, const Record& record, const Dialect& dialect);

// The stored answer: as a replay, or to the client whose execution it was.
enum class Delivery { original, replay };
Response render_stored(const StoredResponse& response, Instant expires_at, Delivery delivery,
                       const Dialect& dialect);

// What the first client is told: the upstream's own answer as it is, or which kind of trouble.
Response render_outcome(Outcome outcome, const Record& settled, const Dialect& dialect);

}  // namespace pawl
