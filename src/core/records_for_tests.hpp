// Records that several tests of the core begin with.
#pragma once

#include "testing/builders.hpp"

namespace pawl {

inline Record an_async_record() {
  Record record = testing::an_in_progress_record();
  record.policy.mode = Mode::async;
  record.policy.on_server_error = OnServerError::retry;
  record.request = StoredRequest{"/v1/payments", {{"Authorization", "secret"}}, "{}"};
  return record;
}

inline Record a_half_done_flow() {
  Record record = testing::an_in_progress_record();
  record.policy.on_lease_expiry = OnLeaseExpiry::resume;
  record.request = StoredRequest{"/v1/payments", {}, "{}"};
  record.recovery_point = "charge";
  return record;
}

}  // namespace pawl
