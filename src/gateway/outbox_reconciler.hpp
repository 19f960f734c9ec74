// Finds out what became of calls of the outbox that went to `unknown`, where their destination
// names a source: from its events, or by asking it.
//
// Any number of nodes may do so at once: a row is claimed before its source is asked, and what was
// found is written only by whoever has it. It asks and resolves; sending is the worker's. Each
// source is asked by a loop of its own: one that is slow or silent holds up no other.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "src/adapters/http/upstream_call.hpp"
#include "src/config/config.hpp"
#include "src/gateway/request_log.hpp"
#include "src/ports/clock.hpp"
#include "src/ports/entropy.hpp"
#include "src/ports/gateway_metrics.hpp"
#include "src/ports/outbox_metrics.hpp"
#include "src/ports/outbox_store.hpp"
#include "src/ports/reconciliation_store.hpp"
#include "src/reconcile/schedule.hpp"

namespace pawl::gateway {

// Everything it is given; all of it outlives it.
struct OutboxInquiries {
  const config::Config& config;
  OutboxStore& outbox;
  ReconciliationStore& cases;
  http::Deadlines& deadlines;
  Clock& clock;
  Entropy& entropy;
  GatewayMetrics& metrics;
  OutboxMetrics& outbox_metrics;
  RequestLog& log;
  std::function<void()> sendable;  // a row is to be sent again: the worker may look
};

class OutboxReconciler {
 public:
  OutboxReconciler(OutboxInquiries world, boost::asio::any_io_executor executor);

  // Until `stop`. What is under way then is finished: see `busy`.
  Task<void> run();
  void stop();
  [[nodiscard]] bool busy() const { return looking_ > 0; }

 private:
  struct Inquiry {
    const config::Destination& to;
    const config::Source& source;
    OutboxRow row;  // as it was claimed
    Instant claimed_at{};
    BootTime here{};
    std::string heard;
    reconcile::LookupResult kind = reconcile::LookupResult::nothing;
    Instant asked_at{};
  };

  Task<void> ask(const config::Source& source, boost::asio::steady_timer& idle);
  Task<void> look_at(const config::Destination& to, const config::Source& source);
  Task<void> inquire(Inquiry inquiry);
  Task<bool> settle_by_event(Inquiry& inquiry);
  Task<bool> settle_by_asking(Inquiry& inquiry);
  Task<bool> settle(const Inquiry& inquiry, OutboxRow next, std::string reason);
  Task<void> go_on(Inquiry& inquiry);
  void trouble(const std::string& what);
  [[nodiscard]] Instant now(const Inquiry& inquiry) const {
    return inquiry.claimed_at + (world_.clock.now() - inquiry.here);
  }

  OutboxInquiries world_;
  std::list<boost::asio::steady_timer> idle_;  // one for each source
  boost::asio::any_io_executor executor_;
  std::map<std::string, std::unique_ptr<http::UpstreamPool>> pools_;  // by source
  std::string last_trouble_;
  bool stopped_ = false;
  std::atomic<int> looking_ = 0;  // how many sources are being asked
};

}  // namespace pawl::gateway
