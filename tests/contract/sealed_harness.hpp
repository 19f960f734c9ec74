// Any store under test, with bodies sealed in it: the same contract.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "src/adapters/memory/memory_data_key_store.hpp"
#include "src/adapters/sealed/sealed_records.hpp"
#include "src/adapters/sealed/sealed_store.hpp"
#include "testing/run.hpp"
#include "tests/support/store_harness.hpp"

namespace pawl::testing {

inline KeyRing a_key_ring(std::string id = "2026-11", char byte = 'k') {
  return KeyRing{{{std::move(id), std::string(encryption_key_bytes, byte)}}};
}

class SealedHarness final : public StoreHarness {
 public:
  explicit SealedHarness(std::unique_ptr<StoreHarness> inner) : inner_(std::move(inner)) {}

  // Each has data keys of its own in memory, as every node has.
  std::shared_ptr<Store> connect() override {
    return std::make_shared<sealed::SealedStore>(inner_->connect(), keys());
  }
  std::optional<std::vector<AuditEntry>> audit(const Scope& scope, const Key& key) override {
    return inner_->audit(scope, key);
  }
  std::optional<std::vector<LateEvidence>> evidence(const Scope& scope, const Key& key) override {
    auto kept = inner_->evidence(scope, key);
    if (!kept) return kept;
    const auto data_keys = keys();
    for (LateEvidence& one : *kept) {
      if (!one.response) continue;
      std::string place = sealed::place_of_answer("evidence", one.scope, one.key, one.fence);
      one.response = **run(
          sealed::opened_answer(*data_keys, one.scope, std::move(place), std::move(*one.response)));
    }
    return kept;
  }
  bool purge(const Record& row) override { return inner_->purge(row); }
  bool spoil_records() override { return inner_->spoil_records(); }

 private:
  std::shared_ptr<sealed::DataKeys> keys() {
    return std::make_shared<sealed::DataKeys>(data_keys_, a_key_ring());
  }

  const std::unique_ptr<StoreHarness> inner_;
  const std::shared_ptr<memory::MemoryDataKeyStore> data_keys_ =
      std::make_shared<memory::MemoryDataKeyStore>();
};

inline StoreUnderTest sealed(const std::string& name,
                             std::function<std::unique_ptr<StoreHarness>()> open) {
  return {"Sealed" + name,
          [open = std::move(open)] { return std::make_unique<SealedHarness>(open()); }};
}

}  // namespace pawl::testing
