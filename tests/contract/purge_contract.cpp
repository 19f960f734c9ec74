// What a purge by hand means to nodes that run: every batch brings its epoch back.
#include "tests/contract/store_contract.hpp"

namespace pawl {
namespace {

TEST_P(StoreContract, APurgeRaisesTheEpochThatEveryAnswerBringsBack) {
  const Record row = in_state(held(), Status::completed);
  const std::int64_t before = client_.insert(row).purge_epoch;
  Client other = connect();
  EXPECT_EQ(good(testing::run(other.store().time())).purge_epoch, before);
  EXPECT_EQ(other.insert(held("another-key-0001")).purge_epoch, before) << "nothing was purged";
  if (!harness_->purge(row)) GTEST_SKIP() << "nothing can be purged here";

  EXPECT_GT(good(testing::run(client_.store().time())).purge_epoch, before);
  const Written inserted = other.insert(held("another-key-0002"));
  EXPECT_GT(inserted.purge_epoch, before);
  const Written shown = client_.insert(held("another-key-0002", "owner-2"));
  EXPECT_FALSE(shown.mine);
  EXPECT_EQ(shown.purge_epoch, inserted.purge_epoch);
  const Written missing = client_.replace(row, guard_of(row));
  EXPECT_EQ(missing.current, nullptr);
  EXPECT_EQ(missing.purge_epoch, inserted.purge_epoch);

  if (!harness_->purge(*inserted.current)) FAIL();
  EXPECT_GT(good(testing::run(other.store().time())).purge_epoch, inserted.purge_epoch);
}

TEST_P(StoreContract, ErasingByTheReaperIsNoPurge) {
  const Record row = in_state(held(), Status::completed);
  const std::int64_t before = client_.insert(row).purge_epoch;
  EXPECT_TRUE(client_.erase(row));
  EXPECT_EQ(good(testing::run(client_.store().time())).purge_epoch, before);
}

TEST_P(StoreContract, ACompletionThatLetsGoOfTheRequestIsWritten) {
  Record row = held();
  row.request = StoredRequest{"/v1/payments?a=1", {{"Host", "api"}}, std::string(10'000, 'x')};
  client_.insert(row);
  Record done = in_state(row, Status::completed);
  done.request.reset();
  EXPECT_TRUE(client_.replace(done, guard_of(row)).mine);
  EXPECT_TRUE(same(connect().find(row), done));
}

}  // namespace
}  // namespace pawl
