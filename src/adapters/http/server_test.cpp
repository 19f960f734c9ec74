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
  std::vector<ConnectionSlot> all;
  for (int i = 0; i < 3; ++i) all.push_back(ConnectionSlot::take(count).value());
  EXPECT_FALSE(ConnectionSlot::take(count));
  EXPECT_EQ(count.all(), 3U);
  std::optional<AddressSlot> first = AddressSlot::take(count, "192.0.2.1");
  const std::optional<AddressSlot> second = AddressSlot::take(count, "192.0.2.1");
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(AddressSlot::take(count, "192.0.2.1"));
  EXPECT_TRUE(AddressSlot::take(count, "192.0.2.2"));
  EXPECT_TRUE(AddressSlot::take(count, "192.0.2.2")) << "the one before was given back";
  first.reset();
  EXPECT_TRUE(AddressSlot::take(count, "192.0.2.1"));
  all.pop_back();
  EXPECT_EQ(count.all(), 2U);
  EXPECT_TRUE(ConnectionSlot::take(count));
}

TEST(ConnectionCount, ANewLimitHoldsForTheNextOnes) {
  ConnectionCount count(1, 1);
  const std::optional<ConnectionSlot> one = ConnectionSlot::take(count);
  EXPECT_FALSE(ConnectionSlot::take(count));
  count.limit(2, 1);
  EXPECT_TRUE(ConnectionSlot::take(count));
}

TEST(ConnectionCount, AFewAtATimeAreToldThatTheyAreTooMany) {
  ConnectionCount count(1, 1);
  std::vector<RefusalSlot> told;
  for (std::size_t i = 0; i < refusals_max; ++i) told.push_back(RefusalSlot::take(count).value());
  EXPECT_FALSE(RefusalSlot::take(count));
  told.pop_back();
  EXPECT_TRUE(RefusalSlot::take(count));
}

TEST(ConnectionCount, TakesANetworkOfOneOwnerForOneAddress) {
  EXPECT_EQ(counted_as("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(counted_as("::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(counted_as("2001:db8:1:2:3:4:5:6"), counted_as("2001:db8:1:2:ffff::1"));
  EXPECT_NE(counted_as("2001:db8:1:2::1"), counted_as("2001:db8:1:3::1"));
  EXPECT_EQ(counted_as("fe80::1%eth0"), counted_as("fe80::2"));
  EXPECT_EQ(counted_as(unix_peer), unix_peer);
}

class Failing final : public Handler {
 public:
  Task<void> handle(ClientRequest& request) override {
    if (request.head.path == "/large") throw std::bad_alloc();
    Response response;
    response.status = 204;
    co_await request.answer(response);
  }
  Response refused(const Refusal& /*refusal*/, std::string_view /*client*/) override { return {}; }
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
