#include "src/reconcile/late.hpp"

#include <gtest/gtest.h>

namespace pawl::reconcile {
namespace {

constexpr std::int64_t first = 1'700'000'000'000'000;

Record unknown(std::int64_t fence) {
  Record record;
  record.created_at = Instant(Duration(first));
  record.fingerprint = Fingerprint{"1.-.aa"};
  record.fence = Fence{fence};
  record.state = Unknown{};
  return record;
}

LateAnswer answer(std::int64_t fence, int status, const char* fingerprint = "1.-.aa") {
  return {Fence{fence}, Fingerprint{fingerprint}, {status, {}, "", 1}};
}

TEST(LateAnswer, ASuccessOfAnEarlierOwnerSettles) {
  EXPECT_EQ(settling({answer(first, 201)}, unknown(first + 1)), 0U);
  EXPECT_EQ(settling({answer(first, 200), answer(first + 1, 201)}, unknown(first + 2)), 0U);
}

TEST(LateAnswer, NothingElseOfAnEarlierOwnerDoes) {
  for (int status = 100; status < 600; ++status) {
    const bool success = status >= 200 && status < 300;
    EXPECT_EQ(settling({answer(first, status)}, unknown(first + 1)).has_value(), success)
        << status << ": its refusal says nothing about the later owner";
  }
}

TEST(LateAnswer, OfTheDoubtedOwnerWhatItsPolicyWouldHaveStored) {
  Record record = unknown(first);
  EXPECT_TRUE(settling({answer(first, 402)}, record));
  EXPECT_FALSE(settling({answer(first, 500)}, record)) << "ietf: may be retried, is no answer";
  EXPECT_FALSE(settling({answer(first, 502)}, record));
  record.policy.on_server_error = OnServerError::store;
  EXPECT_TRUE(settling({answer(first, 500)}, record));
  EXPECT_EQ(settling({answer(first, 201), answer(first + 1, 402)}, unknown(first + 1)), 1U)
      << "its own word comes first";
}

TEST(LateAnswer, AboutTheSameRequestInTheSameLifeOnly) {
  EXPECT_FALSE(settling({answer(first, 201, "1.-.bb")}, unknown(first + 1)));
  EXPECT_FALSE(settling({answer(first - 1, 201)}, unknown(first + 1)));
  EXPECT_FALSE(settling({answer(first + 2, 201)}, unknown(first + 1)));
  EXPECT_FALSE(settling({}, unknown(first)));
}

}  // namespace
}  // namespace pawl::reconcile
