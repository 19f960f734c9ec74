#include "src/core/found_answer.hpp"

#include <gtest/gtest.h>

#include "pawl/types/outcome.hpp"
#include "testing/builders.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using testing::an_in_progress_record;
using testing::some_time;

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

}  // namespace
}  // namespace pawl
