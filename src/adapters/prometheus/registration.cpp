// What is counted, with the help that operators read.
#include "src/adapters/prometheus/prometheus_metrics.hpp"

namespace pawl::prom {
namespace {

const prometheus::Histogram::BucketBoundaries seconds_buckets{
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};

struct Described {
  Counter counter;
  const char* name;
  const char* label;  // nullptr: none
  const char* help;
  std::vector<const char*> values;  // of the label, known beforehand
};

// With every value the label has: a series that appears with its first event has no increase to
// alert on.
const std::vector<Described>& described() {
  static const std::vector<Described> all{
      {Counter::reserve,
       "pawl_reserve_total",
       "decision",
       "Reservations by decision",
       {"created", "replay", "in_progress", "key_misuse", "failed_retry", "unknown", "expired",
        "caller_unproven", "store_restored"}},
      {Counter::store_error,
       "pawl_store_errors_total",
       "kind",
       "Store operations that failed",
       {"unavailable", "contended", "in_doubt", "unreadable"}},
      {Counter::settled,
       "pawl_settled_total",
       "how",
       "Executions by how their record was settled (unknown: its outcome is not known)",
       {"complete", "release", "unknown"}},
      {Counter::late_answer,
       "pawl_late_answers_total",
       nullptr,
       "Answers that came after their lease was over and still counted",
       {}},
      {Counter::double_execution,
       "pawl_possible_double_executions_total",
       "evidence",
       "Outcomes that came when the record had been taken over: investigate each",
       {"sent", "answered"}},
      {Counter::completed_without_commit,
       "pawl_completed_without_commit_total",
       nullptr,
       "2xx answers on transactional routes without pawl.complete",
       {}},
      {Counter::zombie,
       "pawl_zombies_total",
       "became",
       "Leases that expired without an outcome, by the state of their record since",
       {"unknown", "failed_retryable", "pending"}},
      {Counter::pruned,
       "pawl_pruned_total",
       "how",
       "Records past their retention, by what was done with them",
       {"deleted", "tombstone", "abandoned", "unknown"}},
      {Counter::resolved,
       "pawl_reconcile_total",
       "result",
       "Reconciliation of unknown outcomes, by result",
       {"scheduled", "completed", "not_executed", "refused", "absent", "pending", "failed", "dead",
        "disproved", "contradicted"}},
      {Counter::lease_lost,
       "pawl_leases_lost_total",
       nullptr,
       "Lease renewals that found the record gone, settled or taken over",
       {}}};
  return all;
}

}  // namespace

PrometheusMetrics::CounterFamily& PrometheusMetrics::counters(const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry_);
}

prometheus::Gauge& PrometheusMetrics::gauge(const char* name, const char* help) {
  return gauges(name, help).Add({});
}

prometheus::Family<prometheus::Gauge>& PrometheusMetrics::gauges(const char* name,
                                                                 const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry_);
}

PrometheusMetrics::PrometheusMetrics(const std::vector<std::string>& routes) {
  register_engine();
  register_routes(routes);
  register_requests();
  register_records();
  register_node();
  register_outbox();
  register_store();
}

void PrometheusMetrics::register_engine() {
  for (const Described& each : described()) {
    CounterFamily& family = counters(each.name, each.help);
    Counted& counted = by_counter_[each.counter];
    counted.family = &family;
    counted.label = each.label;
    if (each.label == nullptr) counted.known.emplace_back("", &family.Add({}));
    for (const char* value : each.values) {
      counted.known.emplace_back(value, &family.Add({{each.label, value}}));
    }
  }
}

void PrometheusMetrics::register_routes(const std::vector<std::string>& routes) {
  requests_ = &counters("pawl_requests_total", "Requests by route and status class");
  unguarded_ = &counters("pawl_unguarded_requests_total", "POST and PATCH forwarded without a key");
  near_duplicates_ =
      &counters("pawl_near_duplicates_total",
                "Near duplicates: the same request under another key, a moment later");
  upstream_seconds_ = &prometheus::BuildHistogram()
                           .Name("pawl_upstream_seconds")
                           .Help("From the first byte sent to the whole answer")
                           .Register(registry_);
  will_serve(routes);
}

void PrometheusMetrics::will_serve(const std::vector<std::string>& routes) {
  static constexpr std::array classes{"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
  const std::lock_guard lock(routes_mutex_);
  for (const std::string& name : routes) {
    if (routes_.contains(name)) continue;
    Route& route = routes_[name];
    for (std::size_t i = 0; i < classes.size(); ++i) {
      route.by_class[i] = &requests_->Add({{"route", name}, {"status", classes[i]}});
    }
    route.upstream = &upstream_seconds_->Add({{"route", name}}, seconds_buckets);
    route.unguarded = &unguarded_->Add({{"route", name}});
    route.near_duplicates = &near_duplicates_->Add({{"route", name}});
  }
}

void PrometheusMetrics::register_requests() {
  CounterFamily& replays = counters("pawl_replays_total", "Replayed answers");
  replays_memory_ = &replays.Add({{"from", "memory"}});
  replays_store_ = &replays.Add({{"from", "store"}});
  misuse_ = &counters("pawl_key_misuse_total", "Keys reused with another request");
  by_scope(*misuse_, misuse_by_scope_, other_scopes);
  hints_ = &counters("pawl_hints_total",
                     "Notifications by other nodes that a key waited for here is settled")
                .Add({});
  observed_ =
      &counters("pawl_observed_total", "Requests to observed routes, by predicted decision");
  observations_dropped_ =
      &counters("pawl_observations_dropped_total",
                "Requests to observed routes that were forwarded and not recorded")
           .Add({});
  refused_ = &counters("pawl_refused_total", "Requests refused by Pawl, by problem");
  refused_->Add({{"problem", "overloaded"}});  // an alert is about it
  connections_refused_ =
      &counters("pawl_connections_refused_total",
                "Connections, and requests through trusted proxies, over a limit of connections");
  for (const char* limit : {"all", "address"}) connections_refused_->Add({{"limit", limit}});
  webhooks_ = &counters("pawl_webhooks_total", "Webhook events, by result");
  for (const char* result :
       {"kept", "duplicate", "ignored", "bad_signature", "unreadable", "unavailable", "foreign"}) {
    webhooks_->Add({{"result", result}});
  }
  duplicates_ = &counters("pawl_duplicates_total", "Requests whose key was there already");
  by_scope(*duplicates_, duplicates_by_scope_, other_scopes);
}

void PrometheusMetrics::register_records() {
  unknown_ = &gauge("pawl_unknown_records", "Records with an unknown outcome");
  unknown_oldest_ = &gauge("pawl_unknown_oldest_seconds", "Age of the oldest unknown record");
  unreadable_ =
      &gauge("pawl_unreadable_records", "Records that the last background jobs could not read");
  to_resume_ =
      &gauge("pawl_records_to_resume", "Records whose lease is over and that wait to be resumed");
  dead_ =
      &gauge("pawl_dead_letters",
             "Dead letters: unknown records whose retries are exhausted or that have no source");
  async_dead_ = &gauge("pawl_async_dead_letters",
                       "Async requests that were accepted and given up after all their attempts");
  ledger_differences_ =
      &gauges("pawl_ledger_differences",
              "Differences in the last comparison with a source's ledger, by kind");
  ledger_compared_ = &gauges("pawl_ledger_compared_timestamp_seconds",
                             "When the last complete comparison with a source's ledger ended");
}

void PrometheusMetrics::register_node() {
  connections_ = &gauge("pawl_connections", "Client connections");
  cache_bytes_ = &gauge("pawl_replay_cache_bytes", "Memory held by the replay cache");
  memory_budget_ =
      &gauge("pawl_memory_budget_bytes", "Memory that bodies and answers in flight may use");
  memory_used_ =
      &gauge("pawl_memory_used_bytes", "Memory that bodies and answers in flight are charged");
  log_dropped_ = &counters("pawl_log_dropped_lines_total",
                           "Log lines that were dropped because standard error was not read fast "
                           "enough, or not at all")
                      .Add({});
  waiting_ = &gauge("pawl_waiting_requests", "Duplicates that wait for the first to finish");
  reload_succeeded_ =
      &gauge("pawl_config_last_reload_successful",
             "0 while the configuration that was last read is not the one in force");
  reloaded_at_ = &gauge("pawl_config_last_reload_success_timestamp_seconds",
                        "When the configuration in force was read");
}

void PrometheusMetrics::register_outbox() {
  outbox_ = &counters("pawl_outbox_total", "Outbox rows by destination and result");
  outbox_depth_ =
      &gauges("pawl_outbox_depth", "Outbox rows that are not done, by destination and status");
  outbox_oldest_ =
      &gauges("pawl_outbox_oldest_seconds", "Age of the oldest outbox row that is not done");
  outbox_breaker_ =
      &gauges("pawl_outbox_breaker_open", "1 while the breaker of a destination is open");
}

void PrometheusMetrics::register_store() {
  auto& store = prometheus::BuildHistogram()
                    .Name("pawl_store_seconds")
                    .Help("Store operations, waiting for their batch included")
                    .Register(registry_);
  for (const char* operation : {"reserve", "replace", "find", "count"}) {
    store_[operation] = &store.Add({{"operation", operation}}, seconds_buckets);
  }
  breaker_ = &gauge("pawl_store_breaker_open", "1 while the store is known to be unavailable");
  clock_trusted_ = &gauge("pawl_store_clock_trusted",
                          "0 while the store's clock and this machine's have moved apart");
}

}  // namespace pawl::prom
