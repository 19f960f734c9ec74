#include "src/libpawl/call_verdict.hpp"

#include <algorithm>

namespace pawl::detail {
namespace {

bool is_refusal(const Response& response) {
  return response.status == 429 ||
         (response.status == 503 && find_header(response.headers, "Retry-After").has_value());
}

// The stored answer to an earlier sending, not a judgement of this one.
bool is_replay(const Response& response) {
  return find_header(response.headers, "Idempotent-Replayed") == "true";
}

// Where a server's own errors are final for the route, those of what stands before it still are
// not: whoever is behind it may have acted.
CallVerdict heard_server_error(int status, const StoredPolicy& policy) {
  const bool by_itself = status != 502 && status != 503 && status != 504;
  const bool is_final = by_itself && policy.on_server_error == OnServerError::store;
  return is_final ? CallVerdict::answer : CallVerdict::undecided;
}

// An error in answer to a call that was sent before judges this sending: credentials that have
// changed since, a key that is in use or was forgotten. Of the first one it says nothing.
CallVerdict heard_client_error(const Response& response, bool resent) {
  if (is_replay(response)) return CallVerdict::answer;
  switch (response.status) {
    case 408:  // timeout
    case 409:  // in flight, or unknown
    case 425: return CallVerdict::undecided;
    case 402:
      return CallVerdict::answer;  // declined: whoever dedupes would have said so if it was paid
    case 401:
    case 403:
    case 407: return resent ? CallVerdict::undecided : CallVerdict::answer;
    default: return resent ? CallVerdict::doubt : CallVerdict::answer;
  }
}

}  // namespace

CallVerdict heard(const Outcome& outcome, const Destination& destination,
                  const StoredPolicy& policy, bool resent) {
  if (std::holds_alternative<NotSent>(outcome)) return CallVerdict::nothing;
  const auto* answered = std::get_if<Answered>(&outcome);
  if (answered == nullptr) return CallVerdict::undecided;
  const Response& response = answered->response;
  const int status = response.status;
  if (status < 200 || status > 599) return CallVerdict::undecided;
  const bool listed = std::ranges::count(destination.final_statuses, status) > 0;
  if (answered->is_final || listed || status < 400) return CallVerdict::answer;
  if (is_refusal(response)) {
    return policy.on_refusal == OnRefusal::release ? CallVerdict::nothing : CallVerdict::undecided;
  }
  return status >= 500 ? heard_server_error(status, policy) : heard_client_error(response, resent);
}

}  // namespace pawl::detail
