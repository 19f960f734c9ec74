// Any store, with the time its operations take.
#pragma once

#include "pawl/ports/clock.hpp"
#include "pawl/ports/store.hpp"
#include "src/gateway/prometheus_metrics.hpp"

namespace pawl::gateway {

class MeteredStore final : public Store {
 public:
  MeteredStore(Store& store, Clock& clock, PrometheusMetrics& metrics)
      : store_(store), clock_(clock), metrics_(metrics) {}

  Task<std::vector<StoreResult<Written>>> insert_or_read(std::vector<Record> fresh) override {
    const BootTime start = clock_.now();
    auto result = co_await store_.insert_or_read(std::move(fresh));
    metrics_.store_took("reserve", clock_.now() - start);
    co_return result;
  }
  Task<std::vector<StoreResult<Written>>> replace(std::vector<Replacement> batch) override {
    const BootTime start = clock_.now();
    auto result = co_await store_.replace(std::move(batch));
    metrics_.store_took("replace", clock_.now() - start);
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
  Task<StoreResult<Instant>> time() override { return store_.time(); }
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
  Task<StoreResult<Done>> keep_evidence(LateEvidence evidence) override {
    return store_.keep_evidence(std::move(evidence));
  }

 private:
  Store& store_;
  Clock& clock_;
  PrometheusMetrics& metrics_;
};

}  // namespace pawl::gateway
