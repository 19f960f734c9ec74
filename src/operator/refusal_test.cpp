#include "src/operator/refusal.hpp"

#include <gtest/gtest.h>

#include "src/operator/ports_for_tests.hpp"
#include "testing/fault_store.hpp"

namespace pawl {
namespace {

TEST(Refusal, AReasonMustSayWhyInBounds) {
  for (const std::string& bad :
       {std::string(), std::string("   "), std::string("ok"), std::string(2001, 'x')}) {
    const std::optional<Refusal> refusal = check_reason(bad);
    ASSERT_TRUE(refusal) << bad;
    EXPECT_EQ(refusal->kind, Refusal::Kind::malformed);
    EXPECT_EQ(refusal->sentence,
              "--reason must say why, in 3 to 2000 characters; it is kept with your name");
  }
  EXPECT_FALSE(check_reason("why"));
  EXPECT_FALSE(check_reason(std::string(2000, 'x')));
}

TEST(Refusal, APortSaysItselfWhyItFailed) {
  testing::OperatorWorld world;
  EXPECT_EQ(port_failed(world.upkeep, StoreError::contended).error,
            (Refusal{Refusal::Kind::unavailable, "upkeep is unavailable"}));
  EXPECT_EQ(store_failed(StoreError::contended).error,
            (Refusal{Refusal::Kind::unavailable, "the store: contended"}));
}

TEST(Refusal, TheTimeIsTheStores) {
  testing::OperatorWorld world;
  EXPECT_EQ(*testing::run(time_of(world.store)), world.clock.wall());
  testing::FaultStore broken(world.store, {0, 1, testing::Fault::unavailable});
  const OrRefusal<Instant> now = testing::run(time_of(broken));
  ASSERT_FALSE(now);
  EXPECT_EQ(now.error().sentence, "the store does not answer: unavailable");
}

}  // namespace
}  // namespace pawl
