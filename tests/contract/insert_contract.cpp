// Insert unless taken, and show what is there.
#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "tests/contract/store_contract.hpp"

namespace pawl {
namespace {

TEST_P(StoreContract, InsertIntoAnEmptyStoreIsMineAndDurableForAllToSee) {
  const Record fresh = held();
  EXPECT_FALSE(client_.find(fresh).has_value());
  const Written written = client_.insert(fresh);
  EXPECT_TRUE(written.mine);
  EXPECT_TRUE(same(written.current, fresh));
  EXPECT_TRUE(same(client_.find(fresh), fresh));
  EXPECT_TRUE(same(connect().find(fresh), fresh));
}

TEST_P(StoreContract, SecondInsertReadsTheFirst) {
  const Record first = held();
  Record second = held(first.key.text, "owner-2");
  second.fingerprint.text = "1.-.something else";
  second.path = "/v1/elsewhere";
  EXPECT_TRUE(client_.insert(first).mine);
  const Written written = connect().insert(second);
  EXPECT_FALSE(written.mine);
  EXPECT_TRUE(same(written.current, first));
  EXPECT_TRUE(same(client_.find(first), first));
}

TEST_P(StoreContract, InsertAskedAgainIsStillMine) {
  const Record fresh = held();
  EXPECT_TRUE(client_.insert(fresh).mine);
  const Written again = client_.insert(fresh);
  EXPECT_TRUE(again.mine);
  EXPECT_TRUE(same(again.current, fresh));
  EXPECT_TRUE(connect().insert(fresh).mine);
}

// An owner outside (the key API) may ask twice at once, each time with a fence of that moment.
TEST_P(StoreContract, OneOwnerTwiceInABatchIsShownTheOneRowThatIsThere) {
  const Record first = held();
  Record second = first;
  second.fence.number += 7;
  second.state = InProgress{now_, now_ + Duration(7)};
  const std::vector<Written> written = client_.insert(std::vector{first, second});
  ASSERT_EQ(written.size(), 2U);
  const Record stored = client_.find(first).value();
  for (const Written& one : written) EXPECT_TRUE(same(one.current, stored));
  EXPECT_NE(written[0].mine, written[1].mine);
}

TEST_P(StoreContract, InsertIsNotMineUnlessFenceOwnerStatusAndLeaseAgree) {
  const Record first = held();
  client_.insert(first);
  Record other_fence = first;
  other_fence.fence.number += 1;
  Record other_owner = first;
  other_owner.owner.text = "owner-2";
  Record other_lease = first;
  other_lease.state = InProgress{now_, now_ + Duration(1)};
  const Record other_status = in_state(first, Status::pending);
  for (const Record& other : {other_fence, other_owner, other_lease, other_status}) {
    const Written written = client_.insert(other);
    EXPECT_FALSE(written.mine);
    EXPECT_TRUE(same(written.current, first));
  }
}

TEST_P(StoreContract, InsertAskedAgainAfterTheRecordWasSettledShowsTheSettledRow) {
  const Record fresh = held();
  client_.insert(fresh);
  const Record done = in_state(fresh, Status::completed);
  EXPECT_TRUE(client_.replace(done, guard_of(fresh)).mine);
  const Written again = client_.insert(fresh);
  EXPECT_FALSE(again.mine);
  EXPECT_TRUE(same(again.current, done));
}

TEST_P(StoreContract, TwoOfOneKeyInABatchOneWinsAndTheOtherIsShownIt) {
  const std::vector<Record> batch{held("contract-key-0001", "owner-1"),
                                  held("contract-key-0002", "owner-2"),
                                  held("contract-key-0001", "owner-3")};
  const std::vector<Written> written = client_.insert(batch);
  ASSERT_EQ(written.size(), 3u);
  EXPECT_TRUE(written[1].mine);
  EXPECT_NE(written[0].mine, written[2].mine);
  const Record& winner = written[0].mine ? batch[0] : batch[2];
  EXPECT_TRUE(same(written[0].current, winner));
  EXPECT_TRUE(same(written[2].current, winner));
  EXPECT_TRUE(same(client_.find(winner), winner));
}

TEST_P(StoreContract, OneRecordTwiceInABatchIsMineBothTimes) {
  const Record fresh = held();
  const std::vector<Written> written = client_.insert({fresh, fresh});
  ASSERT_EQ(written.size(), 2u);
  EXPECT_TRUE(written[0].mine);
  EXPECT_TRUE(written[1].mine);
}

TEST_P(StoreContract, ResultsAreInTheOrderOfTheArguments) {
  const Record taken = held("m-contract-key", "somebody");
  client_.insert(taken);
  const std::vector<Record> batch{held("z-contract-key"), held("a-contract-key"),
                                  held("m-contract-key"), held("q-contract-key"),
                                  held("b-contract-key")};
  const std::vector<Written> written = client_.insert(batch);
  ASSERT_EQ(written.size(), batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const bool was_taken = batch[i].key == taken.key;
    EXPECT_EQ(written[i].mine, !was_taken);
    EXPECT_TRUE(same(written[i].current, was_taken ? taken : batch[i]));
  }
}

TEST_P(StoreContract, EmptyBatchesAreNothing) {
  EXPECT_TRUE(client_.insert(std::vector<Record>{}).empty());
  EXPECT_TRUE(client_.replace(std::vector<Replacement>{}).empty());
  EXPECT_TRUE(client_.erase(std::vector<Erasure>{}).empty());
}

TEST_P(StoreContract, OneKeyInTwoScopesIsTwoRecords) {
  std::vector<Record> batch;
  // The last two would be one if scope and key were simply joined.
  const std::vector<std::pair<std::string, std::string>> names{
      {"tenant-a", "contract-key-0001"}, {"tenant-b", "contract-key-0001"},
      {"Tenant-A", "contract-key-0001"}, {"Z\xc3\xbcrich:\xe2\x82\xac", "contract-key-0001"},
      {"ten", "ant-contract-key"},       {"tenant", "-contract-key"}};
  for (const auto& [scope, key] : names) {
    Record record = held(key, "owner of " + scope);
    record.scope.text = scope;
    batch.push_back(record);
  }
  for (const Written& written : client_.insert(batch)) EXPECT_TRUE(written.mine);
  EXPECT_TRUE(client_.replace(in_state(batch[0], Status::completed), guard_of(batch[0])).mine);
  EXPECT_TRUE(client_.erase(batch[4]));
  for (const std::size_t i : {1u, 2u, 3u, 5u}) EXPECT_TRUE(same(client_.find(batch[i]), batch[i]));
  EXPECT_FALSE(client_.find(batch[4]).has_value());
}

TEST_P(StoreContract, KeysAreComparedByteForByte) {
  std::string every_printable;
  for (char c = ' '; c <= '~'; ++c) every_printable += c;
  const std::vector<std::string> keys{"abcdefgh-ABCDEFGH",
                                      "abcdefgh-abcdefgh",
                                      "ABCDEFGH-ABCDEFGH",
                                      "abcdefgh abcdefgh",
                                      "abcdefgh  abcdefgh",
                                      " abcdefghabcdefgh",
                                      "abcdefghabcdefgh ",
                                      "abcdefghabcdefgh",
                                      "it's; DROP TABLE --",
                                      "say \"please\" twice",
                                      "100%_sure_of_that",
                                      "100%%sure%of%that",
                                      "back\\slash\\\\twice",
                                      "\\N",
                                      "NULL",
                                      "{a,b}",
                                      "{\"a\",NULL}",
                                      "(1,2)",
                                      "$1",
                                      "?1",
                                      ":name",
                                      "'",
                                      "\"",
                                      "\\",
                                      "%",
                                      " ",
                                      "0",
                                      every_printable,
                                      std::string(255, 'k'),
                                      std::string(254, 'k'),
                                      std::string(254, 'k') + "K",
                                      std::string(255, '\\')};
  std::vector<Record> batch;
  for (const std::string& key : keys) batch.push_back(held(key, "owner of " + key));
  const std::vector<Written> written = client_.insert(batch);
  ASSERT_EQ(written.size(), batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    EXPECT_TRUE(written[i].mine) << keys[i];
    EXPECT_TRUE(same(client_.find(batch[i]), batch[i]));
  }
  // And each by itself leads to its own row for the other two writes as well.
  for (const Record& row : batch) {
    const Record done = in_state(row, Status::failed_retryable);
    EXPECT_TRUE(client_.replace(done, guard_of(row)).mine) << row.key.text;
    EXPECT_TRUE(client_.erase(done)) << row.key.text;
  }
}

TEST_P(StoreContract, AThousandRowsUnsortedWithDuplicates) {
  constexpr std::size_t rows = 1000;
  constexpr std::size_t keys = 800;
  std::vector<Record> batch;
  for (std::size_t i = 0; i < rows; ++i) {
    batch.push_back(held("contract-key-" + std::to_string(i % keys), "owner-" + std::to_string(i)));
  }
  std::mt19937 chance(20260101);
  std::ranges::shuffle(batch, chance);
  const std::vector<Written> written = client_.insert(batch);
  ASSERT_EQ(written.size(), rows);
  std::map<std::string, Record> winners;
  for (std::size_t i = 0; i < rows; ++i) {
    if (!written[i].mine) continue;
    EXPECT_TRUE(winners.emplace(batch[i].key.text, batch[i]).second) << batch[i].key.text;
  }
  ASSERT_EQ(winners.size(), keys);
  std::vector<Replacement> settling;
  std::vector<Erasure> erasing;
  for (std::size_t i = 0; i < rows; ++i) {
    const Record& winner = winners.at(batch[i].key.text);
    ASSERT_TRUE(same(written[i].current, winner));
    if (!written[i].mine) continue;
    settling.push_back({in_state(winner, Status::completed), guard_of(winner), {}});
    erasing.push_back({winner.scope, winner.key, guard_of(settling.back().next)});
  }
  const std::vector<Written> settled = client_.replace(settling);
  ASSERT_EQ(settled.size(), keys);
  for (std::size_t i = 0; i < keys; ++i) {
    ASSERT_TRUE(settled[i].mine);
    ASSERT_TRUE(same(settled[i].current, settling[i].next));
  }
  std::ranges::shuffle(erasing, chance);
  EXPECT_EQ(client_.erase(erasing), std::vector<bool>(keys, true));
  EXPECT_FALSE(client_.find(batch.front()).has_value());
}

// PostgreSQL refuses a zero byte and broken UTF-8 in text, another store may refuse something else.
TEST_P(StoreContract, ARowThatTheStoreCannotTakeFailsAlone) {
  const std::vector<Record> before{held("contract-key-0001"), held("contract-key-0002"),
                                   held("contract-key-0003")};
  std::vector<Record> batch = before;
  batch[1].path = std::string("/v1/\0\xff\xfe", 7);
  const auto check = [&](const std::vector<StoreResult<Written>>& results, bool existed) {
    ASSERT_EQ(results.size(), 3u);
    for (const std::size_t i : {0u, 2u}) {
      ASSERT_TRUE(results[i].has_value()) << to_text(results[i].error());
      EXPECT_TRUE(results[i]->mine);
      EXPECT_TRUE(same(client_.find(batch[i]), batch[i]));
    }
    if (results[1]) {
      EXPECT_TRUE(same(client_.find(batch[1]), batch[1]));
    } else {
      EXPECT_NE(results[1].error(), StoreError::in_doubt) << "nothing was written";
      EXPECT_EQ(client_.find(batch[1]).has_value(), existed);
    }
  };
  check(testing::run(client_.store().insert_or_read(batch)), false);

  client_.insert(before[1]);
  const Guard expected = guard_of(before[1]);
  std::vector<Replacement> changes;
  for (Record& record : batch) {
    record = in_state(record, Status::failed_retryable);
    changes.push_back({record, expected, {}});
  }
  check(testing::run(client_.store().replace(changes)), true);
}

TEST_P(StoreContract, StoreTimeLiesBetweenCallAndReturn) {
  constexpr auto pause = std::chrono::milliseconds(20);
  constexpr auto slack = std::chrono::milliseconds(5);  // a wall clock is slewed now and then
  const Record fresh = held();
  std::vector<Instant> times;
  times.push_back(client_.time());
  std::this_thread::sleep_for(pause);
  times.push_back(client_.insert(fresh).store_time);
  std::this_thread::sleep_for(pause);
  times.push_back(client_.insert(fresh).store_time);
  std::this_thread::sleep_for(pause);
  times.push_back(client_.replace(in_state(fresh, Status::unknown), guard_of(fresh)).store_time);
  std::this_thread::sleep_for(pause);
  times.push_back(client_.replace(held("no-such-key-0001"), guard_of(fresh)).store_time);
  std::this_thread::sleep_for(pause);
  times.push_back(connect().time());
  for (std::size_t i = 1; i < times.size(); ++i) {
    EXPECT_GE(times[i] - times[i - 1], pause - slack) << "between call " << i - 1 << " and " << i;
  }
  // A store on another machine may disagree with us, but not by more than what stops all expiry.
  EXPECT_LT(std::chrono::abs(times.front() - now_), std::chrono::minutes(1));
}

}  // namespace
}  // namespace pawl
