// Records and requests that are valid as they stand; a test changes only what it is about.
#pragma once

#include <string_view>

#include "src/core/decision.hpp"

namespace pawl::testing {

// 2026-01-01T00:00:00Z: a start for tests that bring their own time.
Instant some_time();

Request a_request(std::string_view key = "test-key-00000001", std::string_view scope = "tenant-a",
                  std::string_view meaning = "pay 10 EUR");

// The first record of a_request(), in progress under `owner` since `now`.
Record an_in_progress_record(std::string_view key = "test-key-00000001",
                             std::string_view owner = "owner-1", Instant now = some_time());

StoredResponse a_stored_response(std::string_view body = R"({"id":"pay_1"})");

// The same record in each of the six states, as the core would leave it at `now`.
Record in_state(Record record, Status status, Instant now);

}  // namespace pawl::testing
