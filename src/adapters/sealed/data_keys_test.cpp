#include "src/adapters/sealed/data_keys.hpp"

#include <gtest/gtest.h>

#include "src/adapters/memory/memory_data_key_store.hpp"
#include "src/adapters/sealed/rewrap.hpp"
#include "testing/run.hpp"

namespace pawl::sealed {
namespace {

using pawl::testing::run;

const EncryptionKey old_key{"2025", std::string(32, 'o')};
const EncryptionKey new_key{"2026", std::string(32, 'n')};

class DataKeysTest : public ::testing::Test {
 protected:
  // One more node, with those keys.
  std::unique_ptr<DataKeys> node(std::vector<EncryptionKey> keys) {
    return std::make_unique<DataKeys>(store, KeyRing{std::move(keys)});
  }
  SharedKey sealing(DataKeys& keys, const std::string& scope = "caller:a") {
    return run(keys.to_seal(Scope{scope}))->key;
  }
  void forget(const std::string& scope) {
    const AuditEntry entry{"operator", "scope-forget", "a test"};
    EXPECT_EQ(*run(store->forget(Scope{scope}, entry)), 1U);
  }

  std::shared_ptr<memory::MemoryDataKeyStore> store =
      std::make_shared<memory::MemoryDataKeyStore>();
};

TEST_F(DataKeysTest, AScopeHasOneKeyOnAllNodesAndAnotherScopeAnother) {
  const auto here = node({old_key});
  const auto there = node({old_key});
  const SharedKey key = sealing(*here);
  EXPECT_EQ(key->generation, 1);
  EXPECT_EQ(sealing(*there)->bytes, key->bytes);
  EXPECT_NE(sealing(*there, "caller:b")->bytes, key->bytes);
  EXPECT_EQ((*run(there->to_open(Scope{"caller:a"}, 1)))->bytes, key->bytes);
  EXPECT_EQ(here->at_hand(Scope{"caller:c"}), nullptr);
}

TEST_F(DataKeysTest, ANewerKeyWrapsAndTheOlderStillOpens) {
  const SharedKey key = sealing(*node({old_key}));
  const auto rotated = node({new_key, old_key});
  EXPECT_EQ(sealing(*rotated)->bytes, key->bytes);
  sealing(*rotated, "caller:b");
  const DataKeyStore::Counts counts{{"2025", 1}, {"2026", 1}};
  EXPECT_EQ(*run(store->counts()), counts);
}

TEST_F(DataKeysTest, WithoutItsKeyAScopeNeitherSealsNorOpensAndNoOtherIsMade) {
  sealing(*node({old_key}));
  const auto lost = node({new_key});
  EXPECT_EQ(run(lost->to_seal(Scope{"caller:a"})).error(), StoreError::unreadable);
  EXPECT_EQ(run(lost->to_open(Scope{"caller:a"}, 1)).error(), StoreError::unreadable);
  EXPECT_EQ(run(store->keys_of(Scope{"caller:a"}))->size(), 1U);
  EXPECT_NE(sealing(*lost, "caller:b"), nullptr) << "the others go on";
  const auto wrong = node({{"2025", std::string(32, 'x')}});
  EXPECT_EQ(run(wrong->to_seal(Scope{"caller:a"})).error(), StoreError::unreadable);
  const auto none = node({});
  EXPECT_EQ(run(none->to_open(Scope{"caller:a"}, 1)).error(), StoreError::unreadable);
  EXPECT_FALSE(none->on());
}

TEST_F(DataKeysTest, AForgottenScopeSealsWithANewKeyAndTheOldOneIsGone) {
  const auto here = node({old_key});
  here->hear(0);
  const SharedKey before = sealing(*here);
  forget("caller:a");
  EXPECT_NE(here->at_hand(Scope{"caller:a"}), nullptr) << "not told yet";
  here->hear(1);
  EXPECT_EQ(here->at_hand(Scope{"caller:a"}), nullptr);
  EXPECT_EQ(*run(here->to_open(Scope{"caller:a"}, 1)), nullptr);
  const SharedKey after = sealing(*here);
  EXPECT_EQ(after->generation, 2);
  EXPECT_NE(after->bytes, before->bytes);
  EXPECT_EQ(*run(here->to_open(Scope{"caller:a"}, 1)), nullptr);
}

TEST_F(DataKeysTest, RewrappingMakesTheOldKeySuperfluousAndCanBeRepeated) {
  const auto before = node({old_key});
  const SharedKey key = sealing(*before);
  sealing(*before, "caller:b");
  std::size_t seen = 0;
  const auto progress = [&](std::size_t done) { seen = done; };
  const KeyRing ring{{new_key, old_key}};
  const Rewrapped done = *run(rewrap_all(*store, ring, progress));
  EXPECT_EQ(done.rewrapped, 2U);
  EXPECT_EQ(done.left, 0U);
  EXPECT_EQ(seen, 2U);
  EXPECT_EQ(run(rewrap_all(*store, ring, progress))->rewrapped, 0U);
  EXPECT_EQ(sealing(*node({new_key}))->bytes, key->bytes);
  EXPECT_EQ(run(node({old_key})->to_seal(Scope{"caller:a"})).error(), StoreError::unreadable);
}

TEST_F(DataKeysTest, RewrappingLeavesWhatItCannotOpenAndWhatWasForgotten) {
  sealing(*node({old_key}), "caller:forgotten");
  forget("caller:forgotten");
  sealing(*node({{"lost", std::string(32, 'l')}}), "caller:a");
  const SharedKey key = sealing(*node({old_key}), "caller:b");
  const Rewrapped done = *run(rewrap_all(*store, KeyRing{{new_key, old_key}}, [](std::size_t) {}));
  EXPECT_EQ(done.rewrapped, 1U);
  EXPECT_EQ(done.left, 1U);
  EXPECT_EQ(done.others, std::set<std::string>{"lost"});
  EXPECT_EQ(sealing(*node({new_key}), "caller:b")->bytes, key->bytes);
  EXPECT_EQ(run(store->keys_of(Scope{"caller:forgotten"}))->front().wrapped, "");
}

}  // namespace
}  // namespace pawl::sealed
