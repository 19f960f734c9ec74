// Fails every store call in turn, in every way a store can fail, and asks how often money moved.
#include <gtest/gtest.h>

#include <set>

#include "src/engine/orphans.hpp"
#include "src/engine/world_for_tests.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using testing::a_request;
using testing::answered;
using testing::FailAt;
using testing::Fault;
using testing::FaultStore;
using testing::refusal;
using testing::run;
using testing::some_time;
using testing::World;

struct Play {
  std::string name;
  Policy policy;
  testing::ScriptedUpstream::Step step;
};

std::vector<Play> plays() {
  Policy strict = default_policy(Profile::strict);
  Policy quick;
  quick.lease = 3s;
  return {
      {"answered", {}, {true, answered(201)}},
      {"declined", {}, {false, answered(402)}},
      {"lost", {}, {true, Lost{Lost::How::reset, "reset"}}},
      {"not sent", {}, {false, NotSent{"refused"}}},
      {"held", strict, {true, answered(500)}},
      {"short lease", quick, {true, answered(201)}},
  };
}

// One client that pays and retries, on a node whose store fails as `fail` says, and then every pass
// on a healthy node, and another retry. What it observes is the invariant.
int calls_of(const Play& play, const FailAt& fail) {
  World world;
  FaultStore faulty(world.store, fail);
  Engine node = world.node(faulty);
  Engine healthy = world.node();
  world.upstream.answer(play.step);

  std::optional<StoredResponse> acknowledged;
  const auto pay = [&](Engine& engine) {
    const Guarded guarded = world.pay(engine, play.policy);
    if (const auto* done = std::get_if<Executed>(&guarded)) {
      if (done->settlement && done->settlement->recorded &&
          status_of(*done->settlement->record) == Status::completed) {
        acknowledged = std::get<Completed>(done->settlement->record->state).response;
      }
    }
    if (const auto* refused = std::get_if<Refused>(&guarded)) {
      if (const auto* replay = std::get_if<Replay>(&refused->reservation.decision)) {
        if (acknowledged) {
          EXPECT_EQ(replay->response, *acknowledged) << play.name;
        }
        acknowledged = replay->response;
      } else {
        EXPECT_FALSE(acknowledged) << play.name << ": an acknowledged answer was forgotten";
      }
    }
  };

  pay(node);
  pay(node);
  static_cast<void>(run(node.renew()));
  static_cast<void>(run(node.release_orphans()));
  world.clock.advance(play.policy.lease);
  static_cast<void>(run(node.sweep()));
  static_cast<void>(run(healthy.sweep()));
  static_cast<void>(run(node.release_orphans()));
  pay(healthy);
  EXPECT_LE(world.upstream.charges(), 1)
      << play.name << ", call " << fail.call << ", fault " << static_cast<int>(fail.fault);
  for (const Record& record : world.store.records()) {
    EXPECT_NE(status_of(record), Status::in_progress) << play.name << ": stuck";
  }
  return faulty.calls();
}

TEST(Faults, NoStoreCallThatFailsMovesMoneyTwice) {
  for (const Play& play : plays()) {
    for (const Fault fault : {Fault::unavailable, Fault::in_doubt_written, Fault::in_doubt_lost}) {
      for (const int times : {1, 2, 5, 1000}) {
        for (int call = 0;; ++call) {
          const FailAt fail{.call = call, .times = times, .fault = fault};
          if (calls_of(play, fail) <= call) break;  // past the last call: every point was tried
        }
      }
    }
  }
}

TEST(Faults, NothingIsSentUnlessTheReservationIsKnownToBeThere) {
  for (const Fault fault : {Fault::unavailable, Fault::in_doubt_written, Fault::in_doubt_lost}) {
    World world;
    FaultStore faulty(world.store, {.call = 1, .times = 1000, .fault = fault});
    Engine node = world.node(faulty);
    const Guarded guarded = world.pay(node);
    EXPECT_TRUE(std::holds_alternative<Unreserved>(guarded));
    EXPECT_EQ(world.upstream.sends(), 0);
  }
}

TEST(Faults, AReservationInDoubtIsAskedAgainAndThenUsed) {
  for (const Fault fault : {Fault::in_doubt_written, Fault::in_doubt_lost}) {
    World world;
    FaultStore faulty(world.store, {.call = 1, .times = 2, .fault = fault});
    Engine node = world.node(faulty);
    world.pay(node);
    EXPECT_EQ(world.status(), Status::completed);
    EXPECT_EQ(world.upstream.charges(), 1);
  }
}

TEST(Faults, AReservationNobodyAcknowledgedIsReleasedLater) {
  World world;
  FaultStore faulty(world.store, {.call = 1, .times = 20, .fault = Fault::in_doubt_written});
  Engine node = world.node(faulty);
  EXPECT_TRUE(std::holds_alternative<Unreserved>(world.pay(node)));
  EXPECT_EQ(world.status(), Status::in_progress);
  while (world.status() != Status::failed_retryable) {
    ASSERT_TRUE(run(node.release_orphans()));
    ASSERT_LT(faulty.calls(), 100);
    world.clock.advance(Orphans::pause_max);
  }
  world.pay(node);
  EXPECT_EQ(world.upstream.charges(), 1);
}

// By a look that reserves nothing, too: nothing was sent under it, and this process knows that.
TEST(Faults, AReservationNobodyAcknowledgedIsNotCalledUnknownByWhoeverMadeIt) {
  World world;
  FaultStore faulty(world.store, {.call = 1, .times = 20, .fault = Fault::in_doubt_written});
  Engine node = world.node(faulty);
  EXPECT_TRUE(std::holds_alternative<Unreserved>(world.pay(node)));
  while (faulty.calls() < 21) static_cast<void>(run(node.sync_time()));
  Engine other = world.node();
  world.clock.advance(Policy{}.lease + 1s);
  ASSERT_TRUE(run(other.sweep()));
  ASSERT_EQ(world.status(), Status::unknown);
  const auto seen = run(node.peek(testing::a_request(), Policy{}));
  ASSERT_TRUE(seen);
  EXPECT_FALSE(*seen) << "it is free";
  const auto seen_by_other = run(other.peek(testing::a_request(), Policy{}));
  ASSERT_TRUE(seen_by_other && *seen_by_other);
  EXPECT_EQ(kind_of((*seen_by_other)->decision), DecisionKind::undetermined);
}

// Accepted work would wait for its next try until the wrong time is reached.
TEST(Faults, AReservationIsNotReleasedByAClockThatHasJumped) {
  World world;
  Engine other = world.node();
  Policy policy;
  policy.mode = Mode::async;
  world.pay(other, policy);
  FaultStore faulty(world.store, {.call = 1, .times = 20, .fault = Fault::in_doubt_written});
  Engine node = world.node(faulty);
  ASSERT_TRUE(run(node.sync_time()));
  ASSERT_FALSE(run(node.claim(world.record())));
  ASSERT_EQ(world.status(), Status::in_progress);
  while (faulty.calls() < 21) static_cast<void>(run(node.sync_time()));
  world.clock.jump_wall(2h);
  ASSERT_TRUE(run(node.sync_time()));
  world.clock.advance(Orphans::pause_max);
  ASSERT_TRUE(run(node.release_orphans()));
  EXPECT_EQ(world.status(), Status::in_progress);

  world.clock.jump_wall(-2h);
  ASSERT_TRUE(run(node.sync_time()));
  world.clock.advance(Orphans::pause_max);
  ASSERT_TRUE(run(node.release_orphans()));
  const Record waits = world.record();
  ASSERT_EQ(status_of(waits), Status::pending);
  EXPECT_LE(std::get<Pending>(waits.state).not_before, world.clock.wall() + 1min);
}

// The answer came after a pause longer than the lease, and the lease could not be had anew.
TEST(Faults, AReservationThatIsKnownToBeThereAndCannotBeUsedIsReleasedToo) {
  World world;
  bool stopped = false;
  memory::MemoryStore store([&] {
    const Instant shown = world.clock.wall();
    if (stopped) world.clock.advance(1min);  // the process, with the answer on its way
    return shown;
  });
  FaultStore faulty(store, {.call = 2, .times = 1, .fault = Fault::unavailable});
  Engine node = world.node(faulty);
  ASSERT_TRUE(run(node.sync_time()));
  stopped = true;
  const Guarded guarded = world.pay(node);
  stopped = false;
  ASSERT_TRUE(std::holds_alternative<Unreserved>(guarded));
  ASSERT_TRUE(run(node.release_orphans()));
  const Request request = testing::a_request();
  const StoreResult<std::optional<Record>> found = run(store.find(request.scope, request.key));
  ASSERT_TRUE(found && *found);
  EXPECT_EQ(status_of(**found), Status::failed_retryable);
}

// Of more than a pass looks for, those whose write is lost for good must not keep the others
// waiting.
TEST(Faults, EveryReservationInDoubtIsLookedForInItsTurn) {
  Orphans orphans;
  const BootTime start{};
  for (const char* owner : {"owner-1", "owner-2", "owner-3"}) {
    orphans.remember({.scope = {}, .key = {}, .owner = {owner}, .forget_at = start + 1h});
  }
  std::set<Owner> asked;
  for (int pass = 0; pass < 3; ++pass) {
    const BootTime now = start + pass * Orphans::pause_max;
    for (const Orphan& orphan : orphans.due(now, 1)) asked.insert(orphan.owner);
  }
  EXPECT_EQ(asked.size(), 3);
}

TEST(Faults, ATakeoverThatArrivesLateIsReleasedToo) {
  World world;
  Engine healthy = world.node();
  world.upstream.answer({false, NotSent{"refused"}});
  world.pay(healthy);
  const Record failed = world.record();
  // Its insert shows the failed record; its takeover, and whatever it asks after that, is in doubt.
  FaultStore faulty(world.store, {.call = 2, .times = 8, .fault = Fault::in_doubt_lost});
  Engine node = world.node(faulty);
  EXPECT_TRUE(std::holds_alternative<Unreserved>(world.pay(node)));
  ASSERT_TRUE(run(node.release_orphans()));  // nothing of ours there, so far

  Record late = testing::in_state(failed, Status::in_progress, world.clock.wall());
  late.fence = Fence{failed.fence.number + 1};
  late.owner = Owner{"owner-2"};  // the node's attempt: the second token of this world
  Replacement takeover{late, guard_of(failed), std::nullopt};
  ASSERT_TRUE(run(world.store.replace_one(takeover)));
  world.clock.advance(Orphans::pause_max);
  ASSERT_TRUE(run(node.release_orphans()));
  EXPECT_EQ(world.status(), Status::failed_retryable);
}

TEST(Faults, AnInsertRepeatedAfterALongPauseIsDatedAnew) {
  World world;
  FaultStore faulty(world.store, {.call = 1, .times = 1, .fault = Fault::in_doubt_lost});
  EngineOptions options;
  options.retry_pause = options.retry_pause_max = 100h;  // longer than a key is kept
  Engine node(faulty, world.clock, world.entropy, world.metrics, options);
  const Instant start = world.clock.wall();
  world.pay(node);
  EXPECT_GE(world.record().created_at, start + 99h);
  EXPECT_EQ(world.upstream.charges(), 1);
}

TEST(Faults, AnAnswerInHandIsRecordedOnceTheStoreIsBack) {
  for (const Fault fault : {Fault::unavailable, Fault::in_doubt_written, Fault::in_doubt_lost}) {
    World world;
    FaultStore faulty(world.store, {.call = 2, .times = 4, .fault = fault});
    Engine node = world.node(faulty);
    const Guarded guarded = world.pay(node);
    EXPECT_TRUE(std::get<Executed>(guarded).settlement);
    EXPECT_EQ(world.status(), Status::completed);
  }
}

TEST(Faults, AnAnswerThatCannotBeRecordedIsReportedAsAFailure) {
  World world;
  FaultStore faulty(world.store, {.call = 2, .times = 1000, .fault = Fault::unavailable});
  Engine node = world.node(faulty);
  const Guarded guarded = world.pay(node);
  EXPECT_FALSE(std::get<Executed>(guarded).settlement);
  EXPECT_EQ(world.status(), Status::in_progress);  // and goes the way of an expired lease
}

// A commit can wait for hours (a standby that is away): its client was told 503 long ago.
TEST(Faults, AReservationThatArrivesAfterItsLeaseIsReleasedAndNotUnknown) {
  for (const bool swept_first : {false, true}) {
    World world;
    FaultStore faulty(world.store, {.call = 1, .times = 20, .fault = Fault::in_doubt_lost});
    Engine node = world.node(faulty);
    EXPECT_TRUE(std::holds_alternative<Unreserved>(world.pay(node)));
    Record late = testing::an_in_progress_record("test-key-00000001", "owner-1", some_time());
    late.fingerprint = a_request().fingerprint;
    world.clock.advance(2h);
    while (true) {  // until the store answers again
      const StoreResult<PassReport> looked = run(node.sweep());
      if (looked) break;
    }
    ASSERT_TRUE(run(world.store.insert_or_read_one(late)));
    if (swept_first) {
      ASSERT_TRUE(run(node.sweep()));
    } else {
      world.pay(node);
    }
    EXPECT_NE(world.status(), Status::unknown);
    world.pay(node);
    EXPECT_EQ(world.upstream.charges(), 1);
  }
}

TEST(Faults, ARestoredStoreTakesNoKeyForNewThatItMayHaveForgotten) {
  World world;
  Engine before = world.node();
  world.pay(before);
  Engine node = world.node();
  ASSERT_TRUE(run(node.sync_time()));
  const Instant at = world.clock.wall();
  node.set_restored(Restoration{.since = at - 1h, .at = at, .until = at + 48h});
  EXPECT_EQ(refusal(world.pay(node)), DecisionKind::replay);
  const Request forgotten = a_request("some-other-key-01");
  EXPECT_EQ(refusal(world.pay(node, {}, forgotten)), DecisionKind::restored);
  EXPECT_EQ(world.upstream.charges(), 1);
  world.clock.advance(49h);
  EXPECT_EQ(refusal(world.pay(node, {}, forgotten)), DecisionKind::execute);
  EXPECT_EQ(world.upstream.charges(), 2);
}

// A key of version 7 that was made then, by its client's clock.
Request dated(Instant then) {
  const auto millis =
      std::chrono::floor<std::chrono::milliseconds>(then.time_since_epoch()).count();
  char key[40];
  std::snprintf(key, sizeof key, "%08llx-%04llx-7abc-8def-0123456789ab",
                static_cast<unsigned long long>(millis >> 16),
                static_cast<unsigned long long>(millis & 0xffff));
  return a_request(key);
}

TEST(Faults, AKeyThatDatesItselfIsNotBelievedAfterARestoreUnlessAnOperatorVouches) {
  World world;
  Engine node = world.node();
  ASSERT_TRUE(run(node.sync_time()));
  const Instant at = world.clock.wall();
  Restoration told{.since = at - 1h, .at = at, .until = at + 48h};
  node.set_restored(told);
  world.clock.advance(30min);
  const Request made_since = dated(at + 20min);
  EXPECT_EQ(refusal(world.pay(node, {}, made_since)), DecisionKind::restored)
      << "used before the restore by a client whose clock is fast, perhaps";
  told.trust_uuidv7 = true;
  node.set_restored(told);
  EXPECT_EQ(refusal(world.pay(node, {}, dated(at + 4min))), DecisionKind::restored);
  EXPECT_EQ(refusal(world.pay(node, {}, dated(at + 36min))), DecisionKind::restored)
      << "in the future: that clock is wrong";
  EXPECT_EQ(world.upstream.charges(), 0);
  EXPECT_EQ(refusal(world.pay(node, {}, made_since)), DecisionKind::execute);
  EXPECT_EQ(world.upstream.charges(), 1);
}

}  // namespace
}  // namespace pawl
