#include "src/boundary/replay_cache.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "testing/builders.hpp"

namespace pawl {
namespace {

Record answered(const std::string& key = "0123456789abcdef") {
  const Record held = testing::an_in_progress_record(key);
  return testing::in_state(held, Status::completed, held.created_at);
}

bool has(ReplayCache& cache, const Record& record) {
  return cache.find(record.scope, record.key) != nullptr;
}

TEST(ReplayCache, ANewPurgeEpochEmptiesIt) {
  ReplayCache cache(1 << 20);
  cache.hear(1);
  cache.keep(answered(), "id", cache.epoch());
  EXPECT_TRUE(has(cache, answered()));
  cache.hear(1);
  EXPECT_TRUE(has(cache, answered()));
  cache.hear(2);
  EXPECT_FALSE(has(cache, answered()));
  EXPECT_EQ(cache.bytes(), 0U);
}

TEST(ReplayCache, WhatWasReadBeforeAPurgeIsNotKeptAfterIt) {
  ReplayCache cache(1 << 20);
  cache.hear(1);
  const std::int64_t before = cache.epoch();
  cache.hear(2);
  cache.keep(answered(), "id", before);
  EXPECT_FALSE(has(cache, answered()));
  cache.keep(answered(), "id", cache.epoch());
  EXPECT_TRUE(has(cache, answered()));
}

TEST(ReplayCache, AnOlderEpochThatArrivesLateChangesNothing) {
  ReplayCache cache(1 << 20);
  cache.hear(2);
  cache.keep(answered(), "id", cache.epoch());
  cache.hear(1);
  EXPECT_EQ(cache.epoch(), 2);
  EXPECT_TRUE(has(cache, answered()));
}

TEST(ReplayCache, OnSeveralThreadsNothingOfAnOldEpochIsLeft) {
  ReplayCache cache(1 << 24);
  constexpr int rounds = 200;
  for (int round = 1; round <= rounds; ++round) {
    cache.hear(2 * round);
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread, epoch = cache.epoch()] {
        for (int i = 0; i < 50; ++i) {
          cache.keep(answered("key-" + std::to_string(thread) + "-" + std::to_string(i)), "id",
                     epoch);
        }
      });
    }
    cache.hear(2 * round + 1);
    threads.clear();
    ASSERT_EQ(cache.bytes(), 0U);
  }
}

TEST(ReplayCache, AnAnswerThatIsBroughtAgainIsKeptOnce) {
  ReplayCache cache(1 << 20);
  const std::shared_ptr<const Cached> first = cache.keep(answered(), "id", cache.epoch());
  ASSERT_TRUE(first);
  EXPECT_EQ(cache.keep(answered(), "id", cache.epoch()), first);
  EXPECT_EQ(cache.find(answered().scope, answered().key), first);
  EXPECT_NE(cache.keep(answered(), "of another execution", cache.epoch()), first);
  const std::size_t bytes = cache.bytes();
  EXPECT_NE(cache.keep(answered(), "id", cache.epoch()), nullptr);
  EXPECT_EQ(cache.bytes(), bytes - std::string("of another execution").size() + 2);
}

TEST(ReplayCache, WithoutRoomForItNothingIsKept) {
  ReplayCache none(0);
  EXPECT_EQ(none.keep(answered(), "id", none.epoch()), nullptr);
  ReplayCache small(1600);  // a sixteenth of it is for this key
  EXPECT_EQ(small.keep(answered(), "id", small.epoch()), nullptr);
}

TEST(ReplayCache, WhatIsWrittenOutIsChargedOnceForAll) {
  ReplayCache cache(1 << 20);
  const std::shared_ptr<const Cached> kept = cache.keep(answered(), "id", cache.epoch());
  const std::size_t bytes = kept->body.size();
  MemoryBudget budget(bytes);
  std::shared_ptr<const Charge> first = kept->lend(budget);
  std::shared_ptr<const Charge> second = kept->lend(budget);
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
  EXPECT_EQ(budget.used(), bytes);
  first.reset();
  EXPECT_EQ(budget.used(), bytes);
  second.reset();
  EXPECT_EQ(budget.used(), 0U);
  MemoryBudget small(bytes - 1);
  EXPECT_FALSE(kept->lend(small));
  EXPECT_EQ(small.used(), 0U);
}

}  // namespace
}  // namespace pawl
