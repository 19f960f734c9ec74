#include "src/adapters/prometheus/prometheus_metrics.hpp"

#include <prometheus/text_serializer.h>

#include <algorithm>

#include "pawl/types/check.hpp"
#include "src/core/printable.hpp"

namespace pawl::prom {
namespace {

// A label with as many values as there are tenants is a leak: from here on they share one.
constexpr std::size_t scopes_max = 100;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

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
  const std::shared_lock lock(routes_mutex_);
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

void PrometheusMetrics::connection_refused(std::string_view limit) {
  connections_refused_->Add({{"limit", std::string(limit)}}).Increment();
}

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
  reload_succeeded_->Set(now.reload_succeeded ? 1 : 0);
  reloaded_at_->Set(now.reloaded_at);
  log_dropped_->Increment(now.log_dropped - log_dropped_->Value());
  breaker_->Set(now.breaker_open ? 1 : 0);
  clock_trusted_->Set(now.clock_trusted ? 1 : 0);
  return prometheus::TextSerializer().Serialize(registry_.Collect());
}

}  // namespace pawl::prom
