// What happened, counted. Each event has one counter, raised in one place.
#pragma once

#include <cstdint>
#include <string_view>

namespace pawl {

enum class Counter {
  reserve,           // label: the decision, or failed_retry
  store_error,       // label: the kind
  settled,           // label: complete, release, doubt
  late_answer,       // an owner settled after its record had left in_progress
  double_execution,  // an answer for a fence that has moved on: alert `possible-double-execution`
  completed_without_commit,  // a 2xx of a transactional route that did not call pawl.complete
  zombie,                    // swept; label: what it became
  pruned,                    // reaped; label: deleted, tombstone, abandoned, unknown
  resolved,                  // label: scheduled, completed, not_executed, refused
  lease_lost,                // a renewal found that the record had gone
};

class Metrics {
 public:
  virtual ~Metrics() = default;
  // Safe from any thread. `label` comes from a bounded set, never from a request.
  virtual void add(Counter counter, std::string_view label, std::uint64_t amount) = 0;
};

}  // namespace pawl
