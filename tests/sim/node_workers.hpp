// The workers of one run: the product's own, over simulated ports.
#pragma once

#include "src/workers/maintenance.hpp"
#include "src/workers/outbox_reconciler.hpp"
#include "src/workers/outbox_worker.hpp"
#include "src/workers/reconciler.hpp"
#include "tests/sim/node_run.hpp"
#include "tests/sim/sources.hpp"

namespace pawl::sim {

class NoOutboxMetrics final : public OutboxMetrics {
 public:
  void outbox_settled(std::string_view, OutboxResult) override {}
  void outbox_depth(const std::vector<OutboxDepth>&) override {}
  void outbox_breaker(std::string_view, bool) override {}
};

struct Node::Workers {
  Workers(Outside& outside, Run& run, const std::string& name);

  CaseConnection cases;
  OutboxConnection outbox;
  SimSources sources;
  SimCalls calls;
  Receipts receipts;
  NoOutboxMetrics outbox_metrics;
  NoMaintenanceMetrics maintenance_metrics;
  workers::Reconciler reconciler;
  workers::AsyncWorker async;
  workers::OutboxWorker outbox_worker;
  workers::OutboxReconciler outbox_reconciler;
  workers::Maintenance maintenance;
  std::atomic<bool> stop = false;
};

}  // namespace pawl::sim
