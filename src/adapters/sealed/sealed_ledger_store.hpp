// Any store's ledger, with the bodies of answers opened. One that does not open is left out, as one
// that is too large.
#pragma once

#include <memory>

#include "src/adapters/sealed/data_keys.hpp"
#include "src/ports/ledger_store.hpp"

namespace pawl::sealed {

class SealedLedgerStore final : public LedgerStore {
 public:
  SealedLedgerStore(std::unique_ptr<LedgerStore> store, std::shared_ptr<DataKeys> keys)
      : store_(std::move(store)), keys_(std::move(keys)) {}

  Task<StoreResult<LedgerPage>> page(LedgerQuery query) override;
  Task<StoreResult<bool>> take_comparison(std::string source, Duration takes_at_most) override {
    return store_->take_comparison(std::move(source), takes_at_most);
  }
  Task<StoreResult<Done>> compared(Comparison comparison, Duration next_in) override {
    return store_->compared(std::move(comparison), next_in);
  }
  Task<StoreResult<std::vector<Comparison>>> comparisons() override {
    return store_->comparisons();
  }
  [[nodiscard]] std::string trouble() const override { return store_->trouble(); }

 private:
  const std::unique_ptr<LedgerStore> store_;
  const std::shared_ptr<DataKeys> keys_;
};

}  // namespace pawl::sealed
