#include "src/core/render.hpp"

#include <algorithm>
#include <array>

#include "pawl/types/check.hpp"
#include "src/core/answer_fields.hpp"
#include "src/core/held_answer.hpp"
#include "src/core/json_writer.hpp"
#include "src/core/overloaded.hpp"

namespace pawl {
namespace {

// A client that waits out a whole lease waits far too long: most requests end within seconds, and
// asking again costs one read.
constexpr Duration retry_after_max = std::chrono::seconds(5);
constexpr Duration store_retry_after = std::chrono::seconds(1);

Response render_in_flight(const InFlight& running, const Record& record, const Dialect& dialect) {
  const Duration usually = dialect.usually_left.value_or(retry_after_max);
  const Duration wait = std::min({running.lease_left, usually, retry_after_max});
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
    details.retry_after = std::clamp<Duration>(wait, retry_after_max, retry_after_limit);
  } else {
    details.detail +=
        " No source is being asked what became of it: unless the provider reports it, an operator "
        "must decide. Until then every retry gets this answer. Do not use a new key.";
    details.should_retry = false;
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

// Under the original status, and yet no result: a client that looks for `error` must not take it
// for one.
std::string withheld_body(Delivery delivery) {
  std::string detail =
      "The request was executed and answered with this status and these header fields. The body "
      "of the answer was too large to keep";
  detail += delivery == Delivery::replay ? ": it was delivered to the first request." : ".";
  JsonObject body;
  body.text("pawl", "body-withheld").text("detail", detail);
  body.raw("error", error_member("api_error", "body-withheld", detail));
  return std::move(body).done();
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
            return render_problem(outcome_unknown(record, {}, waits.until_reconciled, dialect),
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
    set_header(response.headers, "Pawl-Body-Withheld", "true");
    response.body = withheld_body(delivery);
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
                   return render_problem(unanswered(settled, status, dialect), dialect);
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
