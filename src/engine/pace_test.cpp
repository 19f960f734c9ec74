#include "src/engine/pace.hpp"

#include <gtest/gtest.h>

#include "src/engine/world_for_tests.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using testing::run;
using testing::SimClock;
using testing::World;

Duration rest_after(Pace& pace, SimClock& clock, Duration work) {
  pace.begin();
  clock.advance(work);
  const BootTime before = clock.now();
  run(pace.rest());
  return clock.now() - before;
}

TEST(Pace, RestsInProportionToTheWork) {
  SimClock clock;
  const std::atomic<bool> stop = false;
  Pace pace(clock, stop);
  EXPECT_EQ(rest_after(pace, clock, 20ms), 60ms);
  EXPECT_EQ(rest_after(pace, clock, 500ms), 1500ms);
  EXPECT_EQ(rest_after(pace, clock, 0ms), 1ms) << "an idle store is not hammered either";
  EXPECT_EQ(rest_after(pace, clock, 10min), 5s) << "a process that was stopped does not rest on";
}

TEST(Pace, HurriesWhenItHasComeToNoEnd) {
  SimClock clock;
  const std::atomic<bool> stop = false;
  Pace pace(clock, stop);
  EXPECT_EQ(rest_after(pace, clock, 20ms), 60ms);
  clock.advance(1h);
  EXPECT_EQ(rest_after(pace, clock, 20ms), 1ms);
  Pace next(clock, stop);
  EXPECT_EQ(rest_after(next, clock, 20ms), 60ms);
}

TEST(Pace, DoesNotRestOnceStopped) {
  SimClock clock;
  const std::atomic<bool> stop = true;
  Pace pace(clock, stop);
  EXPECT_EQ(rest_after(pace, clock, 1s), 0s);
}

void pay_many(World& world, Engine& engine, int count) {
  for (int i = 0; i < count; ++i) {
    Request request = testing::a_request();
    request.key.text = "key-" + std::to_string(i);
    world.pay(engine, {}, request);
  }
}

TEST(ReapAtPace, GoesOnUntilNothingIsDue) {
  World world;
  EngineOptions options;
  options.pass_rows_max = 3;
  Engine engine(world.store, world.clock, world.entropy, world.metrics, options);
  pay_many(world, engine, 100);
  world.clock.advance(48h);
  const std::atomic<bool> stop = false;
  EXPECT_EQ(run(reap_at_pace(engine, world.clock, stop)), 100U);
  EXPECT_TRUE(world.store.records().empty());
}

TEST(SweepAtPace, GoesOnPageAfterPage) {
  World world;
  EngineOptions options;
  options.pass_rows_max = 3;
  Engine engine(world.store, world.clock, world.entropy, world.metrics, options);
  for (int i = 0; i < 40; ++i) {
    Request request = testing::a_request();
    request.key.text = "key-" + std::to_string(i);
    ASSERT_TRUE(run(engine.reserve(request, {})));
  }
  world.clock.advance(10min);
  const std::atomic<bool> stop = false;
  std::size_t pages = 0;
  const std::function count = [&](const PassReport&) { ++pages; };
  EXPECT_EQ(run(sweep_at_pace(engine, world.clock, stop, count)), 40U);
  EXPECT_EQ(pages, 15U) << "14 pages with something, and one without";
}

TEST(ReapAtPace, ReapsNothingOnceStopped) {
  World world;
  Engine engine = world.node();
  pay_many(world, engine, 1);
  world.clock.advance(48h);
  const std::atomic<bool> stop = true;
  EXPECT_EQ(run(reap_at_pace(engine, world.clock, stop)), 0U);
  EXPECT_EQ(world.store.records().size(), 1U);
}

}  // namespace
}  // namespace pawl
