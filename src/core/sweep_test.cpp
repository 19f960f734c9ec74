// What a lapsed lease and the end of the retention do to a record.
#include <gtest/gtest.h>

#include "pawl/types/json.hpp"
#include "pawl/types/outcome.hpp"
#include "src/core/decision.hpp"
#include "src/core/records_for_tests.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using testing::a_request;
using testing::an_in_progress_record;
using testing::in_state;
using testing::some_time;

TEST(Swept, LapsedLeasesOfAcceptedWorkAreAttempts) {
  Record held = an_async_record();
  held.policy.on_lease_expiry = OnLeaseExpiry::retry;
  held.policy.max_attempts = 3;
  Instant now = some_time();
  for (const int attempt : {2, 3}) {
    now += 1h;
    held = swept(held, now).value();
    ASSERT_EQ(status_of(held), Status::pending);
    ASSERT_EQ(held.attempt, attempt);
    held = claimed(held, {.owner = Owner{"worker"}, .now = now}).value();
  }
  EXPECT_TRUE(is_dead_letter(swept(held, now + 1h).value()));
}

TEST(Reaped, AHalfDoneFlowIsNeverForgotten) {
  Record record = a_half_done_flow();
  record.state = FailedRetryable{};
  EXPECT_FALSE(reaped(record, record.expires_at + 1h));
  Request retry = a_request();
  retry.stored = record.request;
  const Attempt late{.owner = Owner{"us"}, .now = record.expires_at + 1h};
  EXPECT_EQ(decide(record, retry, Policy{}, late).next.value().recovery_point, "charge")
      << "no new life";
}

TEST(Swept, LapsedLeasesGoTheWayOfTheirStoredPolicy) {
  for (const auto& [status, state_name] : Names<Status>::table) {
    for (const auto& [rule, rule_name] : Names<OnLeaseExpiry>::table) {
      for (const Mode mode : {Mode::sync, Mode::async}) {
        for (const Duration over : {-1us, 0us, 3600000000us}) {
          Record record = in_state(an_in_progress_record(), status, some_time());
          record.policy.on_lease_expiry = rule;
          record.policy.mode = mode;
          if (mode == Mode::async) record.request = StoredRequest{"/v1/payments", {}, "{}"};
          const Instant lease_end = some_time() + record.policy.lease;
          const std::optional<Record> next = swept(record, lease_end + over);
          const bool lapsed = status == Status::in_progress && over >= 0us;
          const bool resumed =
              rule == OnLeaseExpiry::resume;  // by a worker, from its recovery point
          ASSERT_EQ(next.has_value(), lapsed && !resumed) << state_name << rule_name;
          if (!next) continue;
          const bool requeued = rule == OnLeaseExpiry::retry && mode == Mode::async;
          if (rule == OnLeaseExpiry::unknown) {
            EXPECT_EQ(next->state, State(Unknown{lease_end + over, lease_end, some_time()}));
          } else {
            EXPECT_EQ(next->state, requeued ? State{Pending{}} : State{FailedRetryable{}});
          }
          EXPECT_EQ(next->fence, record.fence);
          EXPECT_EQ(next->owner, record.owner);
          EXPECT_EQ(next->attempt, record.attempt + (requeued ? 1 : 0));
          EXPECT_EQ(next->last_error, "lease-expired");
          EXPECT_EQ(broken_invariant(*next), std::nullopt);
        }
      }
    }
  }
}

TEST(Swept, WhatOnlyItsClientCanResumeIsWaitedForAsLongAsAnAnswerWouldBeKept) {
  Record record = an_in_progress_record();
  record.policy.on_lease_expiry = OnLeaseExpiry::resume;
  const Instant given_up = some_time() + record.policy.lease + record.policy.retention;
  EXPECT_FALSE(swept(record, given_up - 1us));
  const std::optional<Record> next = swept(record, given_up);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->state, State(Unknown{given_up, some_time() + record.policy.lease, some_time()}));
  EXPECT_EQ(next->last_error, "abandoned");
  record.request = StoredRequest{"/", {}, ""};
  EXPECT_FALSE(swept(record, given_up + 1h)) << "a worker has all that it needs";
}

TEST(Reaped, OnlyWhatIsPastItsRetentionGoes) {
  for (const auto& [status, name] : Names<Status>::table) {
    for (const WhenExpired expired : {WhenExpired::remove, WhenExpired::tombstone}) {
      for (const Duration past : {-1us, 0us, 3600000000us}) {
        Record record = in_state(an_in_progress_record(), status, some_time());
        record.policy.expired = expired;
        record.request = StoredRequest{"/", {}, "secret"};
        const Instant now = record.expires_at + past;
        const std::optional<Reaped> verdict = reaped(record, now);
        const bool never = status == Status::in_progress || status == Status::unknown;
        ASSERT_EQ(verdict.has_value(), past >= 0us && !never) << name;
        if (!verdict) continue;
        const bool finished = status == Status::completed || status == Status::failed_retryable;
        const bool tombstone = finished && expired == WhenExpired::tombstone;
        ASSERT_EQ(verdict->next.has_value(), tombstone || status == Status::pending) << name;
        if (!verdict->next) continue;
        EXPECT_EQ(verdict->next->fence, record.fence);
        EXPECT_EQ(broken_invariant(*verdict->next), std::nullopt);
        if (!tombstone) continue;
        EXPECT_EQ(verdict->next->state, State(Expired{}));
        EXPECT_EQ(verdict->next->expires_at, now + record.policy.tombstone_for);
        EXPECT_EQ(verdict->next->request, std::nullopt);
      }
    }
  }
}

TEST(Reaped, AbandonedRequestIsAnsweredWith408) {
  const Record record = in_state(an_in_progress_record(), Status::pending, some_time());
  const Instant now = record.expires_at;
  const Record next = reaped(record, now).value().next.value();
  const auto& done = std::get<Completed>(next.state);
  EXPECT_EQ(done.response.status, 408);
  EXPECT_EQ(done.completed_at, now);
  EXPECT_EQ(next.expires_at, now + record.policy.retention);
  EXPECT_EQ(find_header(done.response.headers, "Content-Type"), "application/problem+json");
  EXPECT_EQ(find_header(done.response.headers, "Pawl-Should-Retry"), "false");
  const auto document = json::read(done.response.body.value());
  EXPECT_EQ(document.value().find("type")->text, "urn:pawl:problem:abandoned");
}

TEST(Reaped, RequestThatAnOwnerHeldBeforeIsDoubtedNotCalledUnsent) {
  Record held = an_in_progress_record();
  held.policy.mode = Mode::async;
  held.policy.on_lease_expiry = OnLeaseExpiry::retry;
  held.request = StoredRequest{"/v1/payments", {}, "{}"};
  const Record pending = swept(held, some_time() + 1h).value();
  const Record next = reaped(pending, pending.expires_at).value().next.value();
  EXPECT_EQ(next.state, State(Unknown{pending.expires_at, pending.expires_at, pending.expires_at}));
  EXPECT_EQ(next.fence, held.fence);
}

}  // namespace
}  // namespace pawl
