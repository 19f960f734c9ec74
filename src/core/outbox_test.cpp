// What becomes of an outbox row: the whole product of outcomes, destinations and histories.
#include "src/core/outbox.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const Instant now{1'000'000s};

OutboxRow claimed() {
  OutboxRow row;
  row.scope.text = "caller:a";
  row.id = "row-1";
  row.destination = "provider";
  row.derived_key = "derived";
  row.owner = "worker-1";
  row.locked_until = now + 30s;
  row.next_attempt_at = now + 30s;
  row.created_at = now - 1min;
  return row;
}

DestinationRules rules(bool dedupes = true) {
  DestinationRules one;
  one.dedupes = dedupes;
  one.max_attempts = 3;
  one.provider_id = "/id";
  return one;
}

Outcome answered(int status, Headers headers = {}, std::string body = R"({"id":"ch_1"})") {
  Answered answer;
  answer.response = {status, std::move(headers), std::move(body)};
  return answer;
}

OutboxRow sent(const OutboxRow& row) { return marked_sending(row, now, now + 60s); }

OutboxRow after(const OutboxRow& row, const Outcome& outcome,
                const DestinationRules& by = rules()) {
  return settled(row, sent(row), outcome, by, {.now = now, .chance = 1, .failures_in_a_row = 1});
}

TEST(Outbox, MarkingCountsTheAttemptAndStartsTheWindowOnce) {
  const OutboxRow first = sent(claimed());
  EXPECT_EQ(first.status, OutboxStatus::sending);
  EXPECT_EQ(first.attempt, 1);
  EXPECT_EQ(first.first_sent_at, now);
  EXPECT_EQ(first.locked_until, now + 60s);
  EXPECT_EQ(first.next_attempt_at, now + 60s);
  const OutboxRow second = marked_sending(first, now + 5min, now + 6min);
  EXPECT_EQ(second.attempt, 2);
  EXPECT_EQ(second.first_sent_at, now);
}

TEST(Outbox, EveryOutcomeOnItsFirstTry) {
  struct Case {
    const char* name;
    Outcome outcome;
    OutboxStatus dedupes;      // what becomes of it at a destination that dedupes
    OutboxStatus not_dedupes;  // and at one that does not
    bool in_doubt;             // may it have happened?
  };
  using enum OutboxStatus;
  std::vector<Case> cases{
      {"not sent", NotSent{"refused"}, pending, pending, false},
      {"timeout", Lost{Lost::How::timeout, "late"}, pending, unknown, true},
      {"reset", Lost{Lost::How::reset, "gone"}, pending, unknown, true},
      {"bad response", Lost{Lost::How::bad_response, "?"}, pending, unknown, true},
      {"408", answered(408), pending, unknown, true},
      {"409", answered(409), pending, dead, true},
      {"425", answered(425), pending, pending, false},
      {"429", answered(429), pending, pending, false},
      {"503 later", answered(503, {{"Retry-After", "1"}}), pending, pending, false},
  };
  for (const int status : {200, 201, 202, 204, 299}) {
    cases.push_back({"2xx", answered(status), done, done, true});
  }
  for (const int status : {300, 301, 302, 307, 308, 399, 400, 401, 403, 404, 410, 422, 451, 499}) {
    cases.push_back({"refusal", answered(status), dead, dead, false});
  }
  for (const int status : {500, 501, 502, 503, 504, 599}) {
    cases.push_back({"5xx", answered(status), pending, unknown, true});
  }
  for (const Case& each : cases) {
    const auto* answer = std::get_if<Answered>(&each.outcome);
    SCOPED_TRACE(std::string(each.name) + " " +
                 std::to_string(answer == nullptr ? 0 : answer->response.status));
    const OutboxRow at_deduping = after(claimed(), each.outcome, rules(true));
    const OutboxRow at_other = after(claimed(), each.outcome, rules(false));
    EXPECT_EQ(at_deduping.status, each.dedupes);
    EXPECT_EQ(at_other.status, each.not_dedupes);
    EXPECT_EQ(at_deduping.first_sent_at.has_value(), each.in_doubt);
    EXPECT_FALSE(at_deduping.locked_until);
    EXPECT_EQ(at_deduping.owner, "worker-1");
    EXPECT_EQ(at_deduping.response_code.has_value(), answer != nullptr);
    const bool reached = !std::holds_alternative<NotSent>(each.outcome);
    EXPECT_EQ(at_deduping.attempt, reached ? 1 : 0);
  }
}

// The one that would move money twice: whatever happens next, what may have happened at a
// destination that does not dedupe is never pending again.
TEST(Outbox, WhatMayHaveHappenedIsNeverSentAgainWhereNothingDedupes) {
  OutboxRow row = claimed();
  row.first_sent_at = now - 1min;
  row.attempt = 1;
  for (const OutboxStatus status : {OutboxStatus::pending, OutboxStatus::sending}) {
    row.status = status;
    EXPECT_FALSE(may_send(row, rules(false), now));
    EXPECT_EQ(parked(row, rules(false), now)->status, OutboxStatus::unknown);
  }
  for (int status = 300; status < 600; ++status) {
    EXPECT_NE(after(row, answered(status), rules(false)).status, OutboxStatus::pending) << status;
  }
  EXPECT_NE(after(row, NotSent{"x"}, rules(false)).status, OutboxStatus::pending);
  EXPECT_NE(after(row, Lost{}, rules(false)).status, OutboxStatus::pending);
}

TEST(Outbox, TheWindowEndsWhereTheCallCouldArriveTooLate) {
  OutboxRow row = claimed();
  row.status = OutboxStatus::sending;
  row.attempt = 1;
  row.first_sent_at = now - 24h + 30s;
  EXPECT_FALSE(may_send(row, rules(), now));
  EXPECT_EQ(parked(row, rules(), now)->status, OutboxStatus::unknown);
  EXPECT_THAT(parked(row, rules(), now)->last_error, HasSubstr("dedupe_window"));
  row.first_sent_at = now - 24h + 31s;
  EXPECT_TRUE(may_send(row, rules(), now));
  EXPECT_EQ(parked(row, rules(), now), std::nullopt);
}

TEST(Outbox, ASendingRowWithoutADateIsNotSentAgain) {
  OutboxRow row = claimed();
  row.status = OutboxStatus::sending;
  EXPECT_EQ(parked(row, rules(true), now)->status, OutboxStatus::unknown);
}

TEST(Outbox, ADoubtThatIsOlderThanARefusalStays) {
  OutboxRow row = claimed();
  row.first_sent_at = now - 1h;
  row.attempt = 1;
  EXPECT_EQ(after(row, answered(422)).first_sent_at, now - 1h);
  EXPECT_EQ(after(row, answered(429)).first_sent_at, now - 1h);
  EXPECT_EQ(after(row, NotSent{"x"}).first_sent_at, now - 1h);
}

TEST(Outbox, MaxAttemptsEndInTheDeadLetters) {
  OutboxRow row = claimed();
  for (int attempt = 1; attempt <= 3; ++attempt) {
    row = after(row, answered(500));
    EXPECT_EQ(row.attempt, attempt);
    EXPECT_EQ(row.status, attempt < 3 ? OutboxStatus::pending : OutboxStatus::dead);
  }
  EXPECT_EQ(row.last_error, "out of attempts; answered 500");
}

TEST(Outbox, AWorkerThatDiedInTheLastAttemptLeavesADeadLetter) {
  OutboxRow row = claimed();
  row.status = OutboxStatus::sending;
  row.first_sent_at = now;
  row.attempt = 3;
  EXPECT_EQ(parked(row, rules(), now)->status, OutboxStatus::dead);
  row.attempt = 2;
  EXPECT_EQ(parked(row, rules(), now), std::nullopt);
}

TEST(Outbox, ADestinationThatIsAwayUsesUpNoAttempts) {
  OutboxRow row = claimed();
  for (int i = 0; i < 100; ++i) row = after(row, NotSent{"connection refused"});
  EXPECT_EQ(row.status, OutboxStatus::pending);
  EXPECT_EQ(row.attempt, 0);
}

TEST(Outbox, DoneKeepsTheProvidersName) {
  const OutboxRow row = after(claimed(), answered(201));
  EXPECT_EQ(row.provider_id, "ch_1");
  EXPECT_EQ(row.done_at, now);
  EXPECT_EQ(row.response_code, 201);
  EXPECT_EQ(row.last_error, "");
  const OutboxRow nameless = after(claimed(), answered(200, {}, "ok"));
  EXPECT_EQ(nameless.status, OutboxStatus::done);
  EXPECT_THAT(nameless.last_error, HasSubstr("/id"));
}

TEST(Outbox, BackoffDoublesUpToItsLimitAndJitterTakesAnyPart) {
  DestinationRules some;
  some.backoff_min = 1s;
  some.backoff_max = 10s;
  EXPECT_EQ(backoff(some, 0, 1), 1s);
  EXPECT_EQ(backoff(some, 1, 1), 1s);
  EXPECT_EQ(backoff(some, 2, 1), 2s);
  EXPECT_EQ(backoff(some, 4, 1), 8s);
  EXPECT_EQ(backoff(some, 5, 1), 10s);
  EXPECT_EQ(backoff(some, 1'000'000, 1), 10s);
  EXPECT_EQ(backoff(some, 4, 0.25), 2s);
  EXPECT_EQ(backoff(some, 4, 0), 0s);
}

TEST(Outbox, RetryAfterIsHeededWithinReason) {
  EXPECT_EQ(after(claimed(), answered(429, {{"Retry-After", "20"}})).next_attempt_at, now + 20s);
  EXPECT_EQ(after(claimed(), answered(429, {{"Retry-After", "999999"}})).next_attempt_at,
            now + 10min);
  EXPECT_EQ(after(claimed(), answered(429, {{"Retry-After", "soon"}})).next_attempt_at, now + 1s);
  EXPECT_EQ(after(claimed(), answered(500)).next_attempt_at, now + 1s);
}

TEST(Outbox, ErrorsArePlainText) {
  const OutboxRow row = after(claimed(), NotSent{"caf\xc3\xa9\n" + std::string(1000, 'x')});
  EXPECT_THAT(row.last_error, HasSubstr("caf???x"));
  EXPECT_LE(row.last_error.size(), 500U);
}

TEST(Outbox, TheBreakerCountsWhatTheDestinationCannotHelp) {
  EXPECT_TRUE(is_trouble(NotSent{}));
  EXPECT_TRUE(is_trouble(Lost{}));
  EXPECT_TRUE(is_trouble(answered(500)));
  EXPECT_FALSE(is_trouble(answered(429)));
  EXPECT_FALSE(is_trouble(answered(404)));
  EXPECT_FALSE(is_trouble(answered(200)));
}

OutboxRow in(OutboxStatus status) {
  OutboxRow row = claimed();
  row.status = status;
  row.locked_until.reset();
  row.attempt = 3;
  if (status != OutboxStatus::pending) row.first_sent_at = now - 1h;
  return row;
}

Expected<OutboxRow, std::string> order(const OutboxRow& row, OutboxAction action,
                                       bool nothing_happened = false) {
  return ordered(row, {action, nothing_happened, "ch_9"}, now);
}

TEST(OutboxOrders, EveryOrderInEveryStatus) {
  using enum OutboxStatus;
  struct Case {
    OutboxStatus status;
    std::optional<OutboxStatus> retry, retry_knowing, discard, confirm;
  };
  const std::vector<Case> cases{
      {pending, pending, pending, dead, std::nullopt},
      {sending, std::nullopt, pending, dead, done},
      {done, std::nullopt, std::nullopt, std::nullopt, std::nullopt},
      {dead, pending, pending, dead, done},
      {unknown, std::nullopt, pending, dead, done},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(to_text(each.status));
    const auto expect = [&](std::optional<OutboxStatus> wanted, OutboxAction action, bool knowing) {
      const Expected<OutboxRow, std::string> result = order(in(each.status), action, knowing);
      EXPECT_EQ(result.has_value(), wanted.has_value()) << to_text(action);
      if (result && wanted) {
        EXPECT_EQ(result->status, *wanted) << to_text(action);
        EXPECT_EQ(result->owner, "");
        EXPECT_FALSE(result->locked_until);
      }
    };
    expect(each.retry, OutboxAction::retry, false);
    expect(each.retry_knowing, OutboxAction::retry, true);
    expect(each.discard, OutboxAction::discard, false);
    expect(each.confirm, OutboxAction::confirm, false);
  }
}

TEST(OutboxOrders, NobodyTakesARowFromALivingWorker) {
  for (const auto& [status, name] : Names<OutboxStatus>::table) {
    OutboxRow row = in(status);
    row.locked_until = now + 1s;
    for (const auto& [action, word] : Names<OutboxAction>::table) {
      EXPECT_FALSE(order(row, action, true)) << name << " " << word;
    }
  }
}

// A dead letter that may have happened is sent again under its old key, so its window still counts.
TEST(OutboxOrders, ARetryForgetsADoubtOnlyWhenToldThatNothingHappened) {
  const OutboxRow again = order(in(OutboxStatus::dead), OutboxAction::retry).value();
  EXPECT_EQ(again.first_sent_at, now - 1h);
  EXPECT_EQ(again.attempt, 0);
  EXPECT_EQ(again.next_attempt_at, now);
  EXPECT_EQ(parked(again, rules(false), now)->status, OutboxStatus::unknown);
  const OutboxRow told = order(in(OutboxStatus::unknown), OutboxAction::retry, true).value();
  EXPECT_EQ(told.first_sent_at, std::nullopt);
  EXPECT_EQ(parked(told, rules(false), now), std::nullopt);
}

TEST(OutboxOrders, ConfirmKeepsTheProvidersName) {
  const OutboxRow row = order(in(OutboxStatus::unknown), OutboxAction::confirm).value();
  EXPECT_EQ(row.provider_id, "ch_9");
  EXPECT_EQ(row.done_at, now);
}

TEST(OutboxOrders, DiscardedIsNotDiscardedTwiceAndMayBeRetried) {
  const OutboxRow gone = order(in(OutboxStatus::dead), OutboxAction::discard).value();
  EXPECT_EQ(gone.discarded_at, now);
  EXPECT_FALSE(order(gone, OutboxAction::discard));
  EXPECT_EQ(order(gone, OutboxAction::retry)->discarded_at, std::nullopt);
}

}  // namespace
}  // namespace pawl
