// Finds out what became of calls of the outbox that went to `unknown`, where their destination
// names a source: from its events, or by asking it.
//
// Any number of nodes may do so at once: a row is claimed before its source is asked, and what was
// found is written only by its owner. It asks and resolves; sending is the worker's. Each
// source is asked by a loop of its own: one that is slow or silent holds up no other.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <vector>

#include "src/ports/clock.hpp"
#include "src/ports/entropy.hpp"
#include "src/ports/gateway_metrics.hpp"
#include "src/ports/outbox_metrics.hpp"
#include "src/ports/outbox_store.hpp"
#include "src/ports/reconciliation_store.hpp"
#include "src/ports/task_group.hpp"
#include "src/workers/poll_loop.hpp"
#include "src/workers/sources.hpp"

namespace pawl::workers {

// Everything it is given; all of it outlives it.
struct OutboxReconcilerPorts {
  OutboxStore& outbox;
  ReconciliationStore& cases;
  const SourceDirectory& sources;
  Clock& clock;
  Entropy& entropy;
  Sleepers& sleepers;
  GatewayMetrics& metrics;
  OutboxMetrics& outbox_metrics;
  Log& log;
  std::function<void()> sendable = [] {};  // a row is to be sent again: the worker may look
};

// A destination whose calls a source knows of.
struct AskedDestination {
  std::string name;
  DestinationRules rules;
  SharedSource source;
};

class OutboxReconciler {
 public:
  OutboxReconciler(OutboxReconcilerPorts ports, std::vector<AskedDestination> destinations,
                   boost::asio::any_io_executor executor);

  // Until `stop`, and until what is under way then is finished.
  Task<void> run();
  // One poll of each source, one after the other. Not beside `run`.
  Task<void> poll_once();
  // From any thread.
  void stop();

 private:
  struct Inquiry {
    const AskedDestination& to;
    OutboxRow row;  // as it was claimed
    Instant claimed_at{};
    BootTime here{};
    std::string heard;
    reconcile::LookupResult kind = reconcile::LookupResult::nothing;
    Instant asked_at{};
    // False: its events could not be read, or what they say not be recorded. Then it is not found
    // not executed, whatever the source says.
    bool may_release = true;
  };
  // A source, and the destinations that name it.
  struct AskedSource {
    SharedSource source;
    PollLoop& loop;
    std::vector<AskedDestination> destinations;
  };

  Task<void> run_one(AskedSource& asked);
  Task<void> poll(const AskedSource& asked);
  Task<void> look_at(const AskedDestination& to, const PollLoop& loop);
  Task<void> inquire(Inquiry inquiry);
  Task<bool> settle_by_event(Inquiry& inquiry);
  Task<bool> settle_by_asking(Inquiry& inquiry);
  Task<bool> settle(const Inquiry& inquiry, OutboxRow next, std::string reason);
  Task<void> go_on(const Inquiry& inquiry);
  void trouble(const std::string& what);
  [[nodiscard]] Instant now(const Inquiry& inquiry) const {
    return inquiry.claimed_at + (ports_.clock.now() - inquiry.here);
  }

  const OutboxReconcilerPorts ports_;
  TaskGroup tasks_;
  std::list<PollLoop> loops_;  // one for each source
  std::list<AskedSource> asked_;
  std::string last_trouble_;
};

}  // namespace pawl::workers
