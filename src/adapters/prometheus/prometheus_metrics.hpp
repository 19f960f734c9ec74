// The metrics of the engine and the gateway, as Prometheus reads them.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "pawl/types/metrics.hpp"
#include "src/ports/gateway_metrics.hpp"
#include "src/ports/maintenance_metrics.hpp"
#include "src/ports/outbox_metrics.hpp"

namespace pawl::prom {

// Gauges that are read when the metrics are.
struct Gauges {
  double connections = 0;
  double cache_bytes = 0;
  double memory_budget = 0;
  double memory_used = 0;
  bool breaker_open = false;
  bool clock_trusted = true;
  double waiting = 0;
  double log_dropped = 0;  // lines, since the start
  bool reload_succeeded = true;
  double reloaded_at = 0;  // seconds since 1970
};

class PrometheusMetrics final : public Metrics,
                                public GatewayMetrics,
                                public OutboxMetrics,
                                public MaintenanceMetrics {
 public:
  // `routes`: every name a request can carry.
  explicit PrometheusMetrics(const std::vector<std::string>& routes);
  // A route that is observed, and every word that may be said of its requests.
  void will_observe(const std::string& route, const std::vector<std::string_view>& words);

  // Names that requests may carry from now on; those that are known stay. From any thread.
  void will_serve(const std::vector<std::string>& routes);

  // A destination of the outbox.
  void will_deliver(const std::string& destination);

  void add(Counter counter, std::string_view label, std::uint64_t amount) override;

  void request(std::string_view route, int status) override;
  void upstream_took(std::string_view route, Duration took) override;
  void duplicate(std::string_view scope) override;
  void replayed(bool from_memory) override;
  void misuse(std::string_view scope) override;
  void decided_in_memory(std::string_view decision) override;
  void near_duplicate(std::string_view route) override;
  void hinted() override;
  void unguarded(std::string_view route) override;
  void observed(std::string_view route, std::string_view would) override;
  void observation_dropped() override;
  void refused(std::string_view problem) override;
  void connection_refused(std::string_view limit) override;
  void reconciled(std::string_view result) override;
  void disproved_too_late() override;
  void webhook(std::string_view result) override;
  void dead_letters(std::size_t count) override;
  void async_dead_letters(std::size_t count) override;
  void compared(std::string_view source, const LedgerCounts& counts, Instant ended_at) override;

  void outbox_settled(std::string_view destination, OutboxResult result) override;
  void outbox_depth(const std::vector<OutboxDepth>& depths) override;
  void outbox_breaker(std::string_view destination, bool open) override;

  void store_took(std::string_view operation, Duration took);
  void unknown_records(double count, double oldest_seconds) override;
  void unreadable_records(double count) override;
  void waiting_records(double count) override;  // waiting to be resumed, as far as a sweep reads

  // The text that GET /metrics answers.
  std::string text(const Gauges& now);

 private:
  using CounterFamily = prometheus::Family<prometheus::Counter>;

  struct Route {
    std::array<prometheus::Counter*, 6> by_class{};  // 0: never answered
    prometheus::Histogram* upstream = nullptr;
    prometheus::Counter* unguarded = nullptr;
    prometheus::Counter* near_duplicates = nullptr;
  };

  static constexpr const char* other_scopes = "other";
  using Scopes = std::map<std::string, prometheus::Counter*, std::less<>>;

  struct Counted {
    CounterFamily* family = nullptr;
    const char* label = nullptr;  // its name; nullptr: none
    std::vector<std::pair<std::string_view, prometheus::Counter*>> known;  // by the label's value
  };

  // Everything that is counted is there from the start, in these groups.
  void register_engine();
  void register_routes(const std::vector<std::string>& routes);
  void register_requests();
  void register_records();
  void register_node();
  void register_outbox();
  void register_store();

  CounterFamily& counters(const char* name, const char* help);
  prometheus::Gauge& gauge(const char* name, const char* help);
  prometheus::Family<prometheus::Gauge>& gauges(const char* name, const char* help);
  prometheus::Counter& by_scope(CounterFamily& family, Scopes& known, std::string_view scope);
  const Route* route_of(std::string_view name) const;

  prometheus::Registry registry_;
  std::map<Counter, Counted> by_counter_;
  CounterFamily* requests_ = nullptr;
  CounterFamily* unguarded_ = nullptr;
  CounterFamily* near_duplicates_ = nullptr;
  prometheus::Family<prometheus::Histogram>* upstream_seconds_ = nullptr;
  mutable std::shared_mutex routes_mutex_;
  std::map<std::string, Route, std::less<>> routes_;
  std::map<std::string, prometheus::Histogram*, std::less<>> store_;
  prometheus::Counter* replays_memory_ = nullptr;
  prometheus::Counter* replays_store_ = nullptr;
  CounterFamily* misuse_ = nullptr;
  prometheus::Counter* hints_ = nullptr;
  CounterFamily* observed_ = nullptr;
  prometheus::Counter* observations_dropped_ = nullptr;
  CounterFamily* refused_ = nullptr;
  CounterFamily* connections_refused_ = nullptr;
  CounterFamily* webhooks_ = nullptr;
  CounterFamily* duplicates_ = nullptr;
  CounterFamily* outbox_ = nullptr;
  prometheus::Family<prometheus::Gauge>* outbox_depth_ = nullptr;
  prometheus::Family<prometheus::Gauge>* outbox_oldest_ = nullptr;
  prometheus::Family<prometheus::Gauge>* outbox_breaker_ = nullptr;
  std::mutex outbox_mutex_;
  std::vector<prometheus::Gauge*> outbox_gauges_;  // all that were ever set
  std::mutex scopes_mutex_;
  Scopes duplicates_by_scope_;
  Scopes misuse_by_scope_;
  prometheus::Gauge* unknown_ = nullptr;
  prometheus::Gauge* unknown_oldest_ = nullptr;
  prometheus::Gauge* unreadable_ = nullptr;
  prometheus::Gauge* to_resume_ = nullptr;
  prometheus::Gauge* dead_ = nullptr;
  prometheus::Gauge* async_dead_ = nullptr;
  prometheus::Family<prometheus::Gauge>* ledger_differences_ = nullptr;
  prometheus::Family<prometheus::Gauge>* ledger_compared_ = nullptr;
  prometheus::Gauge* connections_ = nullptr;
  prometheus::Gauge* cache_bytes_ = nullptr;
  prometheus::Gauge* memory_budget_ = nullptr;
  prometheus::Gauge* memory_used_ = nullptr;
  prometheus::Counter* log_dropped_ = nullptr;
  prometheus::Gauge* breaker_ = nullptr;
  prometheus::Gauge* clock_trusted_ = nullptr;
  prometheus::Gauge* waiting_ = nullptr;
  prometheus::Gauge* reload_succeeded_ = nullptr;
  prometheus::Gauge* reloaded_at_ = nullptr;
};

}  // namespace pawl::prom
