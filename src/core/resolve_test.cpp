// What a reconciliation result does to a record.
#include <gtest/gtest.h>

#include "pawl/types/outcome.hpp"
#include "src/core/decision.hpp"
#include "src/core/records_for_tests.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using testing::a_stored_response;
using testing::an_in_progress_record;
using testing::in_state;
using testing::some_time;

TEST(Resolved, AcceptedWorkThatWasNotExecutedGoesBackToTheQueue) {
  Record record = an_async_record();
  record.state = Unknown{some_time(), some_time(), some_time()};
  const Instant now = some_time() + 1h;
  const Expected<Record, ResolveRefusal> next =
      resolved(record, FoundNotExecuted{}, Owner{"operator"}, now);
  ASSERT_TRUE(next);
  EXPECT_EQ(status_of(*next), Status::pending);
  EXPECT_TRUE(resolved_as_not_executed(*next)) << "a proof that comes later still counts";
  record.attempt = record.policy.max_attempts;
  EXPECT_TRUE(is_dead_letter(resolved(record, FoundNotExecuted{}, Owner{"operator"}, now).value()));
}

// Released, it would be forgotten after its retention, and begun from its first phase again.
TEST(Resolved, AHalfDoneFlowThatWasNotExecutedIsLeftToBeResumed) {
  Record record = a_half_done_flow();
  record.state = Unknown{some_time(), some_time()};
  const Instant now = some_time() + 1h;
  const auto left = resolved(record, FoundNotExecuted{}, Owner{"ops"}, now);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->state, State(InProgress{now, now}));
  EXPECT_EQ(left->recovery_point, "charge");
  EXPECT_EQ(left->last_error, "resolved: not executed");
  EXPECT_FALSE(broken_invariant(*left));
  EXPECT_TRUE(claimed(*left, Attempt{.owner = Owner{"worker"}, .now = now}));
}

TEST(Resolved, ACallThatWasNotExecutedIsNotMarkedAsSentAnyMore) {
  Record record = a_half_done_flow();
  record.state = Unknown{some_time(), some_time()};
  const auto left_at = [&](std::string point) {
    record.recovery_point = std::move(point);
    return resolved(record, FoundNotExecuted{}, Owner{"ops"}, some_time() + 1h)->recovery_point;
  };
  EXPECT_EQ(left_at("charge?~as=k&~sending=1"), "charge");
  EXPECT_EQ(left_at("charge?payment=p&~as=k&~sending=1"), "charge?payment=p");
  EXPECT_EQ(left_at("charge?payment=p"), "charge?payment=p");
}

TEST(Resolved, OnlyUnknownRecordsAre) {
  for (const auto& [status, name] : Names<Status>::table) {
    for (const Finding& finding :
         {Finding{FoundCompleted{a_stored_response()}}, Finding{FoundNotExecuted{}}}) {
      const Record record = in_state(an_in_progress_record(), status, some_time());
      const auto next = resolved(record, finding, Owner{"operator"}, some_time() + 100h);
      ASSERT_EQ(next.has_value(), status == Status::unknown) << name;
      EXPECT_TRUE(next || next.error() == ResolveRefusal::not_unknown) << name;
    }
  }
}

TEST(Resolved, NotExecutedIsTooEarlyUntilTheUpstreamTimeoutAfterTheLease) {
  Record record = an_in_progress_record();
  record.policy.upstream_timeout = 45s;
  record.state = Unknown{some_time(), some_time() + 30s};
  const Instant safe = some_time() + 75s;
  for (const Instant now : {some_time(), some_time() + 30s, safe - 1us}) {
    const auto next = resolved(record, FoundNotExecuted{}, Owner{"operator"}, now);
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error(), ResolveRefusal::too_early);
  }
  const auto next = resolved(record, FoundNotExecuted{}, Owner{"operator"}, safe);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->state, State(FailedRetryable{.resolved_not_executed = true}));
  EXPECT_EQ(next->fence, record.fence);
  EXPECT_EQ(next->owner, record.owner) << "who was doubted may know better, and proves it by this";
}

TEST(Resolved, OnlyAFindingThatNothingHappenedIsToldFromOtherReleases) {
  const Record unknown = in_state(an_in_progress_record(), Status::unknown, some_time());
  const auto released = resolved(unknown, FoundNotExecuted{}, Owner{"finder"}, some_time() + 1h);
  ASSERT_TRUE(released);
  EXPECT_TRUE(resolved_as_not_executed(*released));
  const Record held = an_in_progress_record();
  EXPECT_FALSE(resolved_as_not_executed(held));
  EXPECT_FALSE(resolved_as_not_executed(settled(held, NotSent{"why"}, some_time(), {})));
  EXPECT_FALSE(
      resolved_as_not_executed(settled(held, NotSent{"resolved: not executed"}, some_time(), {})))
      << "an owner cannot say so";
}

TEST(Resolved, AProofCorrectsAFindingThatNothingHappened) {
  const Record unknown = in_state(an_in_progress_record(), Status::unknown, some_time());
  const auto released = resolved(unknown, FoundNotExecuted{}, Owner{"finder"}, some_time() + 1h);
  ASSERT_TRUE(released);
  const Instant now = some_time() + 2h;
  const auto proved =
      resolved(*released, FoundCompleted{a_stored_response()}, Owner{"webhook"}, now);
  ASSERT_TRUE(proved);
  EXPECT_EQ(proved->state, State(Completed{a_stored_response(), now}));
  EXPECT_EQ(proved->fence, unknown.fence) << "whoever took it over since has a higher one";
  EXPECT_EQ(broken_invariant(*proved), std::nullopt);
  EXPECT_FALSE(resolved(*released, FoundNotExecuted{}, Owner{"finder"}, now));
}

TEST(Resolved, AProofNeverOverwritesWhatALaterOwnerDoesOrDid) {
  const FoundCompleted proof{a_stored_response()};
  const Record retaken = an_in_progress_record();
  const Instant now = some_time() + 2h;
  const auto refused = [&](const Record& record) {
    const auto next = resolved(record, proof, Owner{"webhook"}, now);
    return !next && next.error() == ResolveRefusal::not_unknown;
  };
  EXPECT_TRUE(refused(retaken)) << "it executes";
  EXPECT_TRUE(refused(settled(retaken, NotSent{"no route"}, now, {}))) << "it sent nothing";
  for (const Status status : {Status::pending, Status::completed, Status::expired}) {
    EXPECT_TRUE(refused(in_state(retaken, status, now))) << to_text(status);
  }
}

TEST(Resolved, FoundAnswerIsKeptForTheWholeRetentionHoweverLateItIs) {
  for (const RetentionFrom since : {RetentionFrom::completed, RetentionFrom::created}) {
    for (const Duration late : {Duration(0us), Duration(1h), Duration(1000h)}) {
      Record record = in_state(an_in_progress_record(), Status::unknown, some_time());
      record.policy.retention_from = since;
      record.last_error = "lease-expired";
      const Instant now = some_time() + late;
      const auto next =
          resolved(record, FoundCompleted{a_stored_response()}, Owner{"webhook"}, now);
      ASSERT_TRUE(next);
      EXPECT_EQ(next->state, State(Completed{a_stored_response(), now}));
      EXPECT_EQ(next->expires_at, now + record.policy.retention);
      EXPECT_EQ(next->fence, record.fence);
      EXPECT_EQ(next->last_error, "");
      EXPECT_EQ(broken_invariant(*next), std::nullopt);
    }
  }
}

TEST(Resolved, AnAnswerWithoutAFinalStatusIsRefused) {
  const Record record = in_state(an_in_progress_record(), Status::unknown, some_time());
  StoredResponse response = a_stored_response();
  for (const int status : {0, 100, 199, 600}) {
    response.status = status;
    const auto refused = resolved(record, FoundCompleted{response}, Owner{"ops"}, some_time());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), ResolveRefusal::bad_response);
  }
}

}  // namespace
}  // namespace pawl
