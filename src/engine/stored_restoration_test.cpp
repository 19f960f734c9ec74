#include "src/engine/stored_restoration.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

Instant at(std::int64_t micros) { return Instant(Duration(micros)); }

TEST(StoredRestoration, IsReadAsItWasWritten) {
  for (const bool finished : {false, true}) {
    for (const bool trust : {false, true}) {
      const StoredRestoration told{at(1), at(2), at(9'000'000'000'000'000), finished, trust};
      EXPECT_EQ(restoration_from(to_json(told)), told);
    }
  }
}

TEST(StoredRestoration, KeysThatDateThemselvesAreBelievedOnlyWhereItWasSaid) {
  const auto older = restoration_from(R"({"since_us":1,"at_us":2,"until_us":3,"finished":true})");
  ASSERT_TRUE(older);
  EXPECT_FALSE(older->trust_uuidv7);
}

TEST(StoredRestoration, WhatIsNotUnderstoodIsNotGuessed) {
  for (const char* text : {"", "{}", "true", R"({"since_us":1,"at_us":2,"until_us":3})",
                           R"({"since_us":1.5,"at_us":2,"until_us":3,"finished":true})",
                           R"({"since_us":"1","at_us":2,"until_us":3,"finished":true})",
                           R"({"since_us":1,"at_us":2,"until_us":3,"finished":"yes"})",
                           R"({"since_us":1,"at_us":2,"until_us":3,"finished":true,)"
                           R"("trust_uuidv7":1})"}) {
    EXPECT_EQ(restoration_from(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace pawl
