#include "src/adapters/http/server.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <new>
#include <thread>

#include "src/adapters/os/system_clock.hpp"
#include "tests/support/wire.hpp"

namespace pawl::http {
namespace {

TEST(ConnectionCount, CountsInAllAndFromEachAddress) {
  ConnectionCount count(3, 2);
  EXPECT_TRUE(count.add("a"));
  EXPECT_TRUE(count.add("a"));
  EXPECT_FALSE(count.add("a"));
  EXPECT_TRUE(count.add("b"));
  EXPECT_FALSE(count.add("c"));
  EXPECT_EQ(count.all(), 3U);
  count.remove("a");
  EXPECT_TRUE(count.add("c"));
  EXPECT_FALSE(count.add("a"));
  count.remove("b");
  EXPECT_TRUE(count.add("a"));
}

TEST(ConnectionCount, TakesANetworkOfOneOwnerForOneAddress) {
  const auto counted = [](const char* text) {
    return counted_as(boost::asio::ip::make_address(text));
  };
  EXPECT_EQ(counted("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(counted("::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(counted("2001:db8:1:2:3:4:5:6"), counted("2001:db8:1:2:ffff::1"));
  EXPECT_NE(counted("2001:db8:1:2::1"), counted("2001:db8:1:3::1"));
}

class Failing final : public Handler {
 public:
  Task<void> handle(ClientRequest& request) override {
    if (request.head.path == "/large") throw std::bad_alloc();
    Response response;
    response.status = 204;
    co_await request.answer(response);
  }
  Response refused(const Refusal& /*refusal*/) override { return {}; }
  void failed(std::string_view why) override { failures.emplace_back(why); }

  std::vector<std::string> failures;
};

TEST(Sessions, AnExceptionEndsItsSessionAndGivesItsSlotBack) {
  ConnectionCount count(2, 2);
  boost::asio::io_context context(1);
  os::SystemClock clock;
  Deadlines deadlines(clock);
  Failing handler;
  SessionGroup sessions(context, deadlines, handler, SessionLimits{});
  Listener listener(context, {&sessions}, count);
  const auto port = listener.open("127.0.0.1", 0);
  ASSERT_TRUE(port);
  boost::asio::co_spawn(context, listener.run(), boost::asio::detached);
  std::jthread thread([&] { context.run(); });
  for (int i = 0; i < 5; ++i) {  // more than there are slots
    auto client = pawl::testing::Wire::connect(*port);
    client.send("POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    EXPECT_TRUE(client.closed());
    while (count.all() > 0) std::this_thread::yield();
  }
  {
    auto client = pawl::testing::Wire::connect(*port);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(client.read_head().value_or("").starts_with("HTTP/1.1 204"));
    boost::asio::post(context, [&] {
      listener.close();
      sessions.drain();  // nothing of those that ended is left in its list
    });
    EXPECT_TRUE(client.closed());
  }  // and hangs up: a session that had not been idle yet waits for that
  thread.join();
  EXPECT_EQ(count.all(), 0U);
  EXPECT_EQ(handler.failures.size(), 5U);
}

}  // namespace
}  // namespace pawl::http
