// The jobs that keep a store and a node's leases in order. The gateway, libpawl and the simulator
// run the same.
#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "src/boundary/boundary.hpp"
#include "src/engine/pace.hpp"
#include "src/engine/stored_restoration.hpp"
#include "src/ports/maintenance_metrics.hpp"
#include "src/ports/upkeep.hpp"

namespace pawl::workers {

// Everything it is given; all of it outlives it.
struct MaintenancePorts {
  Engine& engine;  // of the thread that the jobs run on
  Boundary& boundary;
  Store& store;
  Clock& clock;
  MaintenanceMetrics& metrics;
  Log& log;
  Upkeep* upkeep = nullptr;  // none: another thread of this process tidies
};

struct MaintenanceOptions {
  Duration outbox_retention{};
  Duration evidence_retention{};
  Duration audit_retention{};
  bool reaps_trail = true;  // else `tidy` only asks whether the store was restored
  // The store's clock was asked for. On one of the threads: all of them hear the same.
  std::function<void(const StoreTime&)> on_clock = [](const StoreTime&) {};
  // What is on record of a restored backup. None: as far as this engine is concerned.
  std::function<void(const std::optional<StoredRestoration>&)> on_restoration;
};

// As an engine is told of it.
std::optional<Restoration> restoration_of(const std::optional<StoredRestoration>& told);

class Maintenance {
 public:
  Maintenance(MaintenancePorts ports, MaintenanceOptions options);

  // Each is one turn of its job; none beside itself. Those at a pace end soon after `stop` is set.
  Task<void> renew();       // the leases of this engine
  Task<void> look_after();  // the clock, lost reservations, outcomes that could not be recorded
  Task<void> sweep(const std::atomic<bool>& stop);  // leases of owners that are gone
  Task<void> reap(const std::atomic<bool>& stop);   // records past their retention
  // What outlives its record goes when its own time is over; and another node, or an operator, may
  // have said meanwhile that the store was restored.
  Task<void> tidy(const std::atomic<bool>& stop);
  Task<void> count_unknown();
  void count_unreadable();

 private:
  Task<bool> obey_restoration();

  const MaintenancePorts ports_;
  const MaintenanceOptions options_;
  std::size_t unreadable_ = 0;
};

}  // namespace pawl::workers
