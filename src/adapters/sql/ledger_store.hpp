// LedgerStore in SQL: one set of statements for every store that speaks it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/adapters/sql/session_thread.hpp"
#include "src/ports/ledger_store.hpp"

namespace pawl::sql {

class SqlLedgerStore final : public LedgerStore {
 public:
  explicit SqlLedgerStore(std::shared_ptr<SessionThread> thread) : port_(std::move(thread)) {}

  Task<StoreResult<LedgerPage>> page(LedgerQuery query) override;
  Task<StoreResult<bool>> take_comparison(std::string source, Duration takes_at_most) override;
  Task<StoreResult<Done>> compared(Comparison comparison, Duration next_in) override;
  Task<StoreResult<std::vector<Comparison>>> comparisons() override;
  [[nodiscard]] std::string trouble() const override { return port_.trouble(); }

 private:
  SessionPort port_;
};

}  // namespace pawl::sql
