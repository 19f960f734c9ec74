#include "pawl/core/dead_letter.hpp"
#include "pawl/core/outcome.hpp"

#include <algorithm>

#include "pawl/core/outcome.hpp"
#include "pawl/core/render.hpp"

namespace pawl {
namespace {

// Its tries were refused one by one, and yet: what is told here must not invite a second payment.
constexpr const char* given_up =
    "It was tried, not executed as far as is known, and given up by an operator. Ask before you "
    "send it again under a new key.";

// Past its retention a dead letter expires at `never`: not what is done about it.
Instant known_expiry(const Record& record, Instant now) {
  return record.expires_at >= never ? now : record.expires_at;
}

}  // namespace

std::optional<Record> requeued(const Record& record, Instant now) {
  if (!is_dead_letter(record) || !record.request) return std::nullopt;
  Record next = record;
  next.state = Pending{now};
  // It goes on counting: what was told about an earlier try must not be taken for this one's. More
  // attempts are another rule, so it gets another fence.
  next.fence = Fence{record.fence.number + 1};
  next.attempt = record.attempt + 1;
  next.policy.max_attempts = std::min(record.policy.max_attempts + record.attempt, 1'000'000);
  // What is in it says that it was tried before, although its attempts begin anew.
  if (next.last_error.empty()) next.last_error = "retried";
  next.expires_at = std::max(known_expiry(record, now), now + record.policy.retention);
  return next;
}

std::optional<Record> discarded(const Record& record, Instant now) {
  if (!is_dead_letter(record)) return std::nullopt;
  Response response = render_problem({Problem::abandoned, given_up, {}, {}}, Dialect{});
  Record next = record;
  next.state = Completed{StoredResponse{.status = response.status,
                                        .headers = std::move(response.headers),
                                        .body = std::move(response.body),
                                        .schema_version = response_schema_version},
                         now};
  next.request.reset();
  next.expires_at = std::max(known_expiry(record, now), now + record.policy.retention);
  return next;
}

}  // namespace pawl
