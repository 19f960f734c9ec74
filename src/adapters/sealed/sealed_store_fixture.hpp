// Nodes on one store that seal, with their data keys beside it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "src/adapters/memory/memory_data_key_store.hpp"
#include "src/adapters/memory/memory_store.hpp"
#include "src/adapters/sealed/sealed_records.hpp"
#include "src/adapters/sealed/sealed_store.hpp"
#include "src/core/sealed.hpp"
#include "testing/builders.hpp"
#include "testing/run.hpp"

namespace pawl::sealed {

using pawl::testing::a_stored_response;
using pawl::testing::an_in_progress_record;
using pawl::testing::in_state;
using pawl::testing::run;
using pawl::testing::some_time;

inline const EncryptionKey first_key{"2025", std::string(32, 'o')};
inline const EncryptionKey other_key{"2026", std::string(32, 'n')};

// As in a process that waits behind others: the data keys may be out of reach while the store is
// not.
class DistantDataKeys final : public DataKeyStore {
 public:
  Task<StoreResult<std::vector<WrappedKey>>> keys_of(Scope scope) override {
    ++reads;
    if (out_of_reach) co_return Unexpected{StoreError::unavailable};
    co_return co_await keys.keys_of(std::move(scope));
  }
  Task<StoreResult<bool>> add(WrappedKey key) override {
    if (out_of_reach) co_return Unexpected{StoreError::unavailable};
    co_return co_await keys.add(std::move(key));
  }
  Task<StoreResult<std::vector<WrappedKey>>> not_under(std::string kek, WrappedKey after,
                                                       std::size_t keys_max) override {
    return keys.not_under(std::move(kek), std::move(after), keys_max);
  }
  Task<StoreResult<Counts>> counts() override { return keys.counts(); }
  Task<StoreResult<bool>> rewrap(WrappedKey was, WrappedKey next) override {
    return keys.rewrap(std::move(was), std::move(next));
  }
  Task<StoreResult<std::size_t>> forget(Scope scope, AuditEntry audit) override {
    return keys.forget(std::move(scope), std::move(audit));
  }
  Task<StoreResult<bool>> seal_message(OutboxRow sealed, std::string digest,
                                       int generation) override {
    return keys.seal_message(std::move(sealed), std::move(digest), generation);
  }
  [[nodiscard]] std::string trouble() const override { return keys.trouble(); }

  bool out_of_reach = false;
  int reads = 0;

 private:
  memory::MemoryDataKeyStore keys;
};

class SealedStoreTest : public ::testing::Test {
 protected:
  // One more node, with those keys. As every node at its start it knows the store's time, and the
  // purge epoch.
  std::unique_ptr<SealedStore> node(std::vector<EncryptionKey> keys) {
    auto store = std::make_unique<SealedStore>(
        inner, std::make_shared<DataKeys>(data_keys, KeyRing{std::move(keys)}));
    EXPECT_TRUE(run(store->time()));
    return store;
  }
  // Reserved and answered, as a paid request is.
  Record paid(Store& store, std::string_view key = "test-key-00000001") {
    const Record held = an_in_progress_record(key);
    EXPECT_TRUE(run(store.insert_or_read_one(held))->mine);
    Record done = in_state(held, Status::completed, some_time());
    EXPECT_TRUE(run(store.replace_one({done, guard_of(held), std::nullopt}))->mine);
    return done;
  }
  // Accepted and waiting for a worker.
  Record accepted(Store& store, std::string_view key = "test-key-00000001") {
    Record waiting = in_state(an_in_progress_record(key), Status::pending, some_time());
    waiting.request = StoredRequest{"/v1/pay?x=1", {{"A", "1"}}, "secret request"};
    EXPECT_TRUE(run(store.insert_or_read_one(waiting))->mine);
    return waiting;
  }
  // The next request with the same key: a reservation of a new owner.
  StoreResult<Written> retry(Store& store, const Record& like) {
    return run(store.insert_or_read_one(an_in_progress_record(like.key.text, "owner-of-retry")));
  }
  [[nodiscard]] Record stored() const { return inner->records().at(0); }
  [[nodiscard]] StoredResponse stored_answer(std::size_t row) const {
    const Record record = inner->records().at(row);
    return std::get<Completed>(record.state).response;
  }
  [[nodiscard]] StoredResponse kept_answer(std::size_t row) const {
    const LateEvidence evidence = inner->evidence().at(row);
    return *evidence.response;
  }
  void forget() {
    const AuditEntry entry{"operator", "scope-forget", "a test"};
    EXPECT_EQ(*run(data_keys->forget(Scope{"tenant-a"}, entry)), 1U);
  }
  // As forgetting a scope does in every store that has both, and every purge.
  void raise_purge_epoch() {
    Record purged = an_in_progress_record("test-key-purged-1");
    purged.scope.text = "tenant-of-nothing";
    EXPECT_TRUE(run(inner->insert_or_read_one(purged))->mine);
    EXPECT_TRUE(inner->purge(purged.scope, purged.key));
  }

  std::shared_ptr<memory::MemoryStore> inner =
      std::make_shared<memory::MemoryStore>([] { return some_time(); });
  std::shared_ptr<DistantDataKeys> data_keys = std::make_shared<DistantDataKeys>();
};

}  // namespace pawl::sealed
