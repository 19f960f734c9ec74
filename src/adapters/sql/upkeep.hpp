// Upkeep in SQL: one set of statements for every store that speaks it.
#pragma once

#include <memory>

#include "src/adapters/sql/reconciliation_store.hpp"
#include "src/ports/upkeep.hpp"

namespace pawl::cases {

class SqlUpkeep final : public Upkeep {
 public:
  explicit SqlUpkeep(std::unique_ptr<Sql> sql) : sql_(std::move(sql)) {}

  Result<std::size_t> reap(const TrailBefore& before) override;
  Result<std::optional<std::string>> fact(const std::string& name) override;
  Result<Done> declare(const std::string& name, const std::string& value,
                       const AuditEntry& audit) override;
  Result<std::vector<std::string>> stored_policies() override;
  Result<KeyPage> unsettled(const Scope& after_scope, const Key& after_key,
                            std::size_t rows_max) override;
  Result<std::size_t> doubt_messages() override;
  Result<StoreOverview> overview() override;
  void disconnect() override { sql_->disconnect(); }

 private:
  Result<std::uint64_t> number(const std::string& sql);
  Result<StoreOverview::Counts> by_status(const std::string& table);

  std::unique_ptr<Sql> sql_;
};

}  // namespace pawl::cases
