#include "src/gateway/replay_cache.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "testing/builders.hpp"

namespace pawl::gateway {
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

}  // namespace
}  // namespace pawl::gateway
