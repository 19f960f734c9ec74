#include <gtest/gtest.h>

#include "src/engine/world_for_tests.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using testing::answered;
using testing::refusal;
using testing::run;
using testing::World;

TEST(Guard, RetryOfACompletedRequestIsReplayedByteForByte) {
  World world;
  Engine engine = world.node();
  world.pay(engine);
  const Guarded retry = world.pay(engine);
  ASSERT_EQ(refusal(retry), DecisionKind::replay);
  const auto& replay = std::get<Replay>(std::get<Refused>(retry).reservation.decision);
  EXPECT_EQ(replay.response.body, R"({"id":"pay_1"})");
  EXPECT_EQ(replay.response.status, 201);
  EXPECT_EQ(world.upstream.charges(), 1);
}

TEST(Guard, OtherBodyUnderTheSameKeyIsMisuseAndLeavesTheRecordAlone) {
  World world;
  Engine engine = world.node();
  world.pay(engine);
  const Record before = world.record();
  const Request other = testing::a_request("test-key-00000001", "tenant-a", "pay 90 EUR");
  EXPECT_EQ(refusal(world.pay(engine, {}, other)), DecisionKind::misuse);
  EXPECT_EQ(world.record(), before);
  EXPECT_EQ(world.upstream.charges(), 1);
}

TEST(Guard, SameKeyOfAnotherScopeIsIndependent) {
  World world;
  Engine engine = world.node();
  world.pay(engine);
  world.pay(engine, {}, testing::a_request("test-key-00000001", "tenant-b"));
  EXPECT_EQ(world.upstream.charges(), 2);
}

TEST(Guard, DuplicateWhileTheFirstRunsIsAConflict) {
  World world;
  Engine first = world.node();
  Engine second = world.node();
  DecisionKind seen = DecisionKind::execute;
  world.upstream.before_answer = [&] { seen = refusal(world.pay(second)); };
  world.pay(first);
  EXPECT_EQ(seen, DecisionKind::in_flight);
  EXPECT_EQ(world.upstream.charges(), 1);
}

TEST(Guard, LostAnswerIsUnknownAndNeverSentAgain) {
  World world;
  Engine engine = world.node();
  world.upstream.answer({true, Lost{Lost::How::timeout, "no answer"}});
  world.pay(engine);
  EXPECT_EQ(world.status(), Status::unknown);
  world.upstream.answer({true, answered(201)});
  EXPECT_EQ(refusal(world.pay(engine)), DecisionKind::undetermined);
  world.clock.advance(48h * 10);
  EXPECT_EQ(refusal(world.pay(engine)), DecisionKind::undetermined);
  EXPECT_EQ(world.upstream.charges(), 1);
}

TEST(Guard, NothingSentMayRunAgain) {
  World world;
  Engine engine = world.node();
  world.upstream.answer({false, NotSent{"connection refused"}});
  world.pay(engine);
  EXPECT_EQ(world.status(), Status::failed_retryable);
  world.upstream.answer({true, answered(201)});
  world.pay(engine);
  EXPECT_EQ(world.status(), Status::completed);
  EXPECT_EQ(world.record().attempt, 2);
  EXPECT_EQ(world.upstream.charges(), 1);
}

TEST(Guard, PauseBeforeTheFirstByteThatOutlivesTheLeaseSendsNothing) {
  World world;
  Engine sleeper = world.node();
  Engine other = world.node();
  world.upstream.before_gate = [&] {
    world.clock.advance(31s);
    ASSERT_TRUE(run(other.sweep()));  // unknown now: an owner that is gone may have paid
  };
  const Guarded guarded = world.pay(sleeper);
  EXPECT_TRUE(std::holds_alternative<NotSent>(std::get<Executed>(guarded).outcome));
  EXPECT_EQ(world.upstream.charges(), 0);
  // Its own word that nothing was sent ends the doubt.
  EXPECT_EQ(world.status(), Status::failed_retryable);
  world.pay(other);
  EXPECT_EQ(world.upstream.charges(), 1);
}

TEST(Guard, PauseThatLeavesTooLittleOfTheLeaseRenewsItFirst) {
  World world;
  Engine engine = world.node();
  const Instant start = world.clock.wall();
  world.upstream.before_gate = [&] { world.clock.advance(25s); };
  world.upstream.after_gate = [&] {
    const auto held = std::get<InProgress>(world.record().state);
    EXPECT_GE(held.locked_until, start + 25s + 30s);
  };
  world.pay(engine);
  EXPECT_EQ(world.status(), Status::completed);
  EXPECT_EQ(world.upstream.charges(), 1);
}

TEST(Guard, TakenOverBeforeTheFirstByteSendsOnlyOnce) {
  World world;
  Engine sleeper = world.node();
  Engine other = world.node();
  Policy policy;
  policy.on_lease_expiry = OnLeaseExpiry::retry;
  world.upstream.before_gate = [&] {
    world.clock.advance(31s);
    world.pay(other, policy);
  };
  world.pay(sleeper, policy);
  EXPECT_EQ(world.upstream.charges(), 1);
  EXPECT_EQ(world.status(), Status::completed);
}

TEST(Guard, LateAnswerOfAnOwnerThatKeptItsFenceIsStored) {
  World world;
  Engine slow = world.node();
  Engine other = world.node();
  world.upstream.before_answer = [&] {
    world.clock.advance(31s);
    ASSERT_TRUE(run(other.sweep()));
    EXPECT_EQ(world.status(), Status::unknown);
  };
  world.pay(slow);
  EXPECT_EQ(world.status(), Status::completed);
  EXPECT_EQ(world.metrics.count(Counter::late_answer), 1U);
  ASSERT_EQ(world.store.audit().size(), 1U);
  EXPECT_EQ(world.store.audit().front().second.action, "late-answer");
}

TEST(Guard, LateAnswerUnderAnOldFenceIsKeptAsEvidenceAndChangesNothing) {
  World world;
  Engine slow = world.node();
  Engine other = world.node();
  Policy policy;
  policy.on_lease_expiry = OnLeaseExpiry::retry;
  Record won;
  world.upstream.before_answer = [&] {
    world.clock.advance(31s);
    world.pay(other, policy);  // the policy accepts that this may charge twice
    won = world.record();
  };
  const Guarded late = world.pay(slow, policy);
  EXPECT_TRUE(std::get<Executed>(late).settlement->superseded);
  EXPECT_EQ(world.record(), won);
  EXPECT_EQ(world.store.evidence().size(), 1U);
  EXPECT_EQ(world.metrics.count(Counter::double_execution, "answered"), 1U);
}

// As pawl.complete leaves the row: the same owner and fence, and a date of the store's own.
void commit_as_service(World& world, const StoredResponse& response) {
  const Record held = world.record();
  Record done = held;
  done.state = Completed{response, world.clock.wall() - 1ms};
  const Replacement change{done, guard_of(held), std::nullopt};
  ASSERT_TRUE(run(world.store.replace_one(change))->mine);
}

TEST(Guard, ATransactionalServicesCommitIsTheAnswerEvenWhereItSaysTheSame) {
  const Policy policy = default_policy(Profile::ietf, true);
  for (const Outcome& outcome :
       {testing::answered(201), testing::answered(200, "another"), testing::answered(500),
        testing::answered(404), Outcome{Lost{Lost::How::reset, "reset"}}}) {
    World world;
    Engine engine = world.node();
    world.upstream.answer({true, outcome});
    const StoredResponse stored = storable(std::get<Answered>(testing::answered(201)).response, {});
    world.upstream.before_answer = [&] { commit_as_service(world, stored); };
    const Guarded guarded = world.pay(engine, policy);
    const Settlement& settlement = *std::get<Executed>(guarded).settlement;
    EXPECT_FALSE(settlement.recorded);
    EXPECT_FALSE(settlement.superseded);
    EXPECT_FALSE(settlement.uncommitted);
    EXPECT_EQ(std::get<Completed>(settlement.record->state).response, stored);
    EXPECT_EQ(world.metrics.count(Counter::completed_without_commit), 0U);
  }
}

TEST(Guard, ATransactionalServiceThatAnswersWithoutCompletingIsSettledByItsAnswer) {
  const Policy policy = default_policy(Profile::ietf, true);
  World paid;
  Engine engine = paid.node();
  Guarded guarded = paid.pay(engine, policy);
  EXPECT_TRUE(std::get<Executed>(guarded).settlement->recorded);
  EXPECT_TRUE(std::get<Executed>(guarded).settlement->uncommitted);
  EXPECT_EQ(paid.metrics.count(Counter::completed_without_commit), 1U);
  World declined;
  Engine other = declined.node();
  declined.upstream.answer({false, testing::answered(402)});
  guarded = declined.pay(other, policy);
  EXPECT_TRUE(std::get<Executed>(guarded).settlement->recorded);
  EXPECT_FALSE(std::get<Executed>(guarded).settlement->uncommitted);
  EXPECT_EQ(declined.status(), Status::completed);
}

// An owner that was taken over cannot have committed: its 500 is no reason to wake anybody up.
TEST(Guard, ATransactionalOwnerThatWasTakenOverRaisesNoAlertUnlessItSaysThatItActed) {
  const Policy policy = default_policy(Profile::ietf, true);
  for (const bool acted : {false, true}) {
    World world;
    Engine slow = world.node();
    Engine other = world.node();
    if (!acted) world.upstream.answer({false, testing::answered(500)});
    world.upstream.before_answer = [&] {
      world.clock.advance(31s);
      world.upstream.answer({true, testing::answered(201)});
      world.pay(other, policy);
    };
    const Guarded late = world.pay(slow, policy);
    EXPECT_TRUE(std::get<Executed>(late).settlement->superseded);
    EXPECT_EQ(world.store.evidence().size(), 1U);
    EXPECT_EQ(world.metrics.count(Counter::double_execution, "answered"), acted ? 1U : 0U);
  }
}

// A reaper that has read the row's expiry must not find another under the same guard.
TEST(Guard, ALateWordThatNothingWasSentLeavesAReleasedRecordAlone) {
  World world;
  Engine sleeper = world.node();
  Engine other = world.node();
  Record released;
  world.upstream.before_gate = [&] {
    world.clock.advance(31s);
    ASSERT_TRUE(run(other.sweep()));
    world.clock.advance(1h);
    const Request request = testing::a_request();
    ASSERT_TRUE(run(other.resolve(request.scope, request.key, FoundNotExecuted{}, "bob", "asked")));
    released = world.record();
    world.clock.advance(1min);
  };
  const Guarded late = world.pay(sleeper);
  EXPECT_TRUE(std::get<Executed>(late).settlement->recorded);
  EXPECT_EQ(world.record(), released);
}

TEST(Guard, AClockThatJumpsMakesNoKeyNew) {
  World world;
  Engine engine = world.node();
  world.pay(engine);
  world.clock.jump_wall(24h * 365);
  ASSERT_TRUE(run(engine.sync_time()));
  EXPECT_FALSE(engine.time().trusted());
  EXPECT_EQ(refusal(world.pay(engine)), DecisionKind::replay);
  EXPECT_EQ(run(engine.reap())->changed, 0U);
  EXPECT_EQ(world.upstream.charges(), 1);
}

TEST(Guard, NothingNewIsReservedByAClockThatJumped) {
  World world;
  Engine engine = world.node();
  ASSERT_TRUE(run(engine.sync_time()));
  world.clock.jump_wall(-24h);
  ASSERT_TRUE(run(engine.sync_time()));
  const Guarded guarded = world.pay(engine);
  EXPECT_EQ(std::get<Unreserved>(guarded).error, StoreError::unavailable);
  EXPECT_TRUE(world.store.records().empty());
}

TEST(Guard, AClockThatJumpedAndCameBackMakesNoKeyNew) {
  World world;
  Engine engine = world.node();
  world.pay(engine);
  world.clock.jump_wall(24h * 365);
  ASSERT_TRUE(run(engine.sync_time()));
  world.clock.jump_wall(-24h * 365);
  EXPECT_EQ(refusal(world.pay(engine)), DecisionKind::replay);
  EXPECT_EQ(world.upstream.charges(), 1);
}

TEST(Guard, AnOutcomeSettledDuringAClockJumpCarriesTheRightDate) {
  World world;
  Engine engine = world.node();
  const Instant start = world.clock.wall();
  world.upstream.answer({true, Lost{Lost::How::timeout, "no answer"}});
  world.upstream.before_answer = [&] {
    world.clock.jump_wall(24h);
    ASSERT_TRUE(run(engine.sync_time()));
  };
  world.pay(engine);
  ASSERT_EQ(world.status(), Status::unknown);
  EXPECT_LE(std::get<Unknown>(world.record().state).reconcile_after, start + 1min);
}

TEST(Guard, ASlowStoreDoesNotMakeALeaseLookLonger) {
  World world;
  memory::MemoryStore slow([&] {  // five seconds pass between its look at the clock and the answer
    const Instant looked = world.clock.wall();
    world.clock.advance(5s);
    return looked;
  });
  Engine engine = world.node(slow);
  Policy policy;
  policy.lease = 12s;
  world.pay(engine, policy);
  EXPECT_EQ(world.upstream.charges(), 0) << "never was a third of the lease known to be left";
}

TEST(Guard, ASupersededOwnersClientIsNotToldAnotherRequestsAnswer) {
  World world;
  Engine slow = world.node();
  Engine other = world.node();
  Policy policy;
  policy.on_lease_expiry = OnLeaseExpiry::retry;
  const Request next_request = testing::a_request("test-key-00000001", "tenant-a", "pay 90 EUR");
  world.upstream.before_answer = [&] {
    world.clock.advance(31s);
    ASSERT_TRUE(run(other.sweep()));
    world.clock.advance(48h);
    ASSERT_TRUE(run(other.reap()));
    world.pay(other, policy, next_request);  // the key's next life is about something else
  };
  const Guarded late = world.pay(slow, policy);
  const Settlement& settlement = *std::get<Executed>(late).settlement;
  EXPECT_TRUE(settlement.superseded);
  EXPECT_EQ(settlement.record->fingerprint, testing::a_request().fingerprint);
}

TEST(Guard, AsyncRequestIsAcceptedAndNotSentByTheCaller) {
  World world;
  Engine engine = world.node();
  Policy policy;
  policy.mode = Mode::async;
  EXPECT_EQ(refusal(world.pay(engine, policy)), DecisionKind::in_flight);
  EXPECT_EQ(refusal(world.pay(engine, policy)), DecisionKind::in_flight);
  EXPECT_EQ(world.status(), Status::pending);
  EXPECT_EQ(world.upstream.sends(), 0);
}

}  // namespace
}  // namespace pawl
