#include "src/node/event_loop.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <stdexcept>

namespace pawl {
namespace {

using namespace std::chrono_literals;

class Lines final : public Log {
 public:
  void say(std::string_view level, std::string_view what) override {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::string(level) + ": " + std::string(what));
  }
  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;  // under mutex_
};

struct World {
  Lines log;
  EventLoop loop{log};
};

Task<void> wait_for(std::shared_ptr<Sleeper> sleeper) {
  co_await sleeper->sleep(std::chrono::hours(1));
}

Task<void> fail() {
  throw std::runtime_error("on purpose");
  co_return;
}

bool is_ready(const std::future<void>& future) {
  return future.wait_for(0s) == std::future_status::ready;
}

TEST(EventLoop, EndsWhenItsTasksAndJobsAreOver) {
  World world;
  std::atomic<int> polls = 0;
  world.loop.repeat("polling", 1us, [&]() -> Task<void> {
    ++polls;
    co_return;
  });
  const std::shared_ptr<Sleeper> sleeper = world.loop.sleepers.new_sleeper();
  const std::future<void> task = world.loop.spawn(wait_for(sleeper));
  world.loop.start();
  const std::future<void> ended = world.loop.ended();
  world.loop.stop_jobs();
  EXPECT_FALSE(is_ready(task));
  EXPECT_FALSE(is_ready(ended)) << "a task is not over";
  sleeper->wake();
  ended.wait();
  EXPECT_TRUE(is_ready(task));
}

TEST(EventLoop, ATaskThatThrowsIsOverAndTheOthersGoOn) {
  World world;
  std::future<void> failed = world.loop.spawn(fail());
  world.loop.start();
  failed.wait();
  const std::shared_ptr<Sleeper> sleeper = world.loop.sleepers.new_sleeper();
  const std::future<void> other = world.loop.spawn(wait_for(sleeper));
  sleeper->wake();
  other.wait();
  world.loop.ended().wait();
  EXPECT_EQ(world.log.lines(), std::vector<std::string>{"error: a job was given up: on purpose"});
}

TEST(EventLoop, ServicesAreNotWaitedForAndGoWithTheLoop) {
  World world;
  std::future<void> service = world.loop.spawn_service(wait_for(world.loop.sleepers.new_sleeper()));
  world.loop.start();
  world.loop.ended().wait();
  EXPECT_FALSE(is_ready(service));
}

TEST(EventLoop, WhatIsNotOverIsDestroyedWithIt) {
  Lines log;
  std::future<void> task;
  {
    EventLoop loop(log);
    task = loop.spawn(wait_for(loop.sleepers.new_sleeper()));
    loop.start();
  }
  EXPECT_TRUE(is_ready(task));
}

TEST(EventLoop, WaitsForAllUntilTheDeadline) {
  World world;
  world.loop.start();
  const std::shared_ptr<Sleeper> sleeper = world.loop.sleepers.new_sleeper();
  std::vector<std::future<void>> both;
  both.push_back(world.loop.spawn(wait_for(sleeper)));
  both.push_back(world.loop.spawn(wait_for(sleeper)));
  EXPECT_FALSE(wait_for_all(both, std::chrono::steady_clock::now()));
  sleeper->wake();
  EXPECT_TRUE(wait_for_all(both, std::chrono::steady_clock::time_point::max()));
}

// Told to stop with something sent: it is recorded only after its lease was renewed many times.
Task<void> record_late(std::shared_ptr<Sleeper> stopped, std::shared_ptr<Sleeper> pause,
                       const int& renewals) {
  co_await stopped->sleep(std::chrono::hours(1));
  const int enough = renewals + 1000;
  while (renewals < enough) co_await pause->sleep(1us);
}

TEST(EventLoop, LeasesAreRenewedUntilTheWorkersAreDone) {
  World world;
  const std::shared_ptr<Sleeper> stopped = world.loop.sleepers.new_sleeper();
  int renewals = 0;  // of the loop's thread
  world.loop.repeat("renewing leases", 1us, [&]() -> Task<void> {
    ++renewals;
    co_return;
  });
  std::vector<std::future<void>> workers;
  workers.push_back(
      world.loop.spawn(record_late(stopped, world.loop.sleepers.new_sleeper(), renewals)));
  world.loop.start();
  stopped->wake();
  EXPECT_TRUE(end_work({&world.loop}, workers, std::chrono::steady_clock::now() + 20s));
  EXPECT_TRUE(world.loop.stopping());
}

}  // namespace
}  // namespace pawl
