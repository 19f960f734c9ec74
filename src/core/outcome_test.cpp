// Design section 4: what an outcome means, and what it does to a record.
#include "pawl/types/outcome.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "src/core/decision.hpp"
#include "src/core/records_for_tests.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using testing::an_in_progress_record;
using testing::in_state;
using testing::some_time;

Outcome answer(int status) { return Answered{{status, {{"Content-Type", "text/plain"}}, "x"}}; }
Outcome not_yet(const std::string& should_retry) {
  return Answered{
      {.status = 409, .headers = {{"Pawl-Should-Retry", should_retry}}, .body = "busy"}};
}

// A Pawl behind this one that waits for a person.
Outcome in_doubt_there() {
  return Answered{{.status = 409,
                   .headers = {{"Pawl-Should-Retry", "false"}},
                   .body = R"({"status":409,"code":"outcome-unknown"})"}};
}

Outcome said(int status, const std::string& word) {
  return Answered{{.status = status, .headers = {{"pawl-outcome", word}}, .body = "x"}};
}
Outcome said_both(const std::string& one, const std::string& other) {
  return Answered{
      {.status = 200, .headers = {{"Pawl-Outcome", one}, {"Pawl-Outcome", other}}, .body = "x"}};
}
Outcome refusal(int status) { return Answered{{status, {{"retry-after", "7"}}, "x"}}; }

struct Row {
  const char* what;
  std::vector<Outcome> outcomes;
  std::function<Settling(const StoredPolicy&)> becomes;
};

Settling settling_of(OnServerError rule) {
  if (rule == OnServerError::retry) return Settling::release;
  return rule == OnServerError::hold ? Settling::doubt : Settling::complete;
}

// Design section 4, the left column and the right one.
const std::vector<Row>& evidence_table() {
  using How = Lost::How;
  static const auto released_if_transactional = [](auto otherwise) {
    return
        [=](const StoredPolicy& p) { return p.transactional ? Settling::release : otherwise(p); };
  };
  static const auto doubt = [](const StoredPolicy&) { return Settling::doubt; };
  static const auto by_refusal = [](const StoredPolicy& p) {
    return p.on_refusal == OnRefusal::hold ? Settling::doubt : Settling::release;
  };
  static const std::vector<Row> table{
      {"not one byte written", {NotSent{"dns"}}, [](const auto&) { return Settling::release; }},
      {"written, then timeout, reset, cut off",
       {Lost{How::timeout, "t"}, Lost{How::reset, "r"}, Lost{How::bad_response, "b"}},
       released_if_transactional(doubt)},
      {"full answer 2xx, 3xx, 4xx",
       {answer(200), answer(201), answer(204), answer(301), answer(400), answer(404), answer(409),
        answer(422), refusal(202), refusal(404)},
       [](const auto&) { return Settling::complete; }},
      {"401, 408, 421, 425, 429: refused before anything was done",
       {answer(401), answer(408), answer(421), answer(425), answer(429), refusal(429)},
       by_refusal},
      {"the service says: not executed",
       {said(200, "not-executed"), said(404, "not-executed"), said(500, "not-executed")},
       [](const auto&) { return Settling::release; }},
      {"the service says: executed",
       {said(201, "executed"), said(429, "executed"), said(500, "executed"), said(504, "executed")},
       [](const auto&) { return Settling::complete; }},
      {"the service says: unknown, or what nobody understands",
       {said(201, "unknown"), said(500, "unknown"), said(200, ""), said(200, "Executed"),
        said(200, "no"), said_both("executed", "not-executed")},
       released_if_transactional(doubt)},
      {"409 of a Pawl behind this one: not yet", {not_yet("true"), in_doubt_there()}, by_refusal},
      {"409 of a Pawl behind this one: no use to retry",
       {not_yet("false")},
       [](const auto&) { return Settling::complete; }},
      {"503 with Retry-After", {refusal(503)}, released_if_transactional(by_refusal)},
      {"500, 501, other 5xx",
       {answer(500), answer(501), answer(503), answer(505), answer(599), refusal(500)},
       released_if_transactional(
           [](const StoredPolicy& p) { return settling_of(p.on_server_error); })},
      {"502, 504",
       {answer(502), answer(504), refusal(502)},
       released_if_transactional([](const StoredPolicy& p) {
         return p.on_server_error == OnServerError::store ? Settling::complete : Settling::doubt;
       })},
      {"no final HTTP status",
       {answer(0), answer(101), answer(199), answer(600), answer(999)},
       released_if_transactional(doubt)},
  };
  return table;
}

std::vector<StoredPolicy> every_policy() {
  std::vector<StoredPolicy> all;
  for (const auto& [on_server_error, name] : Names<OnServerError>::table) {
    for (const OnRefusal on_refusal : {OnRefusal::release, OnRefusal::hold}) {
      for (const bool transactional : {false, true}) {
        StoredPolicy policy;
        policy.on_server_error = on_server_error;
        policy.on_refusal = on_refusal;
        policy.transactional = transactional;
        all.push_back(policy);
      }
    }
  }
  return all;
}

TEST(Classify, FollowsTheTableForEveryOutcomeAndPolicy) {
  for (const Row& row : evidence_table()) {
    for (const Outcome& outcome : row.outcomes) {
      for (const StoredPolicy& policy : every_policy()) {
        EXPECT_EQ(classify(outcome, policy), row.becomes(policy))
            << row.what << ", outcome " << outcome.index() << ' ' << encode(policy);
      }
    }
  }
}

TEST(Classify, WhatItsOwnerCallsTheAnswerIsTheAnswer) {
  for (const StoredPolicy& policy : every_policy()) {
    for (const int status : {200, 302, 404, 429, 500, 502, 503, 504, 599}) {
      const Outcome said = Answered{{status, {{"Retry-After", "7"}}, "x"}, true};
      EXPECT_EQ(classify(said, policy), Settling::complete) << status;
    }
    const Outcome none = Answered{{199, {}, "x"}, true};
    EXPECT_NE(classify(none, policy), Settling::complete) << "no final HTTP status";
  }
}

TEST(Classify, EvidenceSaysHowFarItGot) {
  EXPECT_EQ(evidence_of(NotSent{""}), Evidence::not_sent);
  EXPECT_EQ(evidence_of(Lost{}), Evidence::sent);
  EXPECT_EQ(evidence_of(answer(500)), Evidence::answered);
}

Status status_after(Settling settling) {
  switch (settling) {
    case Settling::complete: return Status::completed;
    case Settling::release: return Status::failed_retryable;
    case Settling::doubt: return Status::unknown;
  }
  return Status::expired;
}

// The states a late answer may find its record in (design section 4; pending: swept back).
constexpr Status settles_from[]{Status::in_progress, Status::unknown, Status::failed_retryable,
                                Status::pending};

TEST(Settled, IsWhatTheOutcomeMeansAndKeepsEverythingElse) {
  const Instant now = some_time() + 50h;  // later than created_at + retention
  for (const Row& row : evidence_table()) {
    for (const Outcome& outcome : row.outcomes) {
      for (StoredPolicy policy : every_policy()) {
        for (const Status from : settles_from) {
          for (const RetentionFrom since : {RetentionFrom::completed, RetentionFrom::created}) {
            policy.retention_from = since;
            Record held = in_state(an_in_progress_record(), from, some_time() + 1h);
            held.policy = policy;
            held.recovery_point = "charged";
            const Record next = settled(held, outcome, now, {});
            ASSERT_EQ(status_of(next), status_after(classify(outcome, policy))) << row.what;
            ASSERT_EQ(broken_invariant(next), std::nullopt) << row.what;
            const bool completed = status_of(next) == Status::completed;
            ASSERT_TRUE(!completed || next.expires_at >= now + policy.retention);
            ASSERT_EQ(next.last_error.empty(), completed);
            Record unchanged = next;
            unchanged.state = held.state;
            unchanged.last_error = held.last_error;
            unchanged.expires_at = held.expires_at;
            ASSERT_EQ(unchanged, held) << row.what << ": fence, owner and the rest stay";
          }
        }
      }
    }
  }
}

TEST(Settled, WhatTheServiceSaysOfItsAnswerIsNotKept) {
  const Response response{
      .status = 201, .headers = {{"Pawl-Outcome", "executed"}, {"X-Kept", "1"}}, .body = "x"};
  const StoredResponse kept = storable(response, {});
  EXPECT_EQ(kept.headers, (Headers{{"X-Kept", "1"}}));
}

TEST(Settled, AcceptedWorkThatWasRefusedGoesBackToTheQueueNotBeforeItsTime) {
  const Instant now = some_time() + 5s;
  for (const Outcome& outcome :
       {refusal(429), refusal(503), answer(500), said(200, "not-executed")}) {
    const Record held = an_async_record();
    const Record next = settled(held, outcome, now, {});
    const auto* waits = std::get_if<Pending>(&next.state);
    ASSERT_NE(waits, nullptr);
    const bool asked = std::holds_alternative<Answered>(outcome) &&
                       retry_after(std::get<Answered>(outcome).response.headers, now).has_value();
    EXPECT_GE(waits->not_before, asked ? now + 7s : Instant{});
    EXPECT_EQ(next.attempt, held.attempt + 1);
    EXPECT_EQ(next.request, held.request);
  }
}

TEST(Settled, WhatNeverLeftIsNoAttemptAndEndsByExpiry) {
  Record held = an_async_record();
  held.policy.max_attempts = 1;
  const Instant accepted_until = held.expires_at;
  SettleOptions options;
  options.try_again_in = 7s;
  for (int i = 1; i <= 100; ++i) {
    const Instant now = some_time() + i * 1min;
    held = settled(held, NotSent{"connection refused"}, now, options);
    ASSERT_EQ(held.state, State(Pending{now + 7s}));
    ASSERT_EQ(held.attempt, 1);
    ASSERT_EQ(held.expires_at, accepted_until);
    ASSERT_FALSE(broken_invariant(held));
    if (i < 100) held = claimed(held, {.owner = Owner{"worker"}, .now = now + 8s}).value();
  }
  const Record over = reaped(held, accepted_until).value().next.value();
  EXPECT_EQ(std::get<Completed>(over.state).response.status, 408) << "nothing was ever sent";
  // One that was refused before may have been sent: nobody is told to use a new key.
  Record refused_once = an_async_record();
  refused_once = settled(refused_once, refusal(429), some_time() + 5s, {});
  refused_once = claimed(refused_once, {.owner = Owner{"worker"}, .now = some_time() + 1h}).value();
  refused_once = settled(refused_once, NotSent{"away"}, some_time() + 2h, {});
  EXPECT_EQ(refused_once.attempt, 2);
  EXPECT_EQ(status_of(reaped(refused_once, refused_once.expires_at).value().next.value()),
            Status::unknown);
}

TEST(Settled, AcceptedWorkOutOfAttemptsIsADeadLetterThatNobodyReaps) {
  Record held = an_async_record();
  held.attempt = held.policy.max_attempts;
  const Record next = settled(held, answer(500), some_time(), {});
  EXPECT_TRUE(is_dead_letter(next));
  EXPECT_EQ(next.request, held.request);
  const std::optional<Reaped> late = reaped(next, next.expires_at);
  ASSERT_TRUE(late && late->next) << "not deleted, but out of the reaper's way";
  EXPECT_TRUE(is_dead_letter(*late->next));
  EXPECT_FALSE(reaped(*late->next, next.expires_at + 24h * 365 * 100));
  const Record done = settled(*late->next, answer(201), some_time() + 100h, {});
  EXPECT_EQ(done.expires_at, some_time() + 100h + done.policy.retention);
  Record sync = in_state(an_in_progress_record(), Status::failed_retryable, some_time());
  EXPECT_FALSE(is_dead_letter(sync));
  EXPECT_TRUE(reaped(sync, sync.expires_at));
}

TEST(Settled, WhatAWorkerWasToSendGoesWithCompletion) {
  const Record next = settled(an_async_record(), answer(201), some_time(), {});
  EXPECT_EQ(status_of(next), Status::completed);
  EXPECT_FALSE(next.request);
}

TEST(Settled, DoubtRemembersWhenTheLeaseEnded) {
  const Instant now = some_time() + 1h;
  const Record held = an_in_progress_record();
  Record doubted = settled(held, Lost{}, now, {});
  const Unknown expected{now, some_time() + held.policy.lease, some_time()};
  EXPECT_EQ(doubted.state, State(expected));
  EXPECT_EQ(settled(doubted, Lost{}, now + 1h, {}).state,
            State(Unknown{now + 1h, expected.locked_until, some_time()}));
  doubted.state = FailedRetryable{};
  EXPECT_EQ(settled(doubted, Lost{}, now, {}).state, State(Unknown{now, now, now}));
}

// Released, it could be forgotten with its charge made and nothing to show for it.
TEST(Settled, AFlowThatGotSomewhereIsLeftToBeResumedNotReleased) {
  Record held = an_in_progress_record();
  held.policy.on_lease_expiry = OnLeaseExpiry::resume;
  const Instant now = some_time() + 10s;
  EXPECT_EQ(status_of(settled(held, NotSent{"why"}, now, {})), Status::failed_retryable);
  held.recovery_point = "charge";
  EXPECT_EQ(status_of(settled(held, NotSent{"why"}, now, {})), Status::failed_retryable)
      << "nobody but its client could go on with it";
  held.request = StoredRequest{"/v1/payments", {}, "{}"};
  const Record left = settled(held, NotSent{"why"}, now, {});
  EXPECT_EQ(left.state, State(InProgress{some_time(), now}));
  EXPECT_EQ(left.recovery_point, "charge");
  EXPECT_EQ(left.last_error, "stopped: why");
  EXPECT_FALSE(broken_invariant(left));
  // Its lease may be over already, and a clock may be behind its beginning.
  const Instant lease_end = some_time() + held.policy.lease;
  EXPECT_EQ(settled(held, NotSent{}, some_time() + 1h, {}).state,
            State(InProgress{some_time(), lease_end}));
  EXPECT_EQ(settled(held, NotSent{}, some_time() - 1s, {}).state,
            State(InProgress{some_time(), some_time()}));
  EXPECT_EQ(status_of(settled(held, Lost{}, now, {})), Status::unknown);
}

TEST(Settled, ReleaseIsKeptForTheRetention) {
  Record held = an_in_progress_record();
  EXPECT_EQ(settled(held, NotSent{}, some_time() + 1h, {}).expires_at, some_time() + 49h);
  held.policy.retention_from = RetentionFrom::created;
  EXPECT_EQ(settled(held, NotSent{}, some_time() + 1h, {}).expires_at, some_time() + 48h);
}

TEST(Settled, AnswerIsStoredAsItWillBeReplayed) {
  const std::string bytes("\0\xFF{\"b\": 1.0,\n\"a\":2}", 19);
  const Response response{201,
                          {{"Content-Type", "application/json"},
                           {"content-length", "19"},
                           {"Location", "/p/1"},
                           {"Set-Cookie", "s=1"},
                           {"DATE", "today"},
                           {"Connection", "close, X-Hop ,,x-other"},
                           {"connection", "x-third"},
                           {"X-Third", "3"},
                           {"x-hop", "1"},
                           {"X-Other", "2"},
                           {"Keep-Alive", "5"},
                           {"Transfer-Encoding", "chunked"},
                           {"Trailer", "t"},
                           {"Upgrade", "h2c"},
                           {"traceparent", "00-1"},
                           {"tracestate", "a=1"},
                           {"X-B3-TraceId", "1"},
                           {"Link", "</1>"},
                           {"Link", "</2>"},
                           {"X-Hopper", "kept"}},
                          bytes};
  const Record next = settled(an_in_progress_record(), Answered{response}, some_time(), {});
  const StoredResponse& stored = std::get<Completed>(next.state).response;
  EXPECT_EQ(stored.status, 201);
  EXPECT_EQ(stored.body, bytes);
  const Headers kept{{"Content-Type", "application/json"},
                     {"Location", "/p/1"},
                     {"Link", "</1>"},
                     {"Link", "</2>"},
                     {"X-Hopper", "kept"}};
  EXPECT_EQ(stored.headers, kept);
}

TEST(Settled, AnswerTooLargeCompletesWithItsBodyWithheld) {
  const Outcome outcome = Answered{{200, {}, std::string(100, 'x')}};
  const auto body_with = [&](std::size_t limit) {
    const Record next = settled(an_in_progress_record(), outcome, some_time(), {limit, "", ""});
    return std::get<Completed>(next.state).response.body;
  };
  EXPECT_EQ(body_with(100), std::string(100, 'x'));
  EXPECT_EQ(body_with(99), std::nullopt);
}

TEST(Settled, HeaderFieldsCountAsPartOfAnAnswerAndOneWithoutABodyHasNothingToWithhold) {
  const auto body_kept = [](const std::string& body, std::size_t limit) {
    const Response response{200, {{"X-A", "1234567"}, {"Date", "not kept"}}, body};
    return storable(response, {limit, "", ""}).body;
  };
  EXPECT_EQ(body_kept("0123456789", 20), "0123456789");
  EXPECT_EQ(body_kept("0123456789", 19), std::nullopt);
  EXPECT_EQ(body_kept("", 0), "");
}

TEST(SettledDeathTest, CompletedIsImmutableAndATombstoneStaysOne) {
  for (const Status status : {Status::completed, Status::expired}) {
    const Record record = in_state(an_in_progress_record(), status, some_time());
    EXPECT_DEATH(std::ignore = settled(record, answer(200), some_time(), {}), "completed");
  }
}

TEST(Settled, AnAnswerThatNamesWhatItMadeIsFoundByThatName) {
  const Record held = testing::an_in_progress_record("a-key-0000000001", "owner");
  const Response answer{.status = 201,
                        .headers = {{"X-Payment", "pay_7"}},
                        .body = R"({"data":{"id":"pay_8","no":9}})"};
  const auto named = [&](const std::string& where) {
    const SettleOptions options{1000, "payment", where};
    const Record done = settled(held, Answered{answer}, held.created_at, options);
    return done.resource_type + " " + done.resource_id;
  };
  EXPECT_EQ(named("header:x-payment"), "payment pay_7");
  EXPECT_EQ(named("/data/id"), "payment pay_8");
  EXPECT_EQ(named("/data/no"), "payment 9");
  EXPECT_EQ(named("/data"), " ") << "an object is no name";
  EXPECT_EQ(named("/none"), " ");
  EXPECT_EQ(named(""), " ");
}

}  // namespace
}  // namespace pawl
