#include "src/adapters/resume/work_thread.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace pawl::waiting {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;

constexpr auto patience = 30s;

TEST(WorkThread, DoesItsWorkInTheOrderInWhichItCame) {
  std::vector<int> done;  // by the thread alone, read when that has ended
  {
    std::promise<void> go;
    const std::shared_future<void> gone = go.get_future().share();
    WorkThread thread;
    thread.post([gone] { gone.wait(); });
    for (int i = 0; i < 100; ++i) thread.post([&done, i] { done.push_back(i); });
    go.set_value();
  }
  std::vector<int> all(100);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(done, all);
}

// Keeps its promise when it goes.
class KeptOnExit {
 public:
  explicit KeptOnExit(std::promise<void>& promise) : promise_(promise) {}
  KeptOnExit(const KeptOnExit&) = delete;
  KeptOnExit& operator=(const KeptOnExit&) = delete;
  ~KeptOnExit() { promise_.set_value(); }

 private:
  std::promise<void>& promise_;
};

// How much of what was posted a thread has done that ends with all of it still to do.
int done_at_the_end(int posted) {
  int done = 0;
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  std::promise<void> begun;
  {
    WorkThread thread;
    const KeptOnExit let_go(go);  // goes just before the thread does
    thread.post([&] {
      begun.set_value();
      gone.wait();
    });
    for (int i = 0; i < posted; ++i) thread.post([&] { ++done; });
    begun.get_future().wait();
  }
  return done;
}

// A thread that left work undone could be quick enough once or twice, but not every time.
TEST(WorkThread, EndsAfterWhatWasPostedBefore) {
  for (int round = 0; round < 50; ++round) ASSERT_EQ(done_at_the_end(1000), 1000);
}

net::awaitable<std::string> ask(WorkThread& thread, std::thread::id& worked_on,
                                std::thread::id& resumed_on) {
  const std::function<std::string()> work = [&worked_on] {
    worked_on = std::this_thread::get_id();
    return std::string("the answer");
  };
  std::string answer = co_await thread.run(work);
  resumed_on = std::this_thread::get_id();
  co_return answer;
}

TEST(WorkThread, ResumesWhoeverAskedOnTheirOwnExecutor) {
  WorkThread thread;
  net::io_context context(1);
  std::thread::id worked_on;
  std::thread::id resumed_on;
  std::future<std::string> answer =
      net::co_spawn(context, ask(thread, worked_on, resumed_on), net::use_future);
  context.run();
  EXPECT_EQ(answer.get(), "the answer");
  EXPECT_EQ(resumed_on, std::this_thread::get_id());
  EXPECT_NE(worked_on, std::this_thread::get_id());
}

net::awaitable<int> fail(WorkThread& thread) {
  const std::function<int()> work = []() -> int { throw std::runtime_error("on purpose"); };
  const int result = co_await thread.run(work);
  co_return result;
}

TEST(WorkThread, WhatTheWorkThrowsIsThrownToWhoeverAsked) {
  WorkThread thread;
  net::io_context context(1);
  std::future<int> failed = net::co_spawn(context, fail(thread), net::use_future);
  context.run();
  try {
    failed.get();
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& failure) {
    EXPECT_STREQ(failure.what(), "on purpose");
  }
  std::thread::id somewhere;
  context.restart();
  std::future<std::string> next =
      net::co_spawn(context, ask(thread, somewhere, somewhere), net::use_future);
  context.run();
  EXPECT_EQ(next.get(), "the answer") << "the thread goes on";
}

// Counts how often it was awake; reads its descriptor then, where it has one.
class CountedIdle final : public Idle {
 public:
  CountedIdle(int descriptor, int milliseconds) : wait_{descriptor, milliseconds} {}

  Wait wait() override {
    const std::lock_guard lock(mutex_);
    return wait_;
  }
  void awake() override {
    std::uint64_t count = 0;
    const std::lock_guard lock(mutex_);
    if (wait_.descriptor >= 0) ::eventfd_read(wait_.descriptor, &count);
    if (++awake_ == wanted_) reached_.set_value();
    on_ = std::this_thread::get_id();
  }

  // Before the thread begins. Was it awake so often in the end?
  std::future<void> often(int times) {
    wanted_ = times;
    return reached_.get_future();
  }
  int times() {
    const std::lock_guard lock(mutex_);
    return awake_;
  }
  std::thread::id on() {
    const std::lock_guard lock(mutex_);
    return on_;
  }

 private:
  std::mutex mutex_;
  const Wait wait_;
  int awake_ = 0;
  int wanted_ = 0;
  std::thread::id on_;
  std::promise<void> reached_;
};

// Until the thread has done what was posted.
std::thread::id pass_through(WorkThread& thread) {
  std::promise<std::thread::id> done;
  thread.post([&] { done.set_value(std::this_thread::get_id()); });
  return done.get_future().get();
}

TEST(WorkThread, IsAwakeWhenWhatItWaitsForHasCome) {
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CountedIdle idle(descriptor, -1);
  std::future<void> came = idle.often(1);
  {
    WorkThread thread(&idle);
    const std::thread::id itself = pass_through(thread);
    EXPECT_EQ(idle.times(), 0) << "work is not what it waits for";
    ::eventfd_write(descriptor, 1);
    ASSERT_EQ(came.wait_for(patience), std::future_status::ready);
    EXPECT_EQ(pass_through(thread), itself) << "and it goes on working";
    EXPECT_EQ(idle.on(), itself);
  }
  EXPECT_EQ(idle.times(), 1) << "it came once";
  ::close(descriptor);
}

TEST(WorkThread, IsAwakeWheneverItsTimeIsUp) {
  CountedIdle idle(-1, 1);
  std::future<void> came = idle.often(3);
  WorkThread thread(&idle);
  EXPECT_EQ(came.wait_for(patience), std::future_status::ready);
}

// The undefined-behaviour sanitizer opens a pipe to look at an exception's memory: here it cannot.
#ifndef __SANITIZE_ADDRESS__
// It could not be woken, not even to end it.
TEST(WorkThread, IsNotMadeWithoutADescriptor) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  WorkThread* made = nullptr;  // one that was made after all would not end
  EXPECT_THROW(made = new WorkThread, std::system_error);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(made, nullptr);
}
#endif

}  // namespace
}  // namespace pawl::waiting
