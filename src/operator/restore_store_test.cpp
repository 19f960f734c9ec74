#include "src/operator/restore_store.hpp"

#include <gmock/gmock.h>

#include "src/config/scope_rule.hpp"
#include "src/operator/ports_for_tests.hpp"
#include "testing/fault_store.hpp"

namespace pawl {
namespace {

using std::chrono::hours;
using ::testing::HasSubstr;
using testing::OperatorWorld;
using ::testing::StartsWith;

RestoreOrder an_order() {
  RestoreOrder order;
  order.since = "3h";
  order.refused_for = "72h";
  order.by = testing::an_operator();
  return order;
}

OrRefusal<RestorePlan> plan(OperatorWorld& world, const RestoreOrder& order) {
  return testing::run(plan_restore(world.store, world.upkeep, order));
}

OrRefusal<RestoredStore> restore(OperatorWorld& world, Store& store) {
  const OrRefusal<RestorePlan> planned = plan(world, an_order());
  PAWL_CHECK(planned.has_value());
  return testing::run(restore_store(store, world.upkeep, *planned));
}

// One of each state, and more pages than one.
void fill(OperatorWorld& world) {
  world.put(Status::pending, "test-key-00000001");
  world.put(Status::in_progress, "test-key-00000002");
  world.put(Status::completed, "test-key-00000003");
  world.put(Status::failed_retryable, "test-key-00000004");
  world.put(Status::expired, "test-key-00000005");
  world.put(Status::unknown, "test-key-00000006");
}

TEST(RestoreStore, WhatWasNotFinishedIsUnknownAndWhatWasStays) {
  OperatorWorld world;
  fill(world);
  world.upkeep.messages = {3, 2};
  const OrRefusal<RestoredStore> done = restore(world, world.store);
  ASSERT_TRUE(done) << done.error().sentence;
  std::map<Status, int> states;
  for (const Record& record : world.store.records()) ++states[status_of(record)];
  EXPECT_EQ(states[Status::completed], 1);
  EXPECT_EQ(states[Status::expired], 1);
  EXPECT_EQ(states[Status::unknown], 4);
  EXPECT_EQ(done->keys, world.store.audit().size());
  EXPECT_GE(done->keys, 3U);
  EXPECT_EQ(done->messages, 5U);
  EXPECT_THAT(restored_text(*done), HasSubstr("5 messages of the outbox may have been sent"));
}

TEST(RestoreStore, ItIsDeclaredFirstAndFinishedLast) {
  OperatorWorld world;
  fill(world);
  ASSERT_TRUE(restore(world, world.store));
  ASSERT_EQ(world.upkeep.declared.size(), 2U);
  const auto first = restoration_from(world.upkeep.declared.front());
  const auto last = restoration_from(world.upkeep.declared.back());
  ASSERT_TRUE(first && last);
  EXPECT_FALSE(first->finished);
  EXPECT_TRUE(last->finished);
  EXPECT_EQ(last->since, world.clock.wall() - hours(3));
  EXPECT_EQ(last->until, world.clock.wall() + hours(72));
  EXPECT_EQ(world.upkeep.audit.front().action, "store-restored");
}

TEST(RestoreStore, WhereverItFailsNoNodeStartsUntilItWasRepeated) {
  const std::vector<std::pair<std::string, std::string>> failures{
      {"unsettled", "not all keys were gone through; repeat this command"},
      {"doubt_messages", "not all of the outbox was gone through; repeat this command"}};
  for (const auto& [method, sentence] : failures) {
    OperatorWorld world;
    fill(world);
    world.upkeep.failing = {method};
    const OrRefusal<RestoredStore> stopped = restore(world, world.store);
    ASSERT_FALSE(stopped) << method;
    EXPECT_THAT(stopped.error().sentence, StartsWith(sentence));
    EXPECT_FALSE(testing::run(restoration_to_obey(world.upkeep))) << method;
    world.upkeep.failing.clear();
    ASSERT_TRUE(restore(world, world.store));
    EXPECT_TRUE(testing::run(restoration_to_obey(world.upkeep))) << method;
  }
}

TEST(RestoreStore, EveryCallOfTheStoreMayFail) {
  for (int call = 0;; ++call) {
    OperatorWorld world;
    fill(world);
    testing::FaultStore store(world.store, {call, 1, testing::Fault::unavailable});
    const OrRefusal<RestoredStore> done = restore(world, store);
    if (store.calls() <= call) {
      EXPECT_TRUE(done);
      EXPECT_GT(call, 5);
      break;
    }
    ASSERT_FALSE(done) << call;
    EXPECT_FALSE(testing::run(restoration_to_obey(world.upkeep))) << call;
    ASSERT_TRUE(restore(world, world.store)) << call;
  }
}

TEST(RestoreStore, ANodeThatStillWritesIsNoticed) {
  OperatorWorld world;
  const Record record = world.put(Status::in_progress);
  testing::FaultStore store(world.store, {100, 1, testing::Fault::unavailable});
  store.before_replace([&] {
    const Record next = testing::in_state(record, Status::completed, world.clock.wall());
    PAWL_CHECK(testing::run(world.store.replace_one({next, guard_of(record), std::nullopt}))->mine);
  });
  const OrRefusal<RestoredStore> done = restore(world, store);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().sentence, HasSubstr("stop every node and service"));
  EXPECT_EQ(status_of(*world.find(record)), Status::completed);
}

TEST(RestorePlan, RefusesForTheLongestThatAKeyMayLive) {
  OperatorWorld world;
  RestoreOrder order = an_order();
  order.refused_for = "";
  const OrRefusal<RestorePlan> unknown = plan(world, order);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, Refusal::Kind::malformed);
  EXPECT_THAT(unknown.error().sentence, StartsWith("nothing says how long keys"));
  order.configured_retention = hours(1);
  EXPECT_EQ(plan(world, order)->restoration.until, world.clock.wall() + hours(48)) << "at least";
  config::Config config;
  config.policy.retention = hours(500);
  world.upkeep.facts[config::scope_rule_fact] = config::scope_rule(config);
  EXPECT_EQ(plan(world, order)->restoration.until, world.clock.wall() + hours(500));
  EXPECT_EQ(plan(world, order)->warning, "");
  order.refused_for = "72h";
  EXPECT_THAT(plan(world, order)->warning, StartsWith("--for 72h is shorter than keys may live ("));
}

TEST(RestorePlan, AnEarlierRestorationIsOnlyWidened) {
  OperatorWorld world;
  const Instant now = world.clock.wall();
  const StoredRestoration before{now - hours(90), now - hours(5), now + hours(900), true, false};
  world.upkeep.facts[restoration_fact] = to_json(before);
  const OrRefusal<RestorePlan> planned = plan(world, an_order());
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->restoration.since, before.since);
  EXPECT_EQ(planned->restoration.until, before.until);
  EXPECT_TRUE(world.upkeep.declared.empty()) << "a plan writes nothing";
}

TEST(RestorePlan, SinceIsATimeThatIsPast) {
  OperatorWorld world;
  const Instant now = world.clock.wall();
  EXPECT_EQ(parse_since("3h", now), now - hours(3));
  EXPECT_EQ(parse_since("1970-01-02T01:00:00Z", now), Instant(hours(25)));
  for (const char* bad : {"", "yesterday", "2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z",
                          "2026-01-01T00:00:00", "2026-01-01T00:00:00Z "}) {
    EXPECT_FALSE(parse_since(bad, now)) << bad;
  }
  RestoreOrder order = an_order();
  order.since = "2099-01-01T00:00:00Z";
  EXPECT_THAT(plan(world, order).error().sentence, StartsWith("--since must be"));
  order = an_order();
  order.refused_for = "soon";
  EXPECT_EQ(check_restore(order)->sentence, "--for must be like 48h or 7d");
  order.refused_for = "0s";
  EXPECT_EQ(check_restore(order)->sentence, "--for must be like 48h or 7d");
}

}  // namespace
}  // namespace pawl
