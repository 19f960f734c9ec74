// Upkeep in SQL: one set of statements for every store that speaks it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/adapters/sql/session_thread.hpp"
#include "src/ports/upkeep.hpp"

namespace pawl::sql {

class SqlUpkeep final : public Upkeep {
 public:
  explicit SqlUpkeep(std::shared_ptr<SessionThread> thread) : port_(std::move(thread)) {}

  Task<StoreResult<std::size_t>> reap(TrailBefore before) override;
  Task<StoreResult<KeyPage>> unsettled(Scope after_scope, Key after_key,
                                       std::size_t rows_max) override;
  Task<StoreResult<std::size_t>> doubt_messages() override;

  // store_facts.cpp
  Task<StoreResult<std::optional<std::string>>> fact(std::string name) override;
  Task<StoreResult<Done>> declare(std::string name, std::string value, AuditEntry audit) override;
  Task<StoreResult<bool>> replace_fact(std::string name, std::optional<std::string> expected,
                                       std::string value) override;

  // inventory.cpp
  Task<StoreResult<PolicyPage>> stored_policies(Scope after_scope, Key after_key,
                                                std::size_t rows_max) override;
  Task<StoreResult<StoreOverview>> overview() override;
  Task<StoreResult<KeyCount>> count_keys(std::int64_t exact_max) override;
  Task<StoreResult<std::vector<KeyTarget>>> targets_after(Scope scope, Key key,
                                                          std::size_t rows_max) override;

  [[nodiscard]] std::string trouble() const override { return port_.trouble(); }

 private:
  SessionPort port_;
};

}  // namespace pawl::sql
