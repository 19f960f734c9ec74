// Erase, and what outlives a record.
#include "tests/contract/store_contract.hpp"

namespace pawl {
namespace {

TEST_P(StoreContract, EraseOnlyWhereTheGuardHolds) {
  const Record row = held();
  client_.insert(row);
  const Guard right = guard_of(row);
  Guard other_fence = right;
  other_fence.fence.number += 1;
  const Guard other_status{right.fence, Status::completed, {}};
  Guard other_lease = right;
  other_lease.locked_until = *right.locked_until + Duration(1);
  Guard no_lease = right;
  no_lease.locked_until.reset();
  for (const Guard& wrong : {other_fence, other_status, other_lease, no_lease}) {
    EXPECT_FALSE(client_.erase(row, wrong));
    EXPECT_TRUE(same(client_.find(row), row));
  }
  EXPECT_TRUE(client_.erase(row));
  EXPECT_FALSE(connect().find(row).has_value());
  EXPECT_FALSE(client_.erase(row)) << "it is gone already";
}

TEST_P(StoreContract, EveryStateCanBeErased) {
  for (const Status status : every_status) {
    const Record row = in_state(held(), status);
    client_.insert(row);
    EXPECT_TRUE(client_.erase(row)) << to_text(status);
    EXPECT_FALSE(client_.find(row).has_value()) << to_text(status);
  }
}

TEST_P(StoreContract, ABatchOfErasuresAnswersEachInItsPlace) {
  const Record stale = held("z-contract-key");
  const Record fine = held("m-contract-key");
  const Record missing = held("a-contract-key");
  const Record also_fine = in_state(held("b-contract-key"), Status::completed);
  const Record neighbour = held("c-contract-key");
  client_.insert({stale, fine, also_fine, neighbour});
  Guard wrong = guard_of(stale);
  wrong.fence.number -= 1;
  const std::vector<bool> erased =
      client_.erase({{stale.scope, stale.key, wrong},
                     {fine.scope, fine.key, guard_of(fine)},
                     {missing.scope, missing.key, guard_of(missing)},
                     {also_fine.scope, also_fine.key, guard_of(also_fine)}});
  EXPECT_EQ(erased, (std::vector<bool>{false, true, false, true}));
  EXPECT_TRUE(same(client_.find(stale), stale));
  EXPECT_TRUE(same(client_.find(neighbour), neighbour));
}

TEST_P(StoreContract, AnErasedKeyStartsANewLife) {
  const Record first = in_state(held(), Status::completed);
  client_.insert(first);
  EXPECT_TRUE(client_.erase(first));
  Record second = held(first.key.text, "owner-2");
  second.fence.number += 1000;
  const Written written = client_.insert(second);
  EXPECT_TRUE(written.mine);
  EXPECT_TRUE(same(written.current, second));
  // What is left of the old life finds nothing to do.
  EXPECT_FALSE(client_.erase(first));
  EXPECT_FALSE(client_.replace(first, guard_of(first)).mine);
  EXPECT_TRUE(same(client_.find(second), second));
}

TEST_P(StoreContract, LateEvidenceIsKeptOnceAndOutlivesTheRecord) {
  const Record row = held();
  LateEvidence late{.scope = row.scope,
                    .key = row.key,
                    .fence = row.fence,
                    .owner = row.owner,
                    .fingerprint = row.fingerprint,
                    .attempt = 2,
                    .evidence = Evidence::answered,
                    .response = testing::a_stored_response(std::string("\0\xff\n", 3)),
                    .detail = "fence moved on to \"owner-2\""};
  LateEvidence silent = late;
  silent.evidence = Evidence::sent;
  silent.attempt = 3;
  silent.fence.number += 1;
  silent.owner.text = "owner-2";
  silent.response.reset();
  client_.insert(row);
  for (int time = 0; time < 2; ++time) client_.keep_evidence(late);
  connect().keep_evidence(late);
  EXPECT_TRUE(same(client_.find(row), row)) << "evidence changes no record";
  EXPECT_TRUE(client_.erase(row));
  client_.keep_evidence(late);
  client_.keep_evidence(silent);
  const auto kept = harness_->evidence(row.scope, row.key);
  if (!kept) GTEST_SKIP() << "this harness cannot show evidence";
  ASSERT_EQ(kept->size(), 2u);
  EXPECT_TRUE(kept->at(0) == late);
  EXPECT_TRUE(kept->at(1) == silent);
}

}  // namespace
}  // namespace pawl
