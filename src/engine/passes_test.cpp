#include <gtest/gtest.h>

#include "src/engine/world_for_tests.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using testing::a_request;
using testing::refusal;
using testing::run;
using testing::World;

Record reserved(World& world, Engine& engine, const Policy& policy = {}) {
  StoreResult<Reservation> reservation = run(engine.reserve(a_request(), policy));
  PAWL_CHECK(reservation && kind_of(reservation->decision) == DecisionKind::execute);
  PAWL_CHECK(world.status() == Status::in_progress);
  return *reservation->record;
}

TEST(Renew, KeepsALivingOwnersLeaseForAsLongAsItsUpstreamMayTake) {
  World world;
  Engine engine = world.node();
  const std::shared_ptr<Lease> lease = engine.hold(share(reserved(world, engine)));
  for (int tick = 0; tick < 3; ++tick) {
    world.clock.advance(10s);
    EXPECT_EQ(run(engine.renew())->changed, 1U);
  }
  Engine other = world.node();
  EXPECT_EQ(run(other.sweep())->seen, 0U);
  // upstream_timeout and the time to settle are over: a hung owner does not hold a key for ever.
  world.clock.advance(10s);
  EXPECT_EQ(run(engine.renew())->seen, 0U);
  world.clock.advance(31s);
  EXPECT_EQ(run(other.sweep())->changed, 1U);
  EXPECT_EQ(world.status(), Status::unknown);
}

// As a flow's next phase does, which has a time of its own.
TEST(Renew, KeepsALeaseAgainWhoseOwnerAsksForMoreTime) {
  World world;
  Engine engine = world.node();
  const std::shared_ptr<Lease> lease = engine.hold(share(reserved(world, engine)));
  lease->renew_until = world.clock.now() + 5s;
  world.clock.advance(15s);
  EXPECT_EQ(run(engine.renew())->seen, 0U);
  lease->renew_until = world.clock.now() + 30s;
  EXPECT_EQ(run(engine.renew())->changed, 1U);
}

TEST(Renew, LeavesALeaseAloneUntilAThirdOfItIsGone) {
  World world;
  Engine engine = world.node();
  const std::shared_ptr<Lease> lease = engine.hold(share(reserved(world, engine)));
  world.clock.advance(9s);
  EXPECT_EQ(run(engine.renew())->seen, 0U);
  world.clock.advance(1s);
  EXPECT_EQ(run(engine.renew())->seen, 1U);
}

TEST(Renew, NoticesThatTheRecordWasTakenOver) {
  World world;
  Engine engine = world.node();
  Policy policy;
  policy.on_lease_expiry = OnLeaseExpiry::retry;
  const std::shared_ptr<Lease> lease = engine.hold(share(reserved(world, engine, policy)));
  world.clock.advance(31s);
  Engine other = world.node();
  world.pay(other, policy);
  EXPECT_EQ(run(engine.renew())->changed, 0U);
  EXPECT_TRUE(lease->lost);
  EXPECT_FALSE(run(engine.may_send(*lease)));
}

TEST(Sweep, FollowsThePolicyStoredWithTheAttempt) {
  struct Row {
    OnLeaseExpiry expiry;
    Mode mode;
    Status becomes;
  };
  for (const Row& row : {Row{OnLeaseExpiry::unknown, Mode::sync, Status::unknown},
                         Row{OnLeaseExpiry::retry, Mode::sync, Status::failed_retryable},
                         Row{OnLeaseExpiry::resume, Mode::sync, Status::in_progress}}) {
    World world;
    Engine engine = world.node();
    Policy policy;
    policy.on_lease_expiry = row.expiry;
    policy.mode = row.mode;
    const Record before = reserved(world, engine, policy);
    world.clock.advance(30s);
    ASSERT_TRUE(run(engine.sweep()));
    EXPECT_EQ(world.status(), row.becomes);
    EXPECT_EQ(world.record().fence, before.fence);
  }
}

TEST(Sweep, DoesNothingBeforeTheLeaseIsOver) {
  World world;
  Engine engine = world.node();
  reserved(world, engine);
  world.clock.advance(30s - 1us);
  EXPECT_EQ(run(engine.sweep())->seen, 0U);
  world.clock.advance(1us);
  EXPECT_EQ(run(engine.sweep())->changed, 1U);
  EXPECT_EQ(world.metrics.count(Counter::zombie, "unknown"), 1U);
}

TEST(Reap, DeletesFinishedRecordsPastRetentionAndNothingElse) {
  World world;
  Engine engine = world.node();
  world.pay(engine);
  world.clock.advance(48h - 1us);
  EXPECT_EQ(run(engine.reap())->changed, 0U);
  world.clock.advance(1us);
  EXPECT_EQ(run(engine.reap())->changed, 1U);
  EXPECT_TRUE(world.store.records().empty());
}

TEST(Reap, NeverTouchesUnknownOrInProgress) {
  World world;
  Engine engine = world.node();
  reserved(world, engine);
  world.clock.advance(1000h);
  EXPECT_EQ(run(engine.reap())->seen, 0U);
  ASSERT_TRUE(run(engine.sweep()));
  world.clock.advance(1000h);
  EXPECT_EQ(run(engine.reap())->seen, 0U);
  EXPECT_EQ(world.status(), Status::unknown);
}

TEST(Reap, LeavesATombstoneWhereThePolicyKeepsOneAndPurgesItLater) {
  World world;
  Engine engine = world.node();
  const Policy policy = default_policy(Profile::strict);
  world.pay(engine, policy);
  world.clock.advance(48h);
  EXPECT_EQ(run(engine.reap())->changed, 1U);
  EXPECT_EQ(world.status(), Status::expired);
  EXPECT_EQ(refusal(world.pay(engine, policy)), DecisionKind::gone);
  world.clock.advance(24h * 30);
  EXPECT_EQ(run(engine.reap())->changed, 1U);
  EXPECT_TRUE(world.store.records().empty());
  EXPECT_EQ(world.upstream.charges(), 1);
}

TEST(Reap, AbandonedPendingBecomesATimeoutThatIsReplayed) {
  World world;
  Engine engine = world.node();
  Policy policy;
  policy.mode = Mode::async;
  world.pay(engine, policy);
  world.clock.advance(48h);
  EXPECT_EQ(run(engine.reap())->changed, 1U);
  EXPECT_EQ(refusal(world.pay(engine, policy)), DecisionKind::replay);
  EXPECT_EQ(std::get<Completed>(world.record().state).response.status, 408);
}

TEST(Resolve, FoundCompletedIsReplayedForAWholeRetention) {
  World world;
  Engine engine = world.node();
  Policy policy;
  policy.retention_from = RetentionFrom::created;
  reserved(world, engine, policy);
  world.clock.advance(47h);
  ASSERT_TRUE(run(engine.sweep()));
  const auto resolved = run(engine.resolve(a_request().scope, a_request().key,
                                           FoundCompleted{testing::a_stored_response()}, "webhook",
                                           "payment.succeeded"));
  ASSERT_TRUE(resolved);
  world.clock.advance(47h);
  EXPECT_EQ(run(engine.reap())->changed, 0U);
  EXPECT_EQ(refusal(world.pay(engine)), DecisionKind::replay);
  EXPECT_EQ(world.upstream.charges(), 0);
  EXPECT_EQ(world.store.audit().front().second.actor, "webhook");
}

TEST(Resolve, NotExecutedIsJudgedByWhenItWasSeenNotByWhenItIsWritten) {
  World world;
  Duration stop{0};
  memory::MemoryStore store([&] {  // the node is stopped while it waits for the store's time
    const Instant looked = world.clock.wall();
    world.clock.advance(std::exchange(stop, Duration{0}));
    return looked;
  });
  Engine engine = world.node(store);
  ASSERT_TRUE(run(engine.reserve(a_request(), {})));
  world.clock.advance(30s);
  ASSERT_TRUE(run(engine.sweep()));
  stop = 60s;  // by then nobody can be sending any more; but what was seen was seen before
  const auto resolved = run(engine.resolve(a_request().scope, a_request().key, FoundNotExecuted{},
                                           "ops", "not at the provider"));
  ASSERT_FALSE(resolved);
  EXPECT_EQ(std::get<ResolveRefusal>(resolved.error()), ResolveRefusal::too_early);
}

TEST(Resolve, AFindingAboutAnEarlierExecutionIsRefused) {
  World world;
  Engine engine = world.node();
  const Record record = reserved(world, engine);
  world.clock.advance(30s);
  ASSERT_TRUE(run(engine.sweep()));
  const auto resolve = [&](Fence about) {
    return run(engine.resolve(a_request().scope, a_request().key,
                              FoundCompleted{testing::a_stored_response()}, "poller", "found",
                              about));
  };
  EXPECT_FALSE(resolve(Fence{record.fence.number - 1}));
  EXPECT_TRUE(resolve(record.fence));
}

TEST(Resolve, NotExecutedIsRefusedWhileTheOldOwnerMayStillBeSending) {
  World world;
  Engine engine = world.node();
  reserved(world, engine);
  world.clock.advance(30s);
  ASSERT_TRUE(run(engine.sweep()));
  const auto resolve = [&] {
    return run(engine.resolve(a_request().scope, a_request().key, FoundNotExecuted{}, "ops",
                              "not at the provider"));
  };
  world.clock.advance(30s - 1us);
  const auto early = resolve();
  ASSERT_FALSE(early);
  EXPECT_EQ(std::get<ResolveRefusal>(early.error()), ResolveRefusal::too_early);
  world.clock.advance(1us);
  EXPECT_TRUE(resolve());
  EXPECT_EQ(world.status(), Status::failed_retryable);
  const auto again = resolve();
  ASSERT_FALSE(again);
  EXPECT_EQ(std::get<ResolveRefusal>(again.error()), ResolveRefusal::not_unknown);
}

// Calls: the store's time, the record, the write.
TEST(Resolve, NotExecutedIsRecognisedWhenItsAcknowledgementWasLost) {
  for (const testing::Fault fault :
       {testing::Fault::in_doubt_written, testing::Fault::in_doubt_lost}) {
    World world;
    Engine engine = world.node();
    const Record record = reserved(world, engine);
    world.clock.advance(30s);
    ASSERT_TRUE(run(engine.sweep()));
    world.clock.advance(30s);
    testing::FaultStore faulty(world.store, testing::FailAt{2, 1, fault});
    Engine in_doubt = world.node(faulty);
    const auto resolved = run(in_doubt.resolve(a_request().scope, a_request().key,
                                               FoundNotExecuted{}, "ops", "not at the provider"));
    ASSERT_TRUE(resolved);
    EXPECT_EQ(status_of(*resolved), Status::failed_retryable);
    EXPECT_EQ(world.record().owner, record.owner);
    EXPECT_EQ(world.store.audit().size(), 1U);
  }
}

TEST(Claim, OneOfTwoWorkersGetsARecordAndWhatWasNotSentGoesBackToTheQueue) {
  World world;
  Engine one = world.node();
  Engine two = world.node();
  Policy policy;
  policy.mode = Mode::async;
  world.pay(one, policy);
  const Record waiting = world.record();
  ASSERT_EQ(status_of(waiting), Status::pending);
  const auto first = run(one.claim(waiting));
  const auto second = run(two.claim(waiting));
  ASSERT_TRUE(first && *first);
  ASSERT_TRUE(second);
  EXPECT_EQ(*second, nullptr);
  const Outcome away = NotSent{"the upstream is away"};
  ASSERT_TRUE(run(one.settle(**first, away)));
  const Record again = world.record();
  ASSERT_EQ(status_of(again), Status::pending);
  EXPECT_EQ(again.attempt, 1) << "nothing was sent: that was no attempt";
  const auto third = run(two.claim(again));
  ASSERT_TRUE(third && *third);
  EXPECT_GT((*third)->record->fence, again.fence);
  EXPECT_TRUE(run(two.execute(*third, world.upstream)).settlement->recorded);
  EXPECT_EQ(world.status(), Status::completed);
  EXPECT_EQ(world.upstream.charges(), 1);
}

// The second try would be dated by a time that nobody can vouch for: the record may have expired.
TEST(Claim, IsNotRepeatedByAClockThatHasJumpedMeanwhile) {
  World world;
  Engine other = world.node();
  Policy policy;
  policy.mode = Mode::async;
  world.pay(other, policy);
  const Record waiting = world.record();
  testing::FaultStore store(world.store, testing::FailAt{2, 1, testing::Fault::in_doubt_lost});
  Engine engine = world.node(store);
  ASSERT_TRUE(run(engine.sync_time()));
  store.before_replace([&] {
    world.clock.jump_wall(-policy.retention);
    ASSERT_TRUE(run(engine.sync_time()));
  });
  const auto claimed = run(engine.claim(waiting));
  ASSERT_FALSE(claimed);
  EXPECT_EQ(claimed.error(), StoreError::in_doubt);
  EXPECT_EQ(world.status(), Status::pending);
}

TEST(Claim, AnAbandonedFlowIsTakenOverOnceItsLeaseIsOverHoweverLate) {
  World world;
  Engine dead = world.node();
  Engine one = world.node();
  Engine two = world.node();
  Policy policy;
  policy.on_lease_expiry = OnLeaseExpiry::resume;
  Request request = a_request();
  request.stored = StoredRequest{"/v1/payments", {}, "{}"};
  const Record held = *run(dead.reserve(request, policy))->record;
  ASSERT_TRUE(run(one.sync_time()));
  const auto early = run(one.claim(held));
  ASSERT_TRUE(early);
  EXPECT_EQ(*early, nullptr) << "its owner is presumed alive";
  world.clock.advance(policy.retention * 2);
  const auto first = run(one.claim(held));
  const auto second = run(two.claim(held));
  ASSERT_TRUE(first && *first);
  ASSERT_TRUE(second);
  EXPECT_EQ(*second, nullptr);
  EXPECT_GT((*first)->record->fence, held.fence);
  EXPECT_EQ((*first)->record->attempt, 2);
}

TEST(Claim, NobodyClaimsALapsedRecordThatIsNotAFlows) {
  World world;
  Engine engine = world.node();
  Policy policy;
  const Record unresumed = reserved(world, engine, policy);
  policy.on_lease_expiry = OnLeaseExpiry::resume;
  Record without_request = unresumed;
  without_request.policy = policy;  // the key API's: its owner alone knows how to go on
  world.clock.advance(1h);
  for (const Record& held : {unresumed, without_request}) {
    const auto claimed = run(engine.claim(held));
    ASSERT_TRUE(claimed);
    EXPECT_EQ(*claimed, nullptr);
  }
}

TEST(Renew, WritesEvenMicrosecondsSoThatAnAdvanceIsNeverTakenForIt) {
  World world;
  Engine engine = world.node();
  for (const Duration odd : {1us, 2us, 3us}) {
    const std::shared_ptr<Lease> lease = engine.hold(share(reserved(world, engine)));
    world.clock.advance(15s + odd);
    ASSERT_EQ(run(engine.renew())->changed, 1U);
    const auto held = std::get<InProgress>(world.record().state);
    EXPECT_EQ(held.locked_until.time_since_epoch().count() % 2, 0);
    ASSERT_TRUE(run(engine.settle(*lease, NotSent{"on to the next"})));
  }
}

}  // namespace
}  // namespace pawl
