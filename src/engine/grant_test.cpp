// Owners outside of the process: what they are granted, and what a write of theirs may change.
#include <gtest/gtest.h>

#include "src/engine/world_for_tests.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using testing::a_request;
using testing::FailAt;
using testing::Fault;
using testing::FaultStore;
using testing::run;
using testing::World;

const Owner ours{"consumer-token-0001"};
const Owner theirs{"consumer-token-0002"};

Outcome answer(int status = 200, const std::string& body = "done") {
  return Answered{Response{status, {}, body}, true};
}

// A key held by `ours`, and short words for what it does with it.
struct Held {
  explicit Held(Policy its = {}) : policy(std::move(its)) { grant = reserve(ours).value(); }

  // The grant, where there is one.
  std::optional<Grant> reserve(const Owner& owner) {
    const StoreResult<Reservation> made = run(node.reserve_for(owner, a_request(), policy));
    EXPECT_TRUE(made.has_value());
    decision = kind_of(made->decision);
    if (decision != DecisionKind::execute) return std::nullopt;
    const Record& record = *made->record;
    return Grant{record.scope, record.key, record.owner, record.fence};
  }
  bool settle(const Grant& by, const Outcome& outcome) {
    const StoreResult<GrantWrite> written = run(other_node.settle_for(by, outcome, {}));
    EXPECT_TRUE(written.has_value());
    if (!written->done) {
      EXPECT_TRUE(run(other_node.keep_refused(by, written->current, outcome, {})).has_value());
    }
    return written->done;
  }
  bool renew(const Grant& by) {
    const StoreResult<GrantWrite> written = run(other_node.renew_for(by));
    EXPECT_TRUE(written.has_value());
    return written && written->done;
  }
  bool advance(const Grant& by, const std::string& after, const std::string& to) {
    const StoreResult<GrantWrite> written = run(other_node.advance_for(by, {after, to}));
    EXPECT_TRUE(written.has_value());
    return written && written->done;
  }
  Instant lease() { return std::get<InProgress>(world.record().state).locked_until; }

  World world;
  Engine node = world.node();
  Engine other_node = world.node();
  Policy policy;
  Grant grant;
  DecisionKind decision = DecisionKind::gone;
};

Policy on_lease_expiry(OnLeaseExpiry what) {
  Policy policy;
  policy.on_lease_expiry = what;
  return policy;
}

TEST(Grant, AnOwnerThatAsksAgainIsGrantedTheSame) {
  Held held;
  const Record before = held.world.record();
  held.world.clock.advance(29s);
  const std::optional<Grant> again = held.reserve(ours);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->fence, held.grant.fence);
  EXPECT_EQ(held.world.record(), before) << "asking is not renewing";
  EXPECT_FALSE(held.reserve(theirs));
  EXPECT_EQ(held.decision, DecisionKind::in_flight);
}

TEST(Grant, ALeaseOfItsOwnThatIsOverIsDoubtLikeAnybodys) {
  Held held;
  held.world.clock.advance(31s);
  EXPECT_FALSE(held.reserve(ours)) << "it may have acted before it fell silent";
  EXPECT_EQ(held.decision, DecisionKind::undetermined);
  EXPECT_EQ(held.world.status(), Status::unknown);
  EXPECT_FALSE(held.reserve(ours));
  EXPECT_TRUE(run(held.node.release_orphans()).has_value());
  EXPECT_EQ(held.world.status(), Status::unknown) << "nobody knows that nothing happened";
}

TEST(Grant, WhereThePolicySaysSoALapsedLeaseIsGrantedAnewUnderAHigherFence) {
  for (const OnLeaseExpiry policy : {OnLeaseExpiry::retry, OnLeaseExpiry::resume}) {
    Held held(on_lease_expiry(policy));
    EXPECT_TRUE(held.advance(held.grant, "", "charged"));
    held.world.clock.advance(31s);
    const std::optional<Grant> next = held.reserve(theirs);
    ASSERT_TRUE(next);
    EXPECT_GT(next->fence, held.grant.fence);
    EXPECT_EQ(held.world.record().recovery_point, "charged");
    EXPECT_FALSE(held.renew(held.grant)) << "the old fence is worth nothing";
    EXPECT_FALSE(held.settle(held.grant, NotSent{""}));
    EXPECT_TRUE(held.settle(*next, answer()));
  }
}

TEST(Grant, CompletingKeepsTheAnswerWhateverItsStatus) {
  for (const int status : {200, 302, 404, 429, 500, 502, 503, 599}) {
    Held held;
    const Outcome outcome = Answered{Response{status, {{"Retry-After", "1"}}, "body"}, true};
    EXPECT_TRUE(held.settle(held.grant, outcome)) << status;
    ASSERT_EQ(held.world.status(), Status::completed) << status;
    EXPECT_EQ(std::get<Completed>(held.world.record().state).response.status, status);
    EXPECT_FALSE(held.reserve(theirs));
    EXPECT_EQ(held.decision, DecisionKind::replay);
  }
}

TEST(Grant, EveryWriteMayBeRepeated) {
  Held held;
  EXPECT_TRUE(held.advance(held.grant, "", "charged"));
  EXPECT_TRUE(held.advance(held.grant, "", "charged"));
  EXPECT_EQ(held.world.record().recovery_point, "charged");
  EXPECT_TRUE(held.settle(held.grant, answer()));
  const Record completed = held.world.record();
  held.world.clock.advance(1s);
  EXPECT_TRUE(held.settle(held.grant, answer()));
  EXPECT_EQ(held.world.record(), completed);
  EXPECT_FALSE(held.settle(held.grant, answer(200, "something else")));
  EXPECT_FALSE(held.settle(held.grant, NotSent{""}));
  EXPECT_FALSE(held.renew(held.grant));
  EXPECT_EQ(held.world.record(), completed) << "completed is immutable";
}

TEST(Grant, ReleasingTwiceIsReleasingOnce) {
  Held held;
  EXPECT_TRUE(held.settle(held.grant, NotSent{"the queue took it back"}));
  const Record released = held.world.record();
  EXPECT_EQ(status_of(released), Status::failed_retryable);
  held.world.clock.advance(1s);
  EXPECT_TRUE(held.settle(held.grant, NotSent{"the queue took it back"}));
  EXPECT_EQ(held.world.record(), released);
  EXPECT_FALSE(held.renew(held.grant));
  const std::optional<Grant> next = held.reserve(theirs);
  ASSERT_TRUE(next);
  EXPECT_GT(next->fence, held.grant.fence);
}

// A reserve that hung at a node while its repeat was granted, done with and released elsewhere.
TEST(Grant, AReserveThatComesLateNeverTakesTheKeyForAnOwnerThatHasLetGo) {
  Held held;
  EXPECT_TRUE(held.settle(held.grant, NotSent{""}));
  const Record released = held.world.record();
  EXPECT_FALSE(held.reserve(ours));
  EXPECT_EQ(held.decision, DecisionKind::spent);
  EXPECT_EQ(held.world.record(), released);
  EXPECT_TRUE(held.reserve(theirs));
}

TEST(Grant, ATokenIsSpentWithItsLeaseWhetherItWasSweptOrNot) {
  for (const OnLeaseExpiry policy : {OnLeaseExpiry::retry, OnLeaseExpiry::resume}) {
    for (const bool swept : {false, true}) {
      Held held(on_lease_expiry(policy));
      held.world.clock.advance(31s);
      if (swept) {
        EXPECT_TRUE(run(held.node.sweep()).has_value());
      }
      EXPECT_FALSE(held.reserve(ours));
      EXPECT_EQ(held.decision, DecisionKind::spent);
      EXPECT_TRUE(held.reserve(theirs));
    }
  }
}

TEST(Grant, NeitherAnotherOwnerNorAnotherFenceChangesAnything) {
  Held held;
  const Record before = held.world.record();
  Grant other = held.grant;
  other.owner = theirs;
  Grant old = held.grant;
  --old.fence.number;
  Grant never = held.grant;
  ++never.fence.number;
  for (const Grant& wrong : {other, old, never}) {
    EXPECT_FALSE(held.renew(wrong));
    EXPECT_FALSE(held.advance(wrong, "", "point"));
    EXPECT_FALSE(held.settle(wrong, NotSent{""}));
    EXPECT_FALSE(held.settle(wrong, answer()));
  }
  EXPECT_EQ(held.world.record(), before);
  EXPECT_EQ(held.world.metrics.count(Counter::double_execution, "answered"), 0U);
  ASSERT_EQ(held.world.store.evidence().size(), 1U);
  EXPECT_EQ(held.world.store.evidence().front().fence, old.fence)
      << "of an earlier life perhaps: it is kept, and raises no alarm";
  EXPECT_EQ(held.world.store.evidence().front().fingerprint, Fingerprint{});
}

TEST(Grant, AnAnswerUnderAFenceThatWasGrantedAndTakenOverRaisesTheAlarm) {
  Held held(on_lease_expiry(OnLeaseExpiry::retry));
  held.world.clock.advance(31s);
  ASSERT_TRUE(held.reserve(theirs));
  EXPECT_FALSE(held.settle(held.grant, answer()));
  EXPECT_EQ(held.world.metrics.count(Counter::double_execution, "answered"), 1U);
  ASSERT_EQ(held.world.store.evidence().size(), 1U);
  EXPECT_EQ(held.world.store.evidence().front().fingerprint, a_request().fingerprint);
}

TEST(Grant, WithoutARecordNothingIsDoneAndNothingMade) {
  Held held;
  Grant elsewhere = held.grant;
  elsewhere.scope.text = "tenant-b";
  EXPECT_FALSE(held.settle(elsewhere, answer()));
  EXPECT_FALSE(held.settle(elsewhere, NotSent{""}));
  EXPECT_FALSE(held.renew(elsewhere));
  ASSERT_EQ(held.world.store.evidence().size(), 1U) << "the answer is not lost";
  EXPECT_EQ(held.world.store.evidence().front().scope, elsewhere.scope);
  EXPECT_EQ(held.world.metrics.count(Counter::double_execution, "answered"), 0U);
  const auto found = run(held.world.store.find(elsewhere.scope, elsewhere.key));
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->has_value());
}

TEST(Grant, ALateAnswerStillCounts) {
  for (const OnLeaseExpiry policy : {OnLeaseExpiry::unknown, OnLeaseExpiry::retry}) {
    Held held(on_lease_expiry(policy));
    held.world.clock.advance(31s);
    EXPECT_TRUE(run(held.node.sweep()).has_value());
    EXPECT_NE(held.world.status(), Status::in_progress);
    EXPECT_FALSE(held.renew(held.grant));
    EXPECT_TRUE(held.settle(held.grant, answer()));
    EXPECT_EQ(held.world.status(), Status::completed);
    EXPECT_EQ(held.world.metrics.count(Counter::late_answer), 1U);
  }
}

TEST(Grant, AnOwnerKnowsBetterThanAFindingThatNothingHappened) {
  Held held;
  held.world.clock.advance(31s);
  EXPECT_TRUE(run(held.node.sweep()).has_value());
  held.world.clock.advance(held.policy.upstream_timeout + 1s);
  const Request request = a_request();
  const auto resolved = run(held.node.resolve(request.scope, request.key, FoundNotExecuted{},
                                              "operator", "the bank has not seen it"));
  ASSERT_TRUE(resolved.has_value());
  EXPECT_EQ(held.world.status(), Status::failed_retryable);
  Grant other = held.grant;
  --other.fence.number;
  EXPECT_FALSE(held.settle(other, NotSent{""}));
  Grant guessed = held.grant;
  guessed.owner = theirs;
  EXPECT_FALSE(held.settle(guessed, answer())) << "a fence can be guessed, a token cannot";
  EXPECT_EQ(held.world.status(), Status::failed_retryable);
  EXPECT_TRUE(held.settle(held.grant, answer()));
  EXPECT_EQ(held.world.status(), Status::completed);
  EXPECT_TRUE(held.settle(held.grant, answer())) << "and may say it again";
}

TEST(Grant, JobsThatWaitToBeResumedDoNotKeepTheSweeperFromOthers) {
  World world;
  EngineOptions options;
  options.pass_rows_max = 4;
  Engine node(world.store, world.clock, world.entropy, world.metrics, options);
  for (int i = 0; i < 20; ++i) {
    const Request request = a_request("abandoned-job-" + std::to_string(i));
    ASSERT_TRUE(run(node.reserve_for(ours, request, on_lease_expiry(OnLeaseExpiry::resume))));
  }
  world.clock.advance(1s);
  ASSERT_TRUE(run(node.reserve_for(ours, a_request(), {})));
  world.clock.advance(40s);
  for (int pass = 0; pass < 5; ++pass) ASSERT_TRUE(run(node.sweep()));
  EXPECT_EQ(world.status(), Status::unknown);
  options.pass_rows_max = 100;
  Engine other(world.store, world.clock, world.entropy, world.metrics, options);
  EXPECT_EQ(run(other.sweep())->waiting, 20U);
  world.clock.advance(49h);
  const StoreResult<PassReport> late = run(other.sweep());
  EXPECT_EQ(late->changed, 20U) << "nobody comes for them any more";
  EXPECT_EQ(late->waiting, 0U);
}

TEST(Grant, RenewingStartsTheLeaseAnew) {
  Held held;
  const Instant first = held.lease();
  held.world.clock.advance(20s);
  EXPECT_TRUE(held.renew(held.grant));
  EXPECT_EQ(held.lease(), first + 20s);
  held.world.clock.advance(31s);  // over, and nobody has noticed: it is still the owner's
  EXPECT_TRUE(held.renew(held.grant));
  EXPECT_FALSE(held.reserve(theirs));
  EXPECT_EQ(held.decision, DecisionKind::in_flight);
}

TEST(Grant, WhileTheStoresClockIsWrongNobodyIsToldOfMoreTimeThanIsLeft) {
  Held held;
  EXPECT_EQ(held.node.lease_left(held.world.record()), 30s);
  held.world.clock.advance(10s);
  EXPECT_EQ(held.node.lease_left(held.world.record()), 20s);
  for (const Duration jump : {Duration(-2h), Duration(4h)}) {
    held.world.clock.jump_wall(jump);
    static_cast<void>(run(held.node.sync_time()));
    ASSERT_TRUE(held.reserve(ours)) << "it is still its own";
    EXPECT_EQ(held.node.lease_left(held.world.record()), 0s) << "by that clock it would be hours";
  }
  held.world.clock.jump_wall(-2h);
  static_cast<void>(run(held.node.sync_time()));
  EXPECT_EQ(held.node.lease_left(held.world.record()), 20s);
  held.world.clock.advance(21s);
  EXPECT_EQ(held.node.lease_left(held.world.record()), 0s);
  EXPECT_TRUE(held.settle(held.grant, answer()));
  EXPECT_EQ(held.node.lease_left(held.world.record()), 0s);
}

// The clock jumps while the record is looked up, and another call brings the news.
TEST(Grant, NothingIsDatedByAClockThatJumpedDuringTheLook) {
  for (const Duration jump : {Duration(-2h), Duration(2h)}) {
    for (const bool late : {false, true}) {
      Held held;
      FaultStore slow(held.world.store, FailAt{1000, 0, Fault::unavailable});
      Engine stalled = held.world.node(slow);
      ASSERT_TRUE(run(stalled.sync_time()).has_value());
      if (late) {
        held.world.clock.advance(31s);
        ASSERT_TRUE(run(stalled.sweep()).has_value());
      }
      const Record before = held.world.record();
      const auto jumps = [&] {
        held.world.clock.jump_wall(jump);
        static_cast<void>(run(stalled.sync_time()));
      };
      const auto comes_back = [&] {
        held.world.clock.jump_wall(-jump);
        static_cast<void>(run(stalled.sync_time()));
      };
      slow.before_find(jumps);
      EXPECT_EQ(run(stalled.renew_for(held.grant)).has_value(), late) << "refused anyway";
      comes_back();
      slow.before_find(jumps);
      EXPECT_EQ(run(stalled.advance_for(held.grant, {"", "charged"})).has_value(), late);
      comes_back();
      slow.before_find(jumps);
      EXPECT_FALSE(run(stalled.settle_for(held.grant, answer(), {})).has_value());
      comes_back();
      EXPECT_EQ(held.world.record(), before);
      EXPECT_TRUE(run(stalled.settle_for(held.grant, answer(), {}))->done);
    }
  }
}

// An answer handed in late has no lease to be dated by.
TEST(Grant, ALateAnswerIsNotDatedByAClockThatJumpedBetweenTwoTries) {
  Held held;
  held.world.clock.advance(31s);
  ASSERT_TRUE(run(held.node.sweep()).has_value());
  FaultStore slow(held.world.store, FailAt{3, 1, Fault::in_doubt_lost});  // the replace
  Engine stalled = held.world.node(slow);
  slow.before_replace([&] {
    held.world.clock.jump_wall(-2h);
    static_cast<void>(run(stalled.sync_time()));
  });
  ASSERT_TRUE(run(stalled.sync_time()).has_value());
  EXPECT_FALSE(run(stalled.settle_for(held.grant, answer(), {})).has_value());
  EXPECT_EQ(held.world.status(), Status::unknown);
  held.world.clock.jump_wall(2h);
  ASSERT_TRUE(run(stalled.sync_time()).has_value());
  EXPECT_TRUE(run(stalled.settle_for(held.grant, answer(), {}))->done);
  EXPECT_GE(held.world.record().expires_at, held.world.clock.wall() + held.policy.retention);
}

TEST(Grant, AStepIsTakenFromWhereTheOwnerIsOrNotAtAll) {
  Held held;
  EXPECT_TRUE(held.advance(held.grant, "", "reserved"));
  EXPECT_TRUE(held.advance(held.grant, "reserved", "charged"));
  const Record before = held.world.record();
  EXPECT_FALSE(held.advance(held.grant, "", "reserved")) << "a repeat that was delayed";
  EXPECT_FALSE(held.advance(held.grant, "reserved", "mailed"));
  EXPECT_EQ(held.world.record(), before);
  EXPECT_TRUE(held.advance(held.grant, "reserved", "charged")) << "taken already";
  EXPECT_TRUE(held.renew(held.grant));
  EXPECT_EQ(held.world.record().recovery_point, "charged");
}

// The first call is on its way to the store when its client asks another node, and goes on there.
TEST(Grant, AnAdvanceOvertakenByTheNextOneNeverPutsItsPointBack) {
  for (const Duration later : {Duration(0), Duration(1s)}) {
    Held held;
    FaultStore slow(held.world.store, FailAt{1000, 0, Fault::unavailable});
    Engine stalled = held.world.node(slow);
    slow.before_replace([&] {
      held.world.clock.advance(later);
      EXPECT_TRUE(held.advance(held.grant, "", "reserved"));
      EXPECT_TRUE(held.advance(held.grant, "reserved", "charged"));
    });
    const auto late = run(stalled.advance_for(held.grant, {"", "reserved"}));
    ASSERT_TRUE(late.has_value());
    EXPECT_FALSE(late->done);
    EXPECT_EQ(held.world.record().recovery_point, "charged");
  }
}

// Both within one microsecond, so that the lease they want has the same end.
TEST(Grant, ARenewalOvertakenByAnAdvanceNeverPutsThePointOfBeforeBack) {
  Held held;
  FaultStore slow(held.world.store, FailAt{1000, 0, Fault::unavailable});
  Engine stalled = held.world.node(slow);
  slow.before_replace([&] { EXPECT_TRUE(held.advance(held.grant, "", "charged")); });
  const auto renewed = run(stalled.renew_for(held.grant));
  ASSERT_TRUE(renewed.has_value());
  EXPECT_TRUE(renewed->done);
  EXPECT_EQ(held.world.record().recovery_point, "charged");
}

TEST(Grant, OfTwoStepsAtOnceOneIsTakenAndTheOtherHearsOfIt) {
  Held held;
  FaultStore slow(held.world.store, FailAt{1000, 0, Fault::unavailable});
  Engine stalled = held.world.node(slow);
  slow.before_replace([&] { EXPECT_TRUE(held.advance(held.grant, "", "charged")); });
  const auto other = run(stalled.advance_for(held.grant, {"", "mailed"}));
  ASSERT_TRUE(other.has_value());
  EXPECT_FALSE(other->done);
  EXPECT_EQ(other->current->recovery_point, "charged");
  EXPECT_EQ(held.world.record().recovery_point, "charged");
}

TEST(Grant, WhatOneNodeCouldNotConfirmAnotherMayHaveAndNobodyTakesItBack) {
  World world;
  FaultStore faulty(world.store, FailAt{1, 1000, Fault::in_doubt_written});
  Engine in_doubt = world.node(faulty);
  EXPECT_FALSE(run(in_doubt.reserve_for(ours, a_request(), {})).has_value());
  Engine healthy = world.node();
  const StoreResult<Reservation> granted = run(healthy.reserve_for(ours, a_request(), {}));
  ASSERT_TRUE(granted.has_value());
  ASSERT_EQ(kind_of(granted->decision), DecisionKind::execute);
  static_cast<void>(run(in_doubt.release_orphans()));
  EXPECT_EQ(world.status(), Status::in_progress) << "the owner is acting by now";
}

// Each store call of one consumer fails in turn, in every way. A consumer that is not granted does
// not act; one that is told of a failure asks again with the same token.
TEST(Grant, WhateverStoreCallFailsAConsumerActsOnce) {
  for (const Fault fault : {Fault::unavailable, Fault::in_doubt_written, Fault::in_doubt_lost}) {
    for (int times : {1, 20}) {
      for (int call = 0;; ++call) {
        World world;
        FaultStore faulty(world.store, FailAt{call, times, fault});
        Engine node = world.node(faulty);
        int effects = 0;
        const auto attempt = [&](Engine& engine, const Owner& owner) {
          const StoreResult<Reservation> made = run(engine.reserve_for(owner, a_request(), {}));
          if (!made || kind_of(made->decision) != DecisionKind::execute) return;
          ++effects;
          const Grant grant{made->record->scope, made->record->key, owner, made->record->fence};
          for (int tries = 0; tries < 40; ++tries) {
            const StoreResult<GrantWrite> done = run(engine.settle_for(grant, answer(), {}));
            if (!done) continue;
            EXPECT_TRUE(done->done) << "call " << call << " failed";
            break;
          }
        };
        attempt(node, ours);
        const bool past_the_end = faulty.calls() <= call;
        if (effects == 0) attempt(node, ours);
        static_cast<void>(run(node.release_orphans()));  // whatever its store says
        Engine healthy = world.node();
        attempt(healthy, theirs);
        world.clock.advance(40s);
        EXPECT_TRUE(run(healthy.sweep()).has_value());
        attempt(healthy, theirs);
        EXPECT_LE(effects, 1) << "call " << call << " failed";
        if (effects == 1) {
          const Status status = world.status();
          EXPECT_TRUE(status == Status::completed || status == Status::unknown);
        }
        if (past_the_end) break;
      }
    }
  }
}

}  // namespace
}  // namespace pawl
