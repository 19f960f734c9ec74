#include "src/boundary/near_duplicates.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

using namespace std::chrono_literals;

struct NearDuplicate : ::testing::Test {
  bool seen(const char* scope, const char* meaning, const char* key, Duration at) {
    return near.seen_under_another_key(Scope{scope}, Fingerprint{meaning}, Key{key}, BootTime(at),
                                       10s);
  }
  NearDuplicates near;
};

TEST_F(NearDuplicate, IsTheSameRequestOfTheSameScopeUnderAnotherKeySoonAfter) {
  EXPECT_FALSE(seen("ann", "pay 10", "key-1", 0s));
  EXPECT_TRUE(seen("ann", "pay 10", "key-2", 5s));
  EXPECT_FALSE(seen("ann", "pay 10", "key-1", 6s)) << "a retry of the first";
  EXPECT_FALSE(seen("bob", "pay 10", "key-3", 6s)) << "another caller";
  EXPECT_FALSE(seen("ann", "pay 11", "key-4", 6s)) << "another request";
  EXPECT_FALSE(seen("ann", "pay 10", "key-5", 17s)) << "long after";
}

TEST_F(NearDuplicate, IsRememberedForABoundedNumberOfRequests) {
  EXPECT_FALSE(seen("ann", "the first", "key-1", 0s));
  for (std::size_t i = 0; i < NearDuplicates::remembered_max; ++i) {
    seen("ann", std::to_string(i).c_str(), "key", 1s);
  }
  EXPECT_FALSE(seen("ann", "the first", "key-2", 2s)) << "forgotten";
}

}  // namespace
}  // namespace pawl
