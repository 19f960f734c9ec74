// ObservationStore in SQL: one set of statements for every store that speaks it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/adapters/sql/session_thread.hpp"
#include "src/ports/observation_store.hpp"

namespace pawl::sql {

class SqlObservationStore final : public ObservationStore {
 public:
  explicit SqlObservationStore(std::shared_ptr<SessionThread> thread) : port_(std::move(thread)) {}

  Task<StoreResult<Done>> apply(std::vector<ObservedKey> keys, Transition transition) override;
  Task<StoreResult<std::size_t>> reap(Duration tallies_kept) override;
  Task<StoreResult<Summary>> summary(Duration since) override;
  [[nodiscard]] std::string trouble() const override { return port_.trouble(); }

 private:
  SessionPort port_;
};

}  // namespace pawl::sql
