#include "src/ports/task_group.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>

namespace pawl {
namespace {

// How many allocations still succeed, and then one does not; -1: all of them do.
int allocations_left = -1;

}  // namespace
}  // namespace pawl

void* operator new(std::size_t bytes) {
  if (pawl::allocations_left == 0) {
    pawl::allocations_left = -1;
    throw std::bad_alloc();
  }
  if (pawl::allocations_left > 0) --pawl::allocations_left;
  void* const made = std::malloc(bytes);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}
void operator delete(void* made) noexcept { std::free(made); }
void operator delete(void* made, std::size_t) noexcept { std::free(made); }

namespace pawl {
namespace {

namespace net = boost::asio;

// Some steps of work, each of which gives way to others.
Task<void> work(int steps, int& done) {
  for (int i = 0; i < steps; ++i) co_await net::post(net::use_awaitable);
  ++done;
}

Task<void> fail() {
  co_await net::post(net::use_awaitable);
  throw std::runtime_error("on purpose");
}

Task<void> spawn_more(TaskGroup& group, int& done) {
  co_await net::post(net::use_awaitable);
  group.spawn(work(3, done));
  ++done;
}

struct World {
  void run_until_over(bool& over) {
    net::co_spawn(context, wait(over), [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
    context.run();
  }
  Task<void> wait(bool& over) {
    co_await group.wait();
    over = true;
  }

  net::io_context context{1};
  std::vector<std::string> failures;
  TaskGroup group{context.get_executor(), [this](std::exception_ptr failure) {
                    try {
                      std::rethrow_exception(failure);
                    } catch (const std::exception& error) {
                      failures.emplace_back(error.what());
                    }
                  }};
  int done = 0;
};

TEST(TaskGroup, WaitsForAllOfThem) {
  World world;
  bool over = false;
  for (const int steps : {0, 1, 5}) world.group.spawn(work(steps, world.done));
  EXPECT_EQ(world.group.size(), 3U);
  world.run_until_over(over);
  EXPECT_TRUE(over);
  EXPECT_EQ(world.done, 3);
  EXPECT_EQ(world.group.size(), 0U);
}

TEST(TaskGroup, DoesNotWaitForNobody) {
  World world;
  bool over = false;
  world.run_until_over(over);
  EXPECT_TRUE(over);
}

TEST(TaskGroup, WaitsForThoseThatAreSpawnedMeanwhile) {
  World world;
  bool over = false;
  world.group.spawn(spawn_more(world.group, world.done));
  world.run_until_over(over);
  EXPECT_TRUE(over);
  EXPECT_EQ(world.done, 2);
}

TEST(TaskGroup, IsWaitedForAgainAndAgain) {
  World world;
  for (int i = 1; i <= 3; ++i) {
    bool over = false;
    world.group.spawn(work(2, world.done));
    world.context.restart();
    world.run_until_over(over);
    EXPECT_TRUE(over);
    EXPECT_EQ(world.done, i);
  }
}

TEST(TaskGroup, TellsWhatATaskThrowsAndGoesOn) {
  World world;
  bool over = false;
  world.group.spawn(fail());
  world.group.spawn(work(4, world.done));
  world.run_until_over(over);
  EXPECT_TRUE(over);
  EXPECT_EQ(world.done, 1);
  EXPECT_EQ(world.failures, std::vector<std::string>{"on purpose"});
}

TEST(TaskGroup, WhatNobodyIsToldOfLeavesTheEventLoop) {
  net::io_context context{1};
  TaskGroup group(context.get_executor());
  group.spawn(fail());
  EXPECT_THROW(context.run(), std::runtime_error);
  EXPECT_EQ(group.size(), 0U);
}

TEST(TaskGroup, MayGoBeforeItsTasksAreDestroyed) {
  int done = 0;
  net::io_context context{1};
  {
    TaskGroup group(context.get_executor());
    group.spawn(work(1000, done));
    context.poll_one();
  }
  EXPECT_EQ(done, 0);
}

Task<void> wait_with(TaskGroup& group, std::shared_ptr<int> held) {
  co_await group.wait();
  ++*held;
}

// A node that is stopped while it waits for its jobs.
TEST(TaskGroup, WhoeverWaitsGoesWithIt) {
  int done = 0;
  const auto held = std::make_shared<int>(0);
  {
    net::io_context context{1};
    TaskGroup group(context.get_executor());
    group.spawn(work(1000, done));
    net::co_spawn(context, wait_with(group, held), [](std::exception_ptr) {});
    for (int i = 0; i < 10; ++i) context.poll_one();
    EXPECT_GT(held.use_count(), 1);
  }
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(*held, 0);
}

// A task for which there is no memory never began: it is not waited for, and whoever waits for the
// last of the others is woken.
TEST(TaskGroup, WhatCouldNotBeSpawnedIsNotWaitedFor) {
  int refused = 0;
  for (int n = 0;; ++n) {
    SCOPED_TRACE(n);
    World world;
    Task<void> task = work(1, world.done);
    bool spawned = true;
    allocations_left = n;
    try {
      world.group.spawn(std::move(task));
    } catch (const std::bad_alloc&) {
      spawned = false;
      ++refused;
    }
    const bool past_the_last = std::exchange(allocations_left, -1) >= 0;
    ASSERT_EQ(world.group.size(), spawned ? 1U : 0U);
    bool over = false;
    world.context.restart();  // it had nothing to do for a moment
    world.run_until_over(over);
    EXPECT_TRUE(over);
    EXPECT_EQ(world.done, spawned ? 1 : 0);
    if (HasFailure() || past_the_last) break;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace pawl
