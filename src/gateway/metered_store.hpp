// Any store, with the time its operations take; and what it says of purges reaches the replay
// cache.
#pragma once

#include "src/adapters/prometheus/prometheus_metrics.hpp"
#include "src/boundary/replay_cache.hpp"
#include "src/ports/clock.hpp"
#include "src/ports/store.hpp"

namespace pawl::gateway {

class MeteredStore final : public Store {
 public:
  MeteredStore(Store& store, Clock& clock, prom::PrometheusMetrics& metrics, ReplayCache& cache)
      : store_(store), clock_(clock), metrics_(metrics), cache_(cache) {}

  Task<std::vector<StoreResult<Written>>> insert_or_read(std::vector<Record> fresh) override {
    const BootTime start = clock_.now();
    auto result = co_await store_.insert_or_read(std::move(fresh));
    metrics_.store_took("reserve", clock_.now() - start);
    hear(result);
    co_return result;
  }
  Task<std::vector<StoreResult<Written>>> replace(std::vector<Replacement> batch) override {
    const BootTime start = clock_.now();
    auto result = co_await store_.replace(std::move(batch));
    metrics_.store_took("replace", clock_.now() - start);
    hear(result);
    co_return result;
  }
  Task<StoreResult<std::optional<Record>>> find(Scope scope, Key key) override {
    const BootTime start = clock_.now();
    auto result = co_await store_.find(std::move(scope), std::move(key));
    metrics_.store_took("find", clock_.now() - start);
    co_return result;
  }
  Task<StoreResult<std::vector<bool>>> erase(std::vector<Erasure> batch) override {
    return store_.erase(std::move(batch));
  }
  Task<StoreResult<StoreClock>> time() override {
    StoreResult<StoreClock> result = co_await store_.time();
    if (result) cache_.hear(result->purge_epoch);
    co_return result;
  }
  Task<StoreResult<std::vector<Record>>> lapsed(PassQuery query) override {
    return store_.lapsed(query);
  }
  Task<StoreResult<std::vector<Record>>> past_retention(PassQuery query) override {
    return store_.past_retention(query);
  }
  Task<StoreResult<std::vector<Record>>> undetermined(PassQuery query) override {
    return store_.undetermined(query);
  }
  Task<StoreResult<std::vector<Record>>> pending(PassQuery query) override {
    return store_.pending(query);
  }
  Task<StoreResult<std::size_t>> count_active(Scope scope, std::size_t up_to) override {
    const BootTime start = clock_.now();
    auto result = co_await store_.count_active(std::move(scope), up_to);
    metrics_.store_took("count", clock_.now() - start);
    co_return result;
  }
  Task<StoreResult<Done>> keep_evidence(LateEvidence evidence) override {
    return store_.keep_evidence(std::move(evidence));
  }

  [[nodiscard]] std::size_t unreadable_rows() const override { return store_.unreadable_rows(); }

 private:
  void hear(const std::vector<StoreResult<Written>>& results) {
    for (const StoreResult<Written>& result : results) {
      if (result) cache_.hear(result->purge_epoch);
    }
  }

  Store& store_;
  Clock& clock_;
  prom::PrometheusMetrics& metrics_;
  ReplayCache& cache_;
};

}  // namespace pawl::gateway
