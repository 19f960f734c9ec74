#include "src/workers/maintenance.hpp"

#include <gtest/gtest.h>

#include "src/workers/world_for_tests.hpp"

namespace pawl::workers {
namespace {

using namespace std::chrono_literals;

class LastCounts final : public MaintenanceMetrics {
 public:
  void unknown_records(double count, double oldest_seconds) override {
    unknown = count;
    oldest = oldest_seconds;
  }
  void unreadable_records(double count) override { unreadable = count; }
  void waiting_records(double count) override { waiting = count; }

  double unknown = -1;
  double oldest = -1;
  double unreadable = -1;
  double waiting = -1;
};

// A store that was restored, or not, and has so many batches to forget.
class ScriptedUpkeep final : public Upkeep {
 public:
  Task<StoreResult<std::size_t>> reap(TrailBefore) override {
    ++reaped;
    co_return batches-- > 0 ? 10U : 0U;
  }
  Task<StoreResult<std::optional<std::string>>> fact(std::string) override { co_return told; }
  Task<StoreResult<Done>> declare(std::string, std::string, AuditEntry) override {
    co_return Done{};
  }
  Task<StoreResult<PolicyPage>> stored_policies(Scope, Key, std::size_t) override {
    co_return PolicyPage{};
  }
  Task<StoreResult<KeyPage>> unsettled(Scope, Key, std::size_t) override { co_return KeyPage{}; }
  Task<StoreResult<std::size_t>> doubt_messages() override { co_return 0U; }
  Task<StoreResult<StoreOverview>> overview() override { co_return StoreOverview{}; }
  Task<StoreResult<bool>> replace_fact(std::string, std::optional<std::string>,
                                       std::string) override {
    co_return true;
  }
  Task<StoreResult<KeyCount>> count_keys(std::int64_t) override { co_return KeyCount{}; }
  Task<StoreResult<std::vector<KeyTarget>>> targets_after(Scope, Key, std::size_t) override {
    co_return std::vector<KeyTarget>();
  }
  [[nodiscard]] std::string trouble() const override { return "it is away"; }

  StoreResult<std::optional<std::string>> told = std::optional<std::string>();
  int batches = 0;
  int reaped = 0;
};

class MaintenanceTest : public ::testing::Test, protected World {
 protected:
  Engine engine{store, clock, entropy, counters};
  Boundary boundary{state, {engine, store, clock, entropy, sleepers, metrics, log}};
  LastCounts counts;
  ScriptedUpkeep upkeep;
  std::atomic<bool> stop = false;
  Maintenance maintenance{{engine, boundary, store, clock, counts, log, &upkeep}, {}};
};

TEST_F(MaintenanceTest, WhatAnOwnerThatIsGoneHasLeftIsSweptAndCounted) {
  store.put_back({testing::an_in_progress_record("test-key-00000001", "gone", clock.wall())});
  clock.advance(1h);
  run(maintenance.look_after());
  run(maintenance.sweep(stop));
  EXPECT_EQ(status_of(store.records().front()), Status::unknown);
  clock.advance(1min);
  run(maintenance.count_unknown());
  EXPECT_EQ(counts.unknown, 1);
  EXPECT_GE(counts.oldest, 60);
}

TEST_F(MaintenanceTest, RecordsPastTheirRetentionGo) {
  Record record = testing::an_in_progress_record("test-key-00000001", "done", clock.wall());
  store.put_back({testing::in_state(record, Status::completed, clock.wall())});
  clock.advance(std::chrono::days(400));
  run(maintenance.reap(stop));
  clock.advance(std::chrono::days(400));
  run(maintenance.reap(stop));
  EXPECT_TRUE(store.records().empty());
}

TEST_F(MaintenanceTest, UnreadableRowsAreToldOnceAndAgainWhenThereAreMore) {
  const Record record = testing::an_in_progress_record("test-key-00000001", "a", clock.wall());
  store.put_back({record});
  store.corrupt(record.scope, record.key);
  maintenance.count_unreadable();
  maintenance.count_unreadable();
  EXPECT_EQ(counts.unreadable, 1);
  EXPECT_EQ(log.lines.size(), 1U);
}

TEST_F(MaintenanceTest, ForgetsATrailBatchByBatchUpToItsLimit) {
  ASSERT_TRUE(run(engine.sync_time()));
  upkeep.batches = 3;
  run(maintenance.tidy(stop));
  EXPECT_EQ(upkeep.reaped, 4);
  upkeep.batches = 100;
  run(maintenance.tidy(stop));
  EXPECT_EQ(upkeep.reaped, 24);
}

TEST_F(MaintenanceTest, WhatIsOnRecordOfARestoredBackupIsObeyed) {
  ASSERT_TRUE(run(engine.sync_time()));
  const Instant now = clock.wall();
  const Key key{"test-key-00000001"};
  EXPECT_FALSE(engine.is_forgotten(key, now));
  const StoredRestoration restored{now - 1h, now, now + 24h, true, false};
  upkeep.told = std::optional<std::string>(to_json(restored));
  run(maintenance.tidy(stop));
  EXPECT_TRUE(engine.is_forgotten(key, now));
}

TEST_F(MaintenanceTest, NothingIsForgottenWhereTheStoreCannotSayWhetherItWasRestored) {
  ASSERT_TRUE(run(engine.sync_time()));
  upkeep.told = Unexpected{StoreError::unavailable};
  upkeep.batches = 3;
  run(maintenance.tidy(stop));
  EXPECT_EQ(upkeep.reaped, 0);
  EXPECT_TRUE(log.has("store maintenance: it is away"));
}

}  // namespace
}  // namespace pawl::workers
