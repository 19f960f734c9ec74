#include "testing/builders.hpp"

namespace pawl::testing {

Instant some_time() {
  return Instant(std::chrono::sys_days(std::chrono::year(2026) / std::chrono::January / 1));
}

Request a_request(std::string_view key, std::string_view scope, std::string_view meaning) {
  Request request;
  request.scope.text = scope;
  request.key.text = key;
  request.fingerprint.text = "1.-." + std::string(meaning);
  request.method = "POST";
  request.path = "/v1/payments";
  request.route = "payments";
  return request;
}

Record an_in_progress_record(std::string_view key, std::string_view owner, Instant now) {
  const Attempt attempt{.owner = Owner{std::string(owner)}, .now = now};
  return first_record(a_request(key), Policy{}, attempt);
}

StoredResponse a_stored_response(std::string_view body) {
  return StoredResponse{.status = 201,
                        .headers = {{"Content-Type", "application/json"}},
                        .body = std::string(body),
                        .schema_version = 1};
}

Record in_state(Record record, Status status, Instant now) {
  switch (status) {
    case Status::pending: record.state = Pending{}; break;
    case Status::in_progress: record.state = InProgress{now, now + record.policy.lease}; break;
    case Status::completed:
      record.state = Completed{a_stored_response(), now};
      record.expires_at = now + record.policy.retention;
      break;
    case Status::failed_retryable: record.state = FailedRetryable{}; break;
    case Status::unknown: record.state = Unknown{now, now}; break;
    case Status::expired:
      record.state = Expired{};
      record.expires_at = now + record.policy.tombstone_for;
      break;
  }
  return record;
}

}  // namespace pawl::testing
