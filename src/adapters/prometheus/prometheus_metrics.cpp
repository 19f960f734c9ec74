#include "src/adapters/prometheus/prometheus_metrics.hpp"

#include <prometheus/text_serializer.h>

#include <algorithm>

#include "pawl/types/check.hpp"
#include "src/core/printable.hpp"

namespace pawl::prom {
namespace {

// A label with as many values as there are tenants is a leak: from here on they share one.
constexpr std::size_t scopes_max = 100;
constexpr const char* other_scopes = "other";

const prometheus::Histogram::BucketBoundaries seconds_buckets{
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

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
  CounterFamily& requests = counters("pawl_requests_total", "Requests by route and status class");
  CounterFamily& unguarded =
      counters("pawl_unguarded_requests_total", "POST and PATCH forwarded without a key");
  CounterFamily& near_duplicates =
      counters("pawl_near_duplicates_total",
               "Near duplicates: the same request under another key, a moment later");
  auto& upstream = prometheus::BuildHistogram()
                       .Name("pawl_upstream_seconds")
                       .Help("From the first byte sent to the whole answer")
                       .Register(registry_);
  static constexpr std::array classes{"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
  for (const std::string& name : routes) {
    Route& route = routes_[name];
    for (std::size_t i = 0; i < classes.size(); ++i) {
      route.by_class[i] = &requests.Add({{"route", name}, {"status", classes[i]}});
    }
    route.upstream = &upstream.Add({{"route", name}}, seconds_buckets);
    route.unguarded = &unguarded.Add({{"route", name}});
    route.near_duplicates = &near_duplicates.Add({{"route", name}});
  }
  auto& store = prometheus::BuildHistogram()
                    .Name("pawl_store_seconds")
                    .Help("Store operations, waiting for their batch included")
                    .Register(registry_);
  for (const char* operation : {"reserve", "replace", "find", "count"}) {
    store_[operation] = &store.Add({{"operation", operation}}, seconds_buckets);
  }
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
  webhooks_ = &counters("pawl_webhooks_total", "Webhook events, by result");
  for (const char* result :
       {"kept", "duplicate", "ignored", "bad_signature", "unreadable", "unavailable", "foreign"}) {
    webhooks_->Add({{"result", result}});
  }
  duplicates_ = &counters("pawl_duplicates_total", "Requests whose key was there already");
  by_scope(*duplicates_, duplicates_by_scope_, other_scopes);
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
  outbox_ = &counters("pawl_outbox_total", "Outbox rows by destination and result");
  outbox_depth_ =
      &gauges("pawl_outbox_depth", "Outbox rows that are not done, by destination and status");
  outbox_oldest_ =
      &gauges("pawl_outbox_oldest_seconds", "Age of the oldest outbox row that is not done");
  outbox_breaker_ =
      &gauges("pawl_outbox_breaker_open", "1 while the breaker of a destination is open");
  breaker_ = &gauge("pawl_store_breaker_open", "1 while the store is known to be unavailable");
  clock_trusted_ = &gauge("pawl_store_clock_trusted",
                          "0 while the store's clock and this machine's have moved apart");
}

void PrometheusMetrics::add(Counter counter, std::string_view label, std::uint64_t amount) {
  const auto found = by_counter_.find(counter);
  PAWL_CHECK(found != by_counter_.end());
  const Counted& counted = found->second;
  const auto series = std::ranges::find_if(counted.known, [&](const auto& known) {
    return counted.label == nullptr || known.first == label;
  });
  prometheus::Counter& raised = series != counted.known.end()
                                    ? *series->second
                                    : counted.family->Add({{counted.label, std::string(label)}});
  raised.Increment(static_cast<double>(amount));
}

const PrometheusMetrics::Route* PrometheusMetrics::route_of(std::string_view name) const {
  const auto found = routes_.find(name);
  return found == routes_.end() ? nullptr : &found->second;
}

void PrometheusMetrics::request(std::string_view route, int status) {
  const Route* const known = route_of(route);
  if (known != nullptr) known->by_class.at(static_cast<std::size_t>(status / 100))->Increment();
}

void PrometheusMetrics::upstream_took(std::string_view route, Duration took) {
  const Route* const known = route_of(route);
  if (known != nullptr) known->upstream->Observe(seconds(took));
}

void PrometheusMetrics::unguarded(std::string_view route) {
  const Route* const known = route_of(route);
  if (known != nullptr) known->unguarded->Increment();
}

void PrometheusMetrics::near_duplicate(std::string_view route) {
  const Route* const known = route_of(route);
  if (known != nullptr) known->near_duplicates->Increment();
}

void PrometheusMetrics::hinted() { hints_->Increment(); }

prometheus::Counter& PrometheusMetrics::by_scope(CounterFamily& family, Scopes& known,
                                                 std::string_view scope) {
  const std::lock_guard lock(scopes_mutex_);
  const auto found = known.find(scope);
  if (found != known.end()) return *found->second;
  const bool full = known.size() > scopes_max;
  if (full) return *known.find(other_scopes)->second;
  prometheus::Counter& counter = family.Add({{"scope", printable(scope)}});
  known.emplace(scope, &counter);
  return counter;
}

void PrometheusMetrics::duplicate(std::string_view scope) {
  by_scope(*duplicates_, duplicates_by_scope_, scope).Increment();
}

void PrometheusMetrics::replayed(bool from_memory) {
  (from_memory ? replays_memory_ : replays_store_)->Increment();
}

void PrometheusMetrics::misuse(std::string_view scope) {
  by_scope(*misuse_, misuse_by_scope_, scope).Increment();
}

void PrometheusMetrics::decided_in_memory(std::string_view decision) {
  add(Counter::reserve, decision, 1);
}

void PrometheusMetrics::will_observe(const std::string& route,
                                     const std::vector<std::string_view>& words) {
  for (const std::string_view word : words) {
    observed_->Add({{"route", route}, {"would", std::string(word)}});
  }
}

void PrometheusMetrics::observed(std::string_view route, std::string_view would) {
  observed_->Add({{"route", std::string(route)}, {"would", std::string(would)}}).Increment();
}

void PrometheusMetrics::observation_dropped() { observations_dropped_->Increment(); }

void PrometheusMetrics::refused(std::string_view problem) {
  refused_->Add({{"problem", std::string(problem)}}).Increment();
}

void PrometheusMetrics::will_deliver(const std::string& destination) {
  for (const auto& [result, name] : Names<OutboxResult>::table) {
    outbox_->Add({{"destination", destination}, {"result", std::string(name)}});
  }
  outbox_breaker_->Add({{"destination", destination}}).Set(0);
  for (const auto& [status, name] : Names<OutboxStatus>::table) {
    if (status == OutboxStatus::done) continue;
    const prometheus::Labels labels{{"destination", destination}, {"status", std::string(name)}};
    outbox_depth_->Add(labels);
    outbox_oldest_->Add(labels);
  }
}

void PrometheusMetrics::outbox_settled(std::string_view destination, OutboxResult result) {
  outbox_
      ->Add({{"destination", std::string(destination)}, {"result", std::string(to_text(result))}})
      .Increment();
}

void PrometheusMetrics::outbox_breaker(std::string_view destination, bool open) {
  outbox_breaker_->Add({{"destination", std::string(destination)}}).Set(open ? 1 : 0);
}

// Several destinations may go by one name: theirs are added up.
void PrometheusMetrics::outbox_depth(const std::vector<OutboxDepth>& depths) {
  const std::lock_guard lock(outbox_mutex_);
  for (prometheus::Gauge* each : outbox_gauges_) each->Set(0);  // what is gone is not told of
  for (const OutboxDepth& depth : depths) {
    const prometheus::Labels labels{{"destination", depth.destination},
                                    {"status", std::string(to_text(depth.status))}};
    prometheus::Gauge& rows = outbox_depth_->Add(labels);
    prometheus::Gauge& oldest = outbox_oldest_->Add(labels);
    rows.Increment(depth.rows);
    oldest.Set(std::max(oldest.Value(), depth.oldest_seconds));
    for (prometheus::Gauge* each : {&rows, &oldest}) {
      if (std::ranges::find(outbox_gauges_, each) == outbox_gauges_.end()) {
        outbox_gauges_.push_back(each);
      }
    }
  }
}

void PrometheusMetrics::reconciled(std::string_view result) { add(Counter::resolved, result, 1); }

void PrometheusMetrics::disproved_too_late() {
  add(Counter::double_execution, to_text(Evidence::answered), 1);
}

void PrometheusMetrics::webhook(std::string_view result) {
  webhooks_->Add({{"result", std::string(result)}}).Increment();
}

void PrometheusMetrics::dead_letters(std::size_t count) { dead_->Set(static_cast<double>(count)); }

void PrometheusMetrics::async_dead_letters(std::size_t count) {
  async_dead_->Set(static_cast<double>(count));
}

void PrometheusMetrics::compared(std::string_view source, const LedgerCounts& counts,
                                 Instant ended_at) {
  const std::string name(source);
  for (const auto& [kind, text] : Names<Differs>::table) {
    ledger_differences_->Add({{"source", name}, {"kind", std::string(text)}})
        .Set(static_cast<double>(counts.by_kind[static_cast<std::size_t>(kind)]));
  }
  ledger_compared_->Add({{"source", name}})
      .Set(std::chrono::duration<double>(ended_at.time_since_epoch()).count());
}

void PrometheusMetrics::store_took(std::string_view operation, Duration took) {
  const auto found = store_.find(operation);
  PAWL_CHECK(found != store_.end());
  found->second->Observe(seconds(took));
}

void PrometheusMetrics::unknown_records(double count, double oldest_seconds) {
  unknown_->Set(count);
  unknown_oldest_->Set(oldest_seconds);
}

void PrometheusMetrics::unreadable_records(double count) { unreadable_->Set(count); }

void PrometheusMetrics::waiting_records(double count) { to_resume_->Set(count); }

std::string PrometheusMetrics::text(const Gauges& now) {
  connections_->Set(now.connections);
  cache_bytes_->Set(now.cache_bytes);
  memory_budget_->Set(now.memory_budget);
  memory_used_->Set(now.memory_used);
  waiting_->Set(now.waiting);
  log_dropped_->Increment(now.log_dropped - log_dropped_->Value());
  breaker_->Set(now.breaker_open ? 1 : 0);
  clock_trusted_->Set(now.clock_trusted ? 1 : 0);
  return prometheus::TextSerializer().Serialize(registry_.Collect());
}

}  // namespace pawl::prom
