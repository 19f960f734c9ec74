#include "src/adapters/memory/memory_store.hpp"
#include "tests/contract/sealed_harness.hpp"
#include "tests/contract/store_contract.hpp"

namespace pawl {
namespace {

Instant wall_time() { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); }

class MemoryHarness final : public testing::StoreHarness {
 public:
  std::shared_ptr<Store> connect() override { return store_; }

  std::optional<std::vector<AuditEntry>> audit(const Scope&, const Key& key) override {
    std::vector<AuditEntry> entries;
    for (const auto& [of, entry] : store_->audit()) {
      if (of == key) entries.push_back(entry);
    }
    return entries;
  }

  std::optional<std::vector<LateEvidence>> evidence(const Scope& scope, const Key& key) override {
    std::vector<LateEvidence> kept = store_->evidence();
    std::erase_if(kept,
                  [&](const LateEvidence& one) { return one.scope != scope || one.key != key; });
    return kept;
  }

  bool purge(const Record& row) override { return store_->purge(row.scope, row.key); }

  bool spoil_records() override {
    for (const Record& row : store_->records()) store_->corrupt(row.scope, row.key);
    return true;
  }

 private:
  std::shared_ptr<memory::MemoryStore> store_ = std::make_shared<memory::MemoryStore>(wall_time);
};

std::unique_ptr<testing::StoreHarness> open_memory() { return std::make_unique<MemoryHarness>(); }

INSTANTIATE_TEST_SUITE_P(Memory, StoreContract,
                         ::testing::Values(testing::StoreUnderTest{"Memory", open_memory},
                                           testing::sealed("Memory", open_memory)),
                         store_name);

}  // namespace
}  // namespace pawl
