// How much there is of what, as those who look after the store count it. A port: Prometheus is one
// way to show it.
#pragma once

namespace pawl {

class MaintenanceMetrics {
 public:
  virtual ~MaintenanceMetrics() = default;
  // All are safe from any thread.
  virtual void unknown_records(double count, double oldest_seconds) = 0;
  virtual void unreadable_records(double count) = 0;
  // For somebody to resume them, as far as a sweep looks.
  virtual void waiting_records(double count) = 0;
};

// For whoever measures nothing of this.
class NoMaintenanceMetrics final : public MaintenanceMetrics {
 public:
  void unknown_records(double /*count*/, double /*oldest_seconds*/) override {}
  void unreadable_records(double /*count*/) override {}
  void waiting_records(double /*count*/) override {}
};

}  // namespace pawl
