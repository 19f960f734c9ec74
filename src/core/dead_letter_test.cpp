#include "src/core/dead_letter.hpp"

#include <gtest/gtest.h>

#include "src/core/stored_error.hpp"
#include "testing/builders.hpp"

namespace pawl {
namespace {

using std::chrono::hours;

Record dead() {
  Record record = testing::in_state(testing::an_in_progress_record("dead-letter-key-1"),
                                    Status::failed_retryable, testing::some_time());
  record.policy.mode = Mode::async;
  record.policy.max_attempts = 3;
  record.attempt = 3;
  record.request = StoredRequest{.target = "/", .headers = {}, .body = "{}"};
  record.last_error = "answered: 500";
  return record;
}

TEST(DeadLetter, RequeuedItHasAllItsAttemptsAndSaysThatItWasTried) {
  const Instant now = dead().expires_at + hours(100);
  const std::optional<Record> next = requeued(dead(), now);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->state, State(Pending{now}));
  EXPECT_EQ(next->attempt, 4);
  EXPECT_EQ(next->policy.max_attempts, 6) << "as many again";
  EXPECT_EQ(next->expires_at, now + next->policy.retention);
  EXPECT_GT(next->fence, dead().fence);
  // Nobody worked it off: it must not be told that nothing was ever sent.
  const std::optional<Reaped> over = reaped(*next, next->expires_at);
  ASSERT_TRUE(over && over->next);
  EXPECT_EQ(status_of(*over->next), Status::unknown);
}

// Proof that it was executed, if it comes before a worker, still ends it.
TEST(DeadLetter, RequeuedItIsStillResolvedAsNotExecuted) {
  Record record = dead();
  record.last_error = "resolved: not executed";
  EXPECT_FALSE(resolved_as_not_executed(requeued(record, testing::some_time()).value()));
  record.state = FailedRetryable{.resolved_not_executed = true};
  const Record next = requeued(record, testing::some_time()).value();
  EXPECT_TRUE(resolved_as_not_executed(next));
  EXPECT_FALSE(broken_invariant(next));
}

TEST(DeadLetter, DiscardedItIsAnswered) {
  const Instant now = dead().expires_at + hours(100);
  const std::optional<Record> next = discarded(dead(), now);
  ASSERT_TRUE(next);
  ASSERT_EQ(status_of(*next), Status::completed);
  EXPECT_EQ(std::get<Completed>(next->state).response.status, 408);
  EXPECT_FALSE(next->request);
  EXPECT_EQ(next->expires_at, now + next->policy.retention);
  EXPECT_FALSE(broken_invariant(*next));
}

TEST(DeadLetter, IsAsyncAndOutOfAttemptsAndNothingElse) {
  Record sync = dead();
  sync.policy.mode = Mode::sync;
  EXPECT_FALSE(requeued(sync, testing::some_time()));
  EXPECT_FALSE(discarded(sync, testing::some_time()));
  for (const Status status : {Status::pending, Status::in_progress, Status::completed,
                              Status::unknown, Status::expired}) {
    const Record other = testing::in_state(dead(), status, testing::some_time());
    EXPECT_FALSE(requeued(other, testing::some_time())) << to_text(status);
    EXPECT_FALSE(discarded(other, testing::some_time())) << to_text(status);
  }
}

TEST(DeadLetter, ADiscardedOneTellsItsClientNoMoreThanIsKnown) {
  const auto told = [](const std::string& last_error, OnServerError on_server_error) {
    Record record = dead();
    read_stored_error(record, last_error);
    record.policy.on_server_error = on_server_error;
    const Record next = discarded(record, record.created_at).value();
    return std::get<Completed>(next.state).response.body.value();
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const std::string may_have = "it may have been executed";
  EXPECT_TRUE(has(told("answered: 500", OnServerError::retry), may_have));
  EXPECT_TRUE(has(told("lease-expired", OnServerError::hold), may_have));
  EXPECT_TRUE(has(told("answered: 429", OnServerError::retry), "it was refused"));
  EXPECT_FALSE(has(told("answered: 429", OnServerError::retry), may_have));
  const std::string said = told("answered: 500, Pawl-Outcome: not-executed", OnServerError::retry);
  EXPECT_TRUE(has(said, "said that it had not executed it"));
  EXPECT_TRUE(has(told("resolved: not executed", OnServerError::hold), "found not to have been"));
  for (const char* error : {"answered: 500", "answered: 429", "lease-expired"}) {
    EXPECT_FALSE(has(told(error, OnServerError::retry), "never executed")) << error;
  }
}

}  // namespace
}  // namespace pawl
