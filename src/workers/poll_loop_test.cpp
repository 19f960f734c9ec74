#include "src/workers/poll_loop.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/adapters/os/sleepers.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;

class Lines final : public Log {
 public:
  void say(std::string_view level, std::string_view what) override {
    lines.push_back(std::string(level) + ": " + std::string(what));
  }
  std::vector<std::string> lines;
};

struct World {
  // Polls are counted; `then` sees each of them.
  void run(Duration every, std::function<void(PollLoop&, int)> then) {
    PollLoop loop(sleepers, log, "the job", every);
    const std::function<Task<void>()> poll = [&]() -> Task<void> {
      then(loop, ++polls);
      co_return;
    };
    boost::asio::co_spawn(context, loop.run(poll), [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
    context.run();
  }

  boost::asio::io_context context{1};
  os::AsioSleepers sleepers{context.get_executor()};
  Lines log;
  int polls = 0;
};

TEST(PollLoop, PollsAgainAndAgainUntilItIsStopped) {
  World world;
  world.run(1us, [](PollLoop& loop, int polls) {
    if (polls == 3) loop.stop();
  });
  EXPECT_EQ(world.polls, 3);
}

TEST(PollLoop, PollsAtOnceWhenItWasWokenDuringAPoll) {
  World world;
  world.run(std::chrono::hours(1),
            [](PollLoop& loop, int polls) { polls < 5 ? loop.wake() : loop.stop(); });
  EXPECT_EQ(world.polls, 5);
}

TEST(PollLoop, DoesNotPollOnceItWasStopped) {
  World world;
  PollLoop loop(world.sleepers, world.log, "the job", 1us);
  loop.stop();
  bool polled = false;
  const std::function<Task<void>()> poll = [&]() -> Task<void> {
    polled = true;
    co_return;
  };
  boost::asio::co_spawn(world.context, loop.run(poll), [](std::exception_ptr) {});
  world.context.run();
  EXPECT_FALSE(polled);
}

TEST(PollLoop, PollsMoreOftenOnceSomebodyNeedsIt) {
  World world;
  world.run(std::chrono::hours(1), [](PollLoop& loop, int polls) {
    if (polls == 1) loop.at_least_every(1us);
    if (polls == 2) loop.at_least_every(std::chrono::hours(1));  // never less often
    if (polls == 4) loop.stop();
  });
  EXPECT_EQ(world.polls, 4);
}

TEST(PollLoop, WhoeverNeedsItMoreOftenDoesNotWaitForTheOldTimeToBeUp) {
  World world;
  boost::asio::steady_timer asleep(world.context, 10ms);
  world.run(std::chrono::hours(1), [&](PollLoop& loop, int polls) {
    if (polls == 3) loop.stop();
    if (polls != 1) return;
    asleep.async_wait([&](boost::system::error_code) { loop.at_least_every(1us); });
  });
  EXPECT_EQ(world.polls, 3);
}

TEST(PollLoop, GoesOnAfterAPollThatThrew) {
  World world;
  world.run(1us, [](PollLoop& loop, int polls) {
    if (polls == 1) throw std::runtime_error("on purpose");
    loop.stop();
  });
  EXPECT_EQ(world.polls, 2);
  EXPECT_EQ(world.log.lines, std::vector<std::string>{
                                 "error: the job was given up, until the next time: on purpose"});
}

// Memory for a timer may be lacking; the job must not end of it.
class ThrowingSleepers final : public Sleepers {
 public:
  std::shared_ptr<Sleeper> new_sleeper() override { return std::make_shared<ThrowingSleeper>(); }

 private:
  class ThrowingSleeper final : public Sleeper {
   public:
    Task<void> sleep(Duration) override {
      throw std::bad_alloc();
      co_return;
    }
    void wake() override {}
    [[nodiscard]] bool woken() const override { return false; }
    void rest() override {}
  };
};

TEST(PollLoop, GoesOnAfterASleepThatThrew) {
  World world;
  ThrowingSleepers sleepers;
  PollLoop loop(sleepers, world.log, "the job", 1us);
  int polls = 0;
  const std::function<Task<void>()> poll = [&]() -> Task<void> {
    if (++polls == 3) loop.stop();
    co_return;
  };
  boost::asio::co_spawn(world.context, loop.run(poll),
                        [](std::exception_ptr failure) { EXPECT_FALSE(failure); });
  world.context.run();
  EXPECT_EQ(polls, 3);
}

}  // namespace
}  // namespace pawl
