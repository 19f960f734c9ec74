// A session whose server is not there, and the queue in front of it.
#include "src/adapters/postgres/sql_session.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <future>
#include <thread>

#include "src/adapters/sql/session_thread.hpp"
#include "testing/run.hpp"

namespace pawl::postgres {
namespace {

namespace net = boost::asio;
using net::ip::tcp;
using testing::run;

// Takes every connection, and hangs up.
class HangsUp {
 public:
  HangsUp() : thread_([this] { serve(); }) {}
  ~HangsUp() {
    ending_ = true;
    net::io_context context;
    tcp::socket last(context);
    last.connect(acceptor_.local_endpoint());  // wakes it
    thread_.join();
  }
  HangsUp(const HangsUp&) = delete;
  HangsUp& operator=(const HangsUp&) = delete;

  [[nodiscard]] int connections() const { return connections_; }
  [[nodiscard]] std::string url() const {
    return "host=127.0.0.1 port=" + std::to_string(acceptor_.local_endpoint().port()) +
           " user=nobody dbname=nothing sslmode=disable gssencmode=disable";
  }

 private:
  void serve() {
    while (!ending_) {
      tcp::socket socket(context_);
      acceptor_.accept(socket);
      ++connections_;
    }
  }

  net::io_context context_;
  tcp::acceptor acceptor_{context_, tcp::endpoint(net::ip::address_v4::loopback(), 0)};
  std::atomic<bool> ending_ = false;
  std::atomic<int> connections_ = 0;
  std::thread thread_;
};

TEST(SqlSession, WhatIsQueuedInAnOutageDoesNotConnectEachForItself) {
  const HangsUp server;
  Options options;
  options.reconnect_after = std::chrono::hours(1);
  SqlSession session(server.url(), options);
  const auto first = session.run("SELECT 1", {});
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().kind, StoreError::unavailable);
  const int connections = server.connections();
  EXPECT_GE(connections, 1);
  for (int i = 0; i < 5; ++i) {
    const auto again = session.run("SELECT 1", {});
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().kind, StoreError::unavailable);
    EXPECT_EQ(again.error().text, first.error().text);
    EXPECT_FALSE(session.begin(sql::Durability::durable, sql::LockWait::patient));
  }
  EXPECT_EQ(server.connections(), connections);
}

TEST(SqlSession, ConnectsAgainOnceItIsTime) {
  const HangsUp server;
  Options options;
  options.reconnect_after = std::chrono::milliseconds(0);
  SqlSession session(server.url(), options);
  int connections = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(session.run("SELECT 1", {}));
    EXPECT_GT(server.connections(), connections);
    connections = server.connections();
  }
}

using Answer = sql::Result<Done>;

TEST(SessionThread, WhatFindsTooManyBeforeItIsUnavailableAtOnce) {
  std::promise<void> begun;
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  const auto thread = std::make_shared<sql::SessionThread>(
      std::make_unique<SqlSession>("host=/nowhere"), /*waiting_max=*/2);
  net::io_context context(1);
  std::vector<std::optional<Answer>> answers(4);
  const auto ask = [&](std::function<Answer(sql::Session&)> job, std::size_t i) {
    net::co_spawn(context, testing::keep_result(thread->run<Done>(std::move(job)), answers[i]),
                  [](std::exception_ptr failure) { EXPECT_FALSE(failure); });
    context.poll();
  };
  ask(
      [&](sql::Session&) -> Answer {
        begun.set_value();
        gone.wait();
        return Done{};
      },
      0);
  begun.get_future().wait();  // it waits for nobody any more
  const auto quick = [](sql::Session&) -> Answer { return Done{}; };
  for (const std::size_t i : {1U, 2U, 3U}) ask(quick, i);
  std::vector<bool> answered;  // before the first one's work is over
  for (const std::optional<Answer>& answer : answers) answered.push_back(answer.has_value());
  go.set_value();
  context.run();
  EXPECT_EQ(answered, (std::vector<bool>{false, false, false, true}));
  for (const std::size_t i : {0U, 1U, 2U}) EXPECT_TRUE(answers[i]->has_value()) << i;
  ASSERT_FALSE(*answers[3]);
  EXPECT_EQ(answers[3]->error().kind, StoreError::unavailable);
  EXPECT_TRUE(run(thread->run<Done>(quick))) << "there is room again";
}

}  // namespace
}  // namespace pawl::postgres
