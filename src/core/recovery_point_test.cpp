#include "src/core/recovery_point.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "pawl/types/outcome.hpp"
#include "testing/builders.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using testing::an_in_progress_record;
using testing::some_time;

TEST(RecoveryPoint, ComesBackAsItWasWritten) {
  const std::vector<RecoveryPoint> points{
      {"start", {}, {}},
      {"charge", {{"payment", "pay_1"}, {"note", "a&b=c?d%e \xff\n\xc3\xa4"}, {"", ""}}, {}},
      {"charge", {}, SendIntent{Instant(1767225600000001us), "4f1c"}},
      {"charge", {{"~sending", "7"}, {"~as", "x"}}, SendIntent{Instant(1us), "a b"}},
      {"charge",
       {{"payment", "pay_1"}},
       SendIntent{Instant(1us), "a b"},
       Response{201, {{"X-A", "b: c"}, {"X-A", "\xff"}}, std::string("{}&~body=\0", 10)}},
      {"charge", {}, SendIntent{Instant(1us), "k"}, Response{402, {}, ""}},
  };
  for (const RecoveryPoint& point : points) {
    const std::string text = encode(point);
    EXPECT_EQ(decode_recovery_point(text), point) << text;
    EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127; })) << text;
  }
}

TEST(RecoveryPoint, ReadsLikeWhatItSays) {
  const RecoveryPoint point{
      "charge", {{"payment", "pay_1"}}, SendIntent{Instant(1767225600000000us), "4f1c"}};
  EXPECT_EQ(encode(point), "charge?payment=pay_1&~as=4f1c&~sending=1767225600000000");
}

TEST(RecoveryPoint, WhatItDoesNotWriteItDoesNotRead) {
  for (const char* text : {"",
                           "?",
                           "charge?",
                           "charge?x",
                           "char ge",
                           "charge?a=1&a=2",
                           "charge?a=%4",
                           "charge?a=%zz",
                           "charge?~sending=1",
                           "charge?~as=k",
                           "charge?~as=k&~sending=",
                           "charge?~as=k&~sending=1x",
                           "charge?a=b c",
                           "charge?~status=201&~body=",
                           "charge?~as=k&~sending=1&~status=201",
                           "charge?~as=k&~sending=1&~status=99&~body=",
                           "charge?~as=k&~sending=1&~status=x&~body=",
                           "charge?~as=k&~sending=1&~body=",
                           "charge?~as=k&~sending=1&~status=7",
                           "charge?~as=k&~sending=1&~status=",
                           "charge?~as=k&~sending=1&~field=A%3Ab",
                           "charge?~as=k&~sending=1&~other=1",
                           "charge?~as=k&~sending=1&~status=201&~field=a&~body="}) {
    EXPECT_FALSE(decode_recovery_point(text)) << text;
  }
}

constexpr const char* charging = "charge?payment=pay_1&~as=4f1c&~sending=1767225600000000";

Record a_call_in_doubt(std::string recovery_point) {
  Record record = an_in_progress_record();
  record.policy.on_lease_expiry = OnLeaseExpiry::resume;
  record.request = StoredRequest{"/v1/payments", {}, "{}"};
  record.recovery_point = std::move(recovery_point);
  record.state = Unknown{some_time(), some_time()};
  return record;
}

auto found(const Record& record, StoredResponse answer) {
  return resolved(record, FoundCompleted{std::move(answer)}, Owner{"ops"}, some_time() + 1h);
}

// The provider's answer to one call is not the answer to the client, and there are phases to come.
TEST(FoundAnswer, IsLeftToThePhaseThatMadeTheCall) {
  const Record record = a_call_in_doubt(charging);
  const auto next = found(record, {201, {{"A", "b c"}}, "{}", 1});
  ASSERT_TRUE(next);
  EXPECT_EQ(status_of(*next), Status::in_progress);
  EXPECT_EQ(next->recovery_point,
            std::string(charging) + "&~status=201&~field=A%3Ab%20c&~body=%7B%7D");
  EXPECT_EQ(next->last_error, "resolved: executed");
  EXPECT_EQ(next->owner, Owner{"ops"}) << "who wrote it knows it again";
  EXPECT_EQ(next->fence, record.fence);
  EXPECT_FALSE(broken_invariant(*next));
  const Attempt worker{.owner = Owner{"worker"}, .now = some_time() + 1h};
  EXPECT_TRUE(claimed(*next, worker)) << "by whoever comes next";
}

TEST(FoundAnswer, OfAnotherCallIsRefused) {
  const Record record = a_call_in_doubt(charging);
  EXPECT_TRUE(found(record, {201, {{"idempotency-key", "4f1c"}}, "", 1}));
  const auto other = found(record, {201, {{"Idempotency-Key", "other"}}, "", 1});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error(), ResolveRefusal::bad_response);
}

TEST(FoundAnswer, IsRefusedWhereNoPhaseCouldReadIt) {
  EXPECT_FALSE(found(a_call_in_doubt(charging), {201, {}, std::nullopt, 1})) << "withheld";
  EXPECT_FALSE(found(a_call_in_doubt("charge?payment=pay_1"), {201, {}, "", 1})) << "no call";
  EXPECT_FALSE(found(a_call_in_doubt(charging), {99, {}, "", 1}));
}

TEST(LeaseEnd, AdvanceAlwaysMovesItAndLeavesItOdd) {
  const Instant base(1000us);
  for (const Duration before : {0us, 1us, 2us, 3us}) {
    for (const Duration wanted : {-5us, 0us, 1us, 2us, 3us, 4us, 100us}) {
      const Instant ends = advanced_lease(base + before, base + wanted);
      EXPECT_GT(ends, base + before);
      EXPECT_GE(ends, base + wanted);
      EXPECT_EQ(ends.time_since_epoch().count() % 2, 1);
    }
  }
}

}  // namespace
}  // namespace pawl
