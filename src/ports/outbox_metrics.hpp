// What the outbox's worker measures. A port: Prometheus is one way to show it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/core/outbox.hpp"

namespace pawl {

// How many rows of a destination are in a status, and how old the oldest is.
struct OutboxDepth {
  std::string destination;
  OutboxStatus status = OutboxStatus::pending;
  double rows = 0;
  double oldest_seconds = 0;
};

class OutboxMetrics {
 public:
  virtual ~OutboxMetrics() = default;
  // All are safe from any thread. Destinations come from the configuration; rows of any other are
  // counted under one name.
  virtual void outbox_settled(std::string_view destination, OutboxResult result) = 0;
  virtual void outbox_depth(const std::vector<OutboxDepth>& depths) = 0;
  virtual void outbox_breaker(std::string_view destination, bool open) = 0;
};

}  // namespace pawl
