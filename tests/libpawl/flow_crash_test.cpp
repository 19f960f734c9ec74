// kill -9 at every point of a flow, on both stores; then a retry, or the completer. The provider's
// file has one line, the domain one payment and one entry, and the client one answer.
#include "tests/libpawl/flow_fixture.hpp"

namespace pawl::testing {
namespace {

// For owners that sleep past their lease; those that are killed have theirs ended for them.
const std::string short_lease = "lease=1000";

std::string key_for(const std::string& point, const std::string& what) {
  std::string key = what + "-" + point;
  std::replace(key.begin(), key.end(), ':', '-');
  return key + "-0000000000";
}

class FlowCrash : public FlowTest {
 protected:
  // Pays and is killed there; then its lease is over.
  void die_at(const std::string& point, const std::string& key, const Options& more = {}) {
    Options options = more;
    options.push_back("kill=" + point);
    const Told told = pay(key, options);
    ASSERT_EQ(told.exit_code, 128 + 9) << point << "\n" << told.out << told.err;
    end_leases();
  }
};

TEST_P(FlowCrash, EveryStoreWriteAndEveryCallHasAPointOnEachSide) {
  const std::vector<std::string> expected{
      "reserve:before",         "reserve:after",         "create:begin",
      "create:wrote",           "create:before-commit",  "create:after-commit",
      "charge:before-mark",     "charge:after-mark",     "charge:before-send",
      "provider:before-charge", "provider:after-charge", "charge:after-send",
      "charge:begin",           "charge:before-commit",  "charge:after-commit",
      "finish:begin",           "finish:before-commit",  "finish:after-commit"};
  EXPECT_EQ(points(), expected);
}

TEST_P(FlowCrash, ARetryFinishesWhatWasKilledAnywhere) {
  for (const std::string& point : points()) {
    const std::string key = key_for(point, "retry");
    die_at(point, key);
    const Told first = retry(key);
    EXPECT_EQ(first.status, 201) << point << "\n" << first.out << first.err;
    const Told second = pay(key);
    EXPECT_EQ(second.status, 201) << point;
    EXPECT_TRUE(second.replayed) << point;
    EXPECT_EQ(second.body, first.body) << point;
    expect_one_effect(key);
  }
}

TEST_P(FlowCrash, TheCompleterFinishesWhatWasKilledAnywhere) {
  for (const std::string& point : points()) {
    if (point == "reserve:before") continue;  // nothing is on record yet
    const std::string key = key_for(point, "complete");
    die_at(point, key);
    complete();
    const Told after = pay(key);
    EXPECT_EQ(after.status, 201) << point << "\n" << after.out << after.err;
    EXPECT_TRUE(after.replayed) << point;
    expect_one_effect(key);
  }
}

TEST_P(FlowCrash, KilledAgainAndAgainItStillHappensOnce) {
  const std::string key = "killed-at-every-point-0001";
  for (const std::string& point : points()) {
    if (point == "reserve:before") continue;
    // One by one they lie behind it, and it is answered in the end.
    const Told told = pay(key, {"kill=" + point});
    EXPECT_TRUE(told.exit_code == 128 + 9 || told.status == 201) << point << told.out << told.err;
    end_leases();
  }
  EXPECT_EQ(retry(key).status, 201);
  expect_one_effect(key);
}

// What may have been sent to somebody who does not dedupe is never sent again.
TEST_P(FlowCrash, WithoutDedupingItIsUnknownAndNeverSentAgain) {
  for (const std::string& point : points()) {
    const std::string key = key_for(point, "strict");
    const bool marked = point == "charge:after-mark" || point == "charge:before-send" ||
                        point.starts_with("provider:") || point == "charge:after-send" ||
                        point == "charge:begin" || point == "charge:before-commit";
    die_at(point, key, {"dedupes=no"});
    const Told told = retry(key, {"dedupes=no"});
    if (!marked) {
      EXPECT_EQ(told.status, 201) << point << told.out << told.err;
      expect_one_effect(key);
      continue;
    }
    EXPECT_EQ(told.status, 504) << point << told.out;
    EXPECT_EQ(status_of(key), "unknown") << point;
    const std::size_t before = charges(key);
    EXPECT_LE(before, 1U);
    EXPECT_EQ(pay(key, {"dedupes=no"}).status, 409) << point;
    EXPECT_EQ(charges(key), before) << point;
  }
}

TEST_P(FlowCrash, PastTheDedupeWindowItIsUnknownToo) {
  const std::string key = "past-the-window-000001";
  die_at("charge:after-send", key);
  EXPECT_EQ(retry(key, {"window=100"}).status, 504);
  EXPECT_EQ(status_of(key), "unknown");
  EXPECT_EQ(charges(key), 1U);
}

TEST_P(FlowCrash, WhatWasSentIsLookedUpWhereThatIsPossible) {
  const std::string charged = "looked-up-charged-0001";
  die_at("charge:after-send", charged, {"dedupes=no"});
  EXPECT_EQ(retry(charged, {"dedupes=no", "look_up=yes"}).status, 201);
  expect_one_effect(charged);

  const std::string never = "looked-up-never-000001";
  die_at("charge:before-send", never, {"dedupes=no"});
  EXPECT_EQ(retry(never, {"dedupes=no", "look_up=yes"}).status, 504);
  EXPECT_EQ(status_of(never), "unknown");
  EXPECT_EQ(charges(never), 0U);
}

// The first owner sleeps past its lease; a second process takes over and finishes. When the first
// wakes up, nothing of it may be kept.
TEST_P(FlowCrash, AnOwnerThatSleptPastItsLeaseRollsBack) {
  // A transaction that has written holds SQLite's one write lock: there it sleeps before it.
  const std::string point = on_postgres() ? "create:wrote" : "create:begin";
  const std::string key = "slept-in-a-transaction-01";
  StoppedChild sleeper(command(key, {"stop=" + point, short_lease}));
  const Told second = retry(key);
  EXPECT_EQ(second.status, 201) << second.out << second.err;
  const Told woken = sleeper.resume();
  EXPECT_EQ(woken.exit_code, 0);
  EXPECT_EQ(woken.status, 201) << "it is told what is stored";
  EXPECT_EQ(woken.body, second.body);
  expect_one_effect(key);
}

TEST_P(FlowCrash, AnOwnerThatSleptBeforeSendingSendsNothing) {
  const std::string key = "slept-before-sending-001";
  StoppedChild sleeper(command(key, {"dedupes=no", "stop=charge:before-send", short_lease}));
  EXPECT_EQ(retry(key, {"dedupes=no"}).status, 504);
  const Told woken = sleeper.resume();
  EXPECT_EQ(woken.exit_code, 0);
  EXPECT_EQ(charges(key), 0U);
  EXPECT_EQ(status_of(key), "unknown");
}

TEST_P(FlowCrash, AnOwnerThatSleptBeforeRecordingRollsBack) {
  const std::string key = "slept-before-recording-1";
  StoppedChild sleeper(command(key, {"stop=charge:after-send", short_lease}));
  const Told second = retry(key);
  EXPECT_EQ(second.status, 201) << second.out << second.err;
  EXPECT_EQ(sleeper.resume().body, second.body);
  expect_one_effect(key);
}

// The record is in progress all the while: only fence and owner tell whose.
TEST_P(FlowCrash, AnOwnerThatWakesWhileTheNextOneIsAtItRollsBack) {
  for (const std::string& point : {on_postgres() ? std::string("create:wrote") : "create:begin",
                                   std::string("charge:before-mark"),
                                   std::string("charge:after-send"), std::string("finish:begin")}) {
    const std::string key = key_for(point, "wakes");
    StoppedChild first(command(key, {"stop=" + point}));
    end_leases();
    StoppedChild second(command(key, {"stop=finish:begin"}));
    const Told woken = first.resume();
    EXPECT_EQ(woken.status, 409) << point << woken.out;
    const Told finished = second.resume();
    EXPECT_EQ(finished.status, 201) << point << finished.out;
    EXPECT_NE(finished.body.find("\"attempt\":2"), std::string::npos) << finished.body;
    expect_one_effect(key);
  }
}

TEST_P(FlowCrash, AVersionWithoutThePhaseRefusesLoudlyAndTouchesNothing) {
  const std::string key = "two-versions-0000000001";
  die_at("charge:after-send", key);
  // A retry is refused, with the point and the known ones in the log.
  const Told refused = pay(key, {"version=2"});
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.err.find("recovery point \"charge\""), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("it knows create, charge-v2, finish"), std::string::npos)
      << refused.err;
  const Told pass = child("", {"version=2", "do=complete"});
  EXPECT_EQ(pass.out, "seen 1 completed 0 stopped 0 refused 1\n");
  EXPECT_NE(pass.err.find("recovery point \"charge\""), std::string::npos) << pass.err;
  // It stays, and says why.
  EXPECT_EQ(status_of(key), "in_progress");
  EXPECT_NE(query("SELECT last_error FROM PAWL.keys WHERE idempotency_key = '" + key + "'")
                .find("recovery point \"charge\""),
            std::string::npos);
  EXPECT_EQ(retry(key).status, 201);
  expect_one_effect(key);
}

INSTANTIATE_TEST_SUITE_P(Stores, FlowCrash,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         [](const auto& kind) {
                           return kind.param == StoreKind::sqlite ? "Sqlite" : "Postgres";
                         });

}  // namespace
}  // namespace pawl::testing
