#include "src/adapters/http/upstream_call.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <boost/asio/detached.hpp>
#include <functional>
#include <list>
#include <thread>

#include "src/adapters/os/system_clock.hpp"
#include "testing/run.hpp"
#include "tests/support/wire.hpp"

namespace pawl::http {
namespace {

using pawl::testing::Listening;
using pawl::testing::Wire;

constexpr std::string_view created = "HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\npaid";
constexpr std::string_view too_slow =
    "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

const std::string lengthy = "HTTP/1.1 201 Created\r\nContent-Length: 1000\r\n\r\n";

class Payment final : public RequestWriter {
 public:
  std::string head(const Record& /*attempt*/) override {
    return "POST /payments HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
  }
  [[nodiscard]] std::string_view body() const override { return {}; }
};

// What happens at the last moment.
class Moment final : public SendGate {
 public:
  explicit Moment(std::function<void(int)> happens) : happens_(std::move(happens)) {}
  Task<bool> may_send() override {
    happens_(++calls);
    co_return true;
  }
  int calls = 0;

 private:
  std::function<void(int)> happens_;
};

// The upstream's side is played by the test itself: the kernel accepts, and answers are written
// before they are asked for only where a test is about that.
class UpstreamCallTest : public ::testing::Test {
 protected:
  UpstreamCallTest()
      : listening_(pawl::testing::listen_on_loopback(0, 16)),
        listener_(listening_.descriptor),
        pool_({"127.0.0.1", listening_.port, false}, deadlines_) {}
  ~UpstreamCallTest() override {
    for (std::thread& thread : servers_) thread.join();
  }

  // The next connection, from the upstream's side.
  Wire& accept() { return accept_at(listening_.descriptor); }
  Wire& accept_at(int listening) {
    return accepted_.emplace_back(::accept(listening, nullptr, nullptr));
  }
  // Two places of one API, ours the second.
  UpstreamPool pool_with_before(std::uint16_t first) {
    const std::vector<UpstreamAddress> places{{"127.0.0.1", first, false},
                                              {"127.0.0.1", listening_.port, false}};
    return UpstreamPool(places, deadlines_);
  }
  // Answers one request on it.
  void serve(Wire& wire) {
    servers_.emplace_back([&wire] {
      if (wire.read_head()) wire.send(created);
    });
  }

  Outcome send(Moment& moment) {
    Payment payment;
    UpstreamCall call(pool_, payment, CallOptions{});
    return send(call, moment);
  }
  Outcome send(UpstreamCall& call, Moment& moment) {
    const Record attempt;
    std::optional<Outcome> outcome;
    auto task = call.send(attempt, moment, clock_.now() + std::chrono::seconds(20));
    auto done = boost::asio::co_spawn(
        context_, pawl::testing::keep_result(std::move(task), outcome), boost::asio::use_future);
    context_.restart();
    context_.run();
    done.get();
    return std::move(*outcome);
  }

  // One honest payment, after which its connection is kept.
  Wire& keep_one() {
    Wire* wire = nullptr;
    Moment moment([&](int) {
      wire = &accept();
      serve(*wire);
    });
    expect_paid(send(moment));
    return *wire;
  }

  static void expect_paid(const Outcome& outcome) {
    const auto* answered = std::get_if<Answered>(&outcome);
    ASSERT_NE(answered, nullptr);
    EXPECT_EQ(answered->response.status, 201);
    EXPECT_EQ(answered->response.body, "paid");
  }

  UpstreamPool& pool() { return pool_; }
  boost::asio::io_context& context() { return context_; }
  // Once the answer is in the spool, it waits for this.
  Task<void> let_go_when_spooled(UpstreamCall& call, std::optional<Charge>& others) {
    while (!call.spool() || call.spool()->size() < 1000) {
      co_await deadlines_.sleep(std::chrono::milliseconds(1));
    }
    others.reset();
  }
  // Answers the next connection's request with a body of 1,000 bytes.
  Moment answering_at_length() {
    return Moment([this](int) {
      Wire& wire = accept();
      servers_.emplace_back([&wire] {
        if (wire.read_head()) wire.send(lengthy + std::string(1000, 'b'));
      });
    });
  }

 private:
  boost::asio::io_context context_;
  os::SystemClock clock_;
  Deadlines deadlines_{clock_};
  Listening listening_;
  Wire listener_;
  std::list<Wire> accepted_;
  std::list<std::thread> servers_;
  UpstreamPool pool_;
};

TEST_F(UpstreamCallTest, UsesAKeptConnectionAgain) {
  Wire& kept = keep_one();
  Moment moment([&](int) { serve(kept); });
  expect_paid(send(moment));
  EXPECT_EQ(moment.calls, 1);
}

// A server that has waited long enough says so by itself. That is no answer to what comes next.
TEST_F(UpstreamCallTest, TakesNothingThatCameUnaskedForAnAnswer) {
  Wire* kept = &keep_one();
  for (const std::string_view unasked : {too_slow, created, std::string_view("x")}) {
    Moment moment([&](int call) {
      if (call == 1) {
        kept->send(unasked);
      } else {
        kept = &accept();
        serve(*kept);
      }
    });
    expect_paid(send(moment));
    EXPECT_EQ(moment.calls, 2) << "asked again, for the other connection";
  }
}

TEST_F(UpstreamCallTest, LeavesAConnectionThatEndedAtTheLastMoment) {
  Wire& kept = keep_one();
  Moment moment([&](int call) {
    if (call == 1) {
      kept.close();
    } else {
      serve(accept());
    }
  });
  expect_paid(send(moment));
}

TEST_F(UpstreamCallTest, SendsNothingToAServerThatSpeaksFirst) {
  Moment moment([&](int) { accept().send(too_slow); });
  const Outcome outcome = send(moment);
  EXPECT_TRUE(std::holds_alternative<NotSent>(outcome));
}

// It accepts, and speaks before it was asked: nothing was sent, so another may be asked. Three
// times in a row, and it is left out, though each time it could be connected to.
TEST_F(UpstreamCallTest, GoesToTheNextAddressWhereAFreshConnectionIsDead) {
  const Listening dead = pawl::testing::listen_on_loopback(0, 16);
  Wire dead_listener(dead.descriptor);
  UpstreamPool two = pool_with_before(dead.port);
  CallOptions options;
  options.idle_max = Duration{0};  // a fresh connection each time
  for (int i = 0; i < 5; ++i) {
    Moment moment([&](int call) {
      if (i < 3 && call == 1) {
        accept_at(dead.descriptor).send(too_slow);
      } else {
        serve(accept());
      }
    });
    Payment payment;
    UpstreamCall call(two, payment, options);
    expect_paid(send(call, moment));
    EXPECT_EQ(moment.calls, i < 3 ? 2 : 1) << i;
  }
}

TEST_F(UpstreamCallTest, ChargesAnAnswerForWhatIsNotPaidYet) {
  MemoryBudget budget(10'000);
  CallOptions options;
  options.large = Large::spooled;
  options.memory = &budget;
  options.paid = 600;
  Payment payment;
  UpstreamCall call(pool(), payment, options);
  Moment moment = answering_at_length();
  const Outcome outcome = send(call, moment);
  EXPECT_EQ(std::get<Answered>(outcome).response.body, std::string(1000, 'b'));
  EXPECT_EQ(budget.used(), 3 * 1000U - 600U);
  EXPECT_EQ(call.take_memory().bytes(), 2400U);
  EXPECT_EQ(budget.used(), 0U);
}

TEST_F(UpstreamCallTest, PutsAnAnswerThatThereIsNoRoomForIntoTheSpool) {
  MemoryBudget budget(1000);
  CallOptions options;
  options.large = Large::spooled;
  options.memory = &budget;
  options.room_wait = Duration{0};
  Payment payment;
  UpstreamCall call(pool(), payment, options);
  Moment moment = answering_at_length();
  const Outcome outcome = send(call, moment);
  EXPECT_TRUE(std::get<Answered>(outcome).withheld);
  ASSERT_TRUE(call.spool());
  EXPECT_EQ(call.spool()->size(), 1000U);
  EXPECT_EQ(budget.used(), 0U);
}

TEST_F(UpstreamCallTest, TakesAnAnswerBackOutOfTheSpoolWhenThereIsRoom) {
  MemoryBudget budget(3000);
  auto others = std::make_optional<Charge>(&budget);
  ASSERT_TRUE(others->resize(1, MemoryUse::admitted));
  CallOptions options;
  options.large = Large::spooled;
  options.memory = &budget;
  options.room_wait = std::chrono::seconds(20);
  Payment payment;
  UpstreamCall call(pool(), payment, options);
  Moment moment = answering_at_length();
  boost::asio::co_spawn(context(), let_go_when_spooled(call, others), boost::asio::detached);
  const Outcome outcome = send(call, moment);
  EXPECT_FALSE(std::get<Answered>(outcome).withheld);
  EXPECT_EQ(std::get<Answered>(outcome).response.body, std::string(1000, 'b'));
  EXPECT_FALSE(call.spool());
  EXPECT_EQ(budget.used(), 3000U);
}

}  // namespace
}  // namespace pawl::http
