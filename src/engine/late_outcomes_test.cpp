#include "src/engine/late_outcomes.hpp"

#include <gtest/gtest.h>

#include <new>

#include "src/engine/world_for_tests.hpp"

namespace pawl {
namespace {

using testing::a_request;
using testing::FailAt;
using testing::Fault;
using testing::FaultStore;
using testing::run;
using testing::World;

class Woken final : public Wakeable {
 public:
  void wake() override { ++times; }
  int times = 0;
};

// So often in a row, after each reservation.
constexpr int failures = 100;

class LateOutcomesTest : public ::testing::Test {
 protected:
  // The money moved, and the store could not be told.
  void pay_late(FaultStore& faulty, const Request& request) {
    Engine node = world.node(faulty);
    const Guarded guarded = world.pay(node, {}, request);
    const auto* executed = std::get_if<Executed>(&guarded);
    ASSERT_NE(executed, nullptr);
    ASSERT_FALSE(executed->settlement);
    late.remember(*executed, memory);
  }

  void pay_two_late() {
    FaultStore first(world.store, {.call = 2, .times = failures, .fault = Fault::unavailable});
    FaultStore second(world.store, {.call = 2, .times = failures, .fault = Fault::unavailable});
    other.key = Key{"another-key-0001"};
    ASSERT_NO_FATAL_FAILURE(pay_late(first, a_request()));
    ASSERT_NO_FATAL_FAILURE(pay_late(second, other));
  }

  World world;
  Request other = a_request();
  LateOutcomes late;
  Charge memory;
  std::shared_ptr<Woken> woken = std::make_shared<Woken>();
};

TEST_F(LateOutcomesTest, WakesWhoeverWaitsWhenTheLastOneIsRecorded) {
  ASSERT_NO_FATAL_FAILURE(pay_two_late());
  late.when_none_is_left(woken);
  ASSERT_EQ(late.count(), 2U);
  // One of them is recorded, then the store is away again.
  for (int call = 1; call < 20 && late.count() == 2; ++call) {
    FaultStore flaky(world.store, {.call = call, .times = failures, .fault = Fault::unavailable});
    Engine node = world.node(flaky);
    ASSERT_TRUE(run(node.sync_time()));
    EXPECT_EQ(run(late.settle(node)), 0U);
  }
  ASSERT_EQ(late.count(), 1U);
  EXPECT_EQ(woken->times, 0) << "one is left";
  Engine healthy = world.node();
  ASSERT_TRUE(run(healthy.sync_time()));
  EXPECT_EQ(run(late.settle(healthy)), 0U);
  EXPECT_EQ(late.count(), 0U);
  EXPECT_EQ(woken->times, 1);
  EXPECT_EQ(world.status(), Status::completed) << "it was recorded before anybody was woken";
  EXPECT_EQ(world.status(other), Status::completed);
  EXPECT_EQ(world.upstream.charges(), 2);
  EXPECT_EQ(run(late.settle(healthy)), 0U);
  EXPECT_EQ(woken->times, 1) << "there was none any more";
}

TEST_F(LateOutcomesTest, WhoeverWaitsMayBeGone) {
  FaultStore faulty(world.store, {.call = 2, .times = failures, .fault = Fault::unavailable});
  ASSERT_NO_FATAL_FAILURE(pay_late(faulty, a_request()));
  late.when_none_is_left(woken);
  woken.reset();
  Engine healthy = world.node();
  ASSERT_TRUE(run(healthy.sync_time()));
  EXPECT_EQ(run(late.settle(healthy)), 0U);
  EXPECT_EQ(late.count(), 0U);
}

// There is no memory for the one, say: the others, and it too, are recorded later.
TEST_F(LateOutcomesTest, NoneIsLostWhereASettlementThrows) {
  ASSERT_NO_FATAL_FAILURE(pay_two_late());
  FaultStore throwing(world.store, {.call = failures, .times = 1, .fault = Fault::unavailable});
  throwing.before_replace([] { throw std::bad_alloc(); });
  Engine node = world.node(throwing);
  ASSERT_TRUE(run(node.sync_time()));
  EXPECT_THROW(run(late.settle(node)), std::bad_alloc);
  EXPECT_EQ(late.count(), 2U);
  Engine healthy = world.node();
  ASSERT_TRUE(run(healthy.sync_time()));
  EXPECT_EQ(run(late.settle(healthy)), 0U);
  EXPECT_EQ(late.count(), 0U);
  EXPECT_EQ(world.status(), Status::completed);
  EXPECT_EQ(world.status(other), Status::completed);
}

}  // namespace
}  // namespace pawl
