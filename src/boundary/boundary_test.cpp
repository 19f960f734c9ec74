// The guarded request, without a process or a socket: a store in memory, and an upstream that
// counts.
#include "src/boundary/boundary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_future.hpp>

#include "src/adapters/memory/memory_store.hpp"
#include "src/adapters/os/sleepers.hpp"
#include "testing/builders.hpp"
#include "testing/counting.hpp"
#include "testing/fault_store.hpp"
#include "testing/run.hpp"
#include "testing/scripted_upstream.hpp"
#include "testing/sim_clock.hpp"

namespace pawl {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;
using testing::Fault;
using testing::FaultStore;
using ::testing::HasSubstr;
using testing::run;

class CountedReplays final : public NoGatewayMetrics {
 public:
  void replayed(bool from_memory) override { ++(from_memory ? from_cache : from_store); }

  int from_cache = 0;
  int from_store = 0;
};

class NoLog final : public Log {
 public:
  void say(std::string_view, std::string_view) override {}
};

class Scripted final : public Execution {
 public:
  explicit Scripted(testing::ScriptedUpstream& upstream) : upstream_(upstream) {}
  Task<Outcome> send(const Record& attempt, SendGate& gate, BootTime deadline) override {
    return upstream_.send(attempt, gate, deadline);
  }

 private:
  testing::ScriptedUpstream& upstream_;
};

class BoundaryTest : public ::testing::Test {
 protected:
  struct Node {
    Node(BoundaryTest& world, Store& store, std::size_t cache_bytes = 1 << 20,
         std::size_t memory_bytes = std::size_t{1} << 30)
        : state(cache_bytes, memory_bytes),
          engine(store, world.clock, world.entropy, world.counters),
          boundary(state, {engine, store, world.clock, world.entropy, world.sleepers, world.metrics,
                           world.log}) {}

    BoundaryState state;
    Engine engine;
    Boundary boundary;
  };

  // One request as a client sends it.
  struct Sent final : RequestContext {
    Sent(const BoundaryPolicy& rules, const FingerprintSecrets& known, MemoryBudget* budget,
         std::string_view key_text, std::string text)
        : RequestContext(rules, known, budget) {
      route_name = "payments";
      method = "POST";
      path = "/v1/payments";
      content_type = "application/json";
      body = std::move(text);
      scope = Scope{"tenant-a"};
      key = Key{std::string(key_text)};
    }
    [[nodiscard]] bool client_is_gone() override { return gone; }
    [[nodiscard]] bool is_stored() const override { return policy.mode == Mode::async; }
    [[nodiscard]] std::optional<StoredRequest> to_store() const override {
      ++copies;
      if (!is_stored()) return std::nullopt;
      return StoredRequest{std::string(path), {}, body};
    }
    bool gone = false;
    mutable int copies = 0;  // of the body
  };

  Task<Response> send(Node& node, std::string_view key = "key-00000001",
                      std::string body = R"({"amount":10})") {
    Sent sent(policy, secrets, &node.state.memory, key, std::move(body));
    Scripted execution(upstream);
    if (std::optional<Response> refused = node.boundary.take_fingerprint(sent)) {
      co_return std::move(*refused);
    }
    Response response = co_await node.boundary.handle(sent, execution);
    if (sent.replay && sent.replay->response.body) response.body = sent.replay->body;
    co_return response;
  }

  testing::SimClock clock;
  memory::MemoryStore store{[this] { return clock.wall(); }};
  testing::CountingEntropy entropy;
  testing::CountingMetrics counters;
  testing::ScriptedUpstream upstream;
  CountedReplays metrics;
  NoLog log;
  net::io_context context{1};
  os::AsioSleepers sleepers{context.get_executor()};
  BoundaryPolicy policy;
  FingerprintSecrets secrets;
};

TEST_F(BoundaryTest, ARetryIsGivenTheStoredAnswerAndMoneyMovesOnce) {
  Node node(*this, store, /*cache_bytes=*/0);
  const Response first = run(send(node));
  const Response retry = run(send(node, "key-00000001", R"({ "amount": 10.0 })"));
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(retry.status, 201);
  EXPECT_EQ(retry.body, first.body);
  EXPECT_EQ(find_header(retry.headers, "Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.charges(), 1);
  EXPECT_EQ(metrics.from_store, 1);
}

TEST_F(BoundaryTest, WhatIsInMemoryIsAnsweredWhileTheStoreIsUnavailable) {
  FaultStore faulty(store, {.call = 3, .times = 1000, .fault = Fault::unavailable});
  Node node(*this, faulty);
  EXPECT_EQ(run(send(node)).status, 201);
  ASSERT_EQ(faulty.calls(), 3) << "the time, the reservation, the outcome";
  EXPECT_EQ(run(send(node)).status, 201);
  EXPECT_EQ(run(send(node, "key-00000001", R"({"amount":11})")).status, 422);
  EXPECT_EQ(run(send(node, "key-00000002")).status, 503);
  EXPECT_EQ(metrics.from_cache, 1);
  EXPECT_EQ(upstream.charges(), 1);
}

TEST_F(BoundaryTest, MemoryForgetsAnAnswerWithItsRecord) {
  policy.retention = 1h;
  Node node(*this, store);
  run(send(node));
  clock.advance(2h);
  run(send(node));
  EXPECT_EQ(metrics.from_cache, 0);
}

TEST_F(BoundaryTest, AnOutcomeThatCouldNotBeRecordedIsNotToldUntilItIs) {
  // The reservation is written; its settlement is not, for as long as the engine tries.
  FaultStore faulty(store, {.call = 2, .times = 100, .fault = Fault::unavailable});
  Node node(*this, faulty);
  const Response first = run(send(node));
  EXPECT_EQ(first.status, 503);
  EXPECT_THAT(first.body, HasSubstr("outcome-unknown"));
  EXPECT_EQ(node.boundary.late(), 1U);
  while (node.boundary.late() > 0) {
    ASSERT_LT(faulty.calls(), 1000);
    run(node.boundary.settle_late());
  }
  EXPECT_EQ(run(send(node)).status, 201);
  EXPECT_EQ(upstream.charges(), 1);
}

TEST_F(BoundaryTest, WhereNothingIsLateAllIsRecordedAtOnce) {
  Node node(*this, store);
  EXPECT_EQ(run(send(node)).status, 201);
  std::future<void> recorded =
      net::co_spawn(context, node.boundary.all_recorded(), net::use_future);
  context.run();  // it ends: nobody sleeps
  recorded.get();
}

TEST_F(BoundaryTest, AllIsRecordedOnlyWhenTheLateOutcomeIs) {
  FaultStore faulty(store, {.call = 2, .times = 100, .fault = Fault::unavailable});
  Node node(*this, faulty);
  ASSERT_EQ(run(send(node)).status, 503);
  ASSERT_EQ(node.boundary.late(), 1U);
  bool returned = false;
  const auto wait = [&]() -> Task<void> {
    co_await node.boundary.all_recorded();
    EXPECT_EQ(status_of(store.records().at(0)), Status::completed);
    returned = true;
  };
  std::future<void> recorded = net::co_spawn(context, wait, net::use_future);
  while (node.boundary.late() > 0) {
    context.poll();
    ASSERT_FALSE(returned) << "it is not recorded";
    ASSERT_LT(faulty.calls(), 1000);
    run(node.boundary.settle_late());
  }
  context.run();
  recorded.get();
  EXPECT_TRUE(returned);
}

TEST_F(BoundaryTest, AStoreThatFailsAgainAndAgainIsLeftAloneForAMoment) {
  FaultStore faulty(store, {.call = 0, .times = 1000, .fault = Fault::unavailable});
  Node node(*this, faulty);
  while (!node.state.breaker.open()) {
    ASSERT_LT(faulty.calls(), 100);
    EXPECT_EQ(run(send(node)).status, 503);
  }
  const int calls = faulty.calls();
  EXPECT_EQ(run(send(node)).status, 503);
  EXPECT_EQ(faulty.calls(), calls);
  EXPECT_EQ(upstream.sends(), 0);
}

// A handler may take minutes: nobody else has to wait for its end to learn that the store is there.
TEST_F(BoundaryTest, AReservationShowsThatTheStoreHasRecovered) {
  FaultStore faulty(store, {.call = 0, .times = 40, .fault = Fault::unavailable});
  Node node(*this, faulty);
  while (!node.state.breaker.open()) run(send(node));
  upstream.before_gate = [&] { EXPECT_FALSE(node.state.breaker.open()); };
  while (upstream.sends() == 0) {
    ASSERT_LT(faulty.calls(), 1000);
    clock.advance(Breaker::retry_after);
    run(send(node));
  }
}

TEST_F(BoundaryTest, OverTheLimitNewKeysAreRefusedAndReplaysAreServed) {
  policy.new_keys_per_second = 1;
  Node node(*this, store, /*cache_bytes=*/0);
  EXPECT_EQ(run(send(node, "key-00000001")).status, 201);
  const Response second = run(send(node, "key-00000002", R"({"amount":11})"));
  EXPECT_EQ(second.status, 429);
  EXPECT_EQ(run(send(node, "key-00000001")).status, 201);
  EXPECT_EQ(upstream.charges(), 1);
}

TEST_F(BoundaryTest, ADoubleTapUnderANewKeyIsRefusedWhereTheRouteSaysSo) {
  policy.near_duplicates = WhenNearDuplicate::refuse;
  Node node(*this, store);
  EXPECT_EQ(run(send(node, "key-00000001")).status, 201);
  const Response second = run(send(node, "key-00000002"));
  EXPECT_EQ(find_header(second.headers, "Pawl-Near-Duplicate"), "true");
  EXPECT_GE(second.status, 400);
  EXPECT_EQ(upstream.charges(), 1);
}

TEST_F(BoundaryTest, ARequestThatIsTooOldIsReplayedButNeverExecuted) {
  Node node(*this, store, /*cache_bytes=*/0);
  const auto send_old = [&](const char* key) {
    Sent sent(policy, secrets, &node.state.memory, key, R"({"amount":10})");
    sent.stale = "It is of last year.";
    EXPECT_FALSE(node.boundary.take_fingerprint(sent));
    Scripted execution(upstream);
    return run(node.boundary.handle(sent, execution));
  };
  const Response refused = send_old("key-00000001");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("stale-request"));
  EXPECT_THAT(refused.body, HasSubstr("It is of last year."));
  EXPECT_FALSE(find_header(refused.headers, "Retry-After"));
  EXPECT_EQ(upstream.sends(), 0);
  EXPECT_EQ(run(send(node, "key-00000001")).status, 201) << "nothing was reserved";
  EXPECT_EQ(find_header(send_old("key-00000001").headers, "Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.charges(), 1);
}

TEST_F(BoundaryTest, NothingIsSentWhereThereIsNoMemoryForTheAnswer) {
  Node node(*this, store, 0, /*memory_bytes=*/1024);
  const Response refused = run(send(node));
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("overloaded"));
  EXPECT_EQ(upstream.sends(), 0);
}

TEST_F(BoundaryTest, ABodyThatIsNoJsonIsRefusedBeforeTheKeyIsTouched) {
  Node node(*this, store);
  EXPECT_EQ(run(send(node, "key-00000001", "{")).status, 400);
  EXPECT_EQ(run(send(node)).status, 201);
}

TEST_F(BoundaryTest, AnAnswerThatWasPurgedIsNotReplayedFromMemory) {
  Node node(*this, store);
  run(send(node));
  node.state.cache.hear(node.state.cache.epoch() + 1);
  run(send(node));
  EXPECT_EQ(metrics.from_cache, 0);
  EXPECT_EQ(upstream.charges(), 1) << "its record is still there";
}

// An upstream that answers once somebody else waits for its answer.
class Held final : public Execution {
 public:
  Held(BoundaryState& state, net::io_context& context, std::size_t waiters)
      : state_(state), context_(context), waiters_(waiters) {}
  Task<Outcome> send(const Record&, SendGate& gate, BootTime) override {
    if (!co_await gate.may_send()) co_return NotSent{"the lease is over"};
    ++sends;
    while (state_.flights.waiting() < waiters_) {
      net::steady_timer moment(context_, 1ms);
      co_await moment.async_wait(net::use_awaitable);
    }
    if (meanwhile) meanwhile();
    co_return outcome;
  }
  int sends = 0;
  std::function<void()> meanwhile;  // once they wait
  Outcome outcome = testing::answered(201);

 private:
  BoundaryState& state_;
  net::io_context& context_;
  const std::size_t waiters_;
};

TEST_F(BoundaryTest, DuplicatesThatWaitAreGivenTheFirstOnesAnswer) {
  constexpr int clients = 5;
  policy.in_flight = WhenInFlight::wait;
  Node node(*this, store);
  Held execution(node.state, context, clients - 1);
  std::vector<std::string> bodies;
  const auto client = [&]() -> Task<void> {
    Sent sent(policy, secrets, &node.state.memory, "key-00000001", R"({"amount":10})");
    EXPECT_FALSE(node.boundary.take_fingerprint(sent));
    const Response response = co_await node.boundary.handle(sent, execution);
    EXPECT_EQ(response.status, 201);
    bodies.push_back(sent.replay ? sent.replay->body : response.body);
  };
  std::vector<std::future<void>> done;
  for (int i = 0; i < clients; ++i) done.push_back(net::co_spawn(context, client, net::use_future));
  context.run();
  for (std::future<void>& each : done) each.get();
  EXPECT_EQ(execution.sends, 1);
  EXPECT_EQ(bodies, std::vector<std::string>(clients, R"({"id":"pay_1"})"));
}

// A service with the library has no replay cache: what the first one recorded is in the store
// alone.
TEST_F(BoundaryTest, AWaiterWhoseTimeIsUpIsGivenTheAnswerThatIsStoredByThen) {
  policy.in_flight = WhenInFlight::wait;
  policy.wait_limit = 1s;
  Node node(*this, store, /*cache_bytes=*/0);
  Held execution(node.state, context, 1);
  execution.meanwhile = [&] { clock.advance(2s); };
  std::vector<Response> answers;
  const auto client = [&]() -> Task<void> {
    Sent sent(policy, secrets, &node.state.memory, "key-00000001", R"({"amount":10})");
    EXPECT_FALSE(node.boundary.take_fingerprint(sent));
    answers.push_back(co_await node.boundary.handle(sent, execution));
  };
  std::vector<std::future<void>> done;
  for (int i = 0; i < 2; ++i) done.push_back(net::co_spawn(context, client, net::use_future));
  context.run();
  for (std::future<void>& each : done) each.get();
  EXPECT_EQ(execution.sends, 1);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].status, 201);
  EXPECT_EQ(answers[1].status, 201);
}

TEST_F(BoundaryTest, AWaiterWhoseTimeIsUpExecutesNothing) {
  policy.in_flight = WhenInFlight::wait;
  policy.wait_limit = 1s;
  Node node(*this, store, /*cache_bytes=*/0);
  Held execution(node.state, context, 1);
  std::vector<int> answers;
  const auto client = [&]() -> Task<void> {
    Sent sent(policy, secrets, &node.state.memory, "key-00000001", R"({"amount":10})");
    EXPECT_FALSE(node.boundary.take_fingerprint(sent));
    answers.push_back((co_await node.boundary.handle(sent, execution)).status);
  };
  // The first one was not sent after all: the key is free, and the other one's time is up.
  execution.outcome = NotSent{"no connection"};
  execution.meanwhile = [&] { clock.advance(2s); };
  std::vector<std::future<void>> done;
  for (int i = 0; i < 2; ++i) done.push_back(net::co_spawn(context, client, net::use_future));
  context.run();
  for (std::future<void>& each : done) each.get();
  EXPECT_EQ(execution.sends, 1);
  EXPECT_THAT(answers, ::testing::Contains(409));
}

TEST_F(BoundaryTest, ADuplicateIsToldWhatRequestsOfItsRouteUsuallyStillTake) {
  Node node(*this, store, /*cache_bytes=*/0);
  upstream.before_gate = [&] { clock.advance(4s); };
  EXPECT_EQ(run(send(node, "key-00000001")).status, 201);
  std::optional<Response> duplicate;
  upstream.before_gate = [&] {
    clock.advance(1s);
    duplicate = run(send(node, "key-00000002"));
  };
  EXPECT_EQ(run(send(node, "key-00000002")).status, 201);
  ASSERT_TRUE(duplicate);
  EXPECT_EQ(duplicate->status, 409);
  EXPECT_EQ(find_header(duplicate->headers, "Retry-After"), "3");
  EXPECT_EQ(upstream.charges(), 2);
}

TEST_F(BoundaryTest, ALookUpHasRoomForWhatItFindsAndCopiesNoBody) {
  policy.mode = Mode::async;
  policy.near_duplicates = WhenNearDuplicate::refuse;
  policy.near_duplicate_window = 1min;
  FaultStore watched(store, {.call = 1000, .times = 1, .fault = Fault::unavailable});
  Node node(*this, watched, /*cache_bytes=*/0);
  EXPECT_EQ(run(send(node, "key-00000001")).status, 202);
  std::optional<std::size_t> used;
  watched.before_find([&] { used = node.state.memory.used(); });
  Sent sent(policy, secrets, &node.state.memory, "key-00000002", R"({"amount":10})");
  ASSERT_FALSE(node.boundary.take_fingerprint(sent));
  Scripted execution(upstream);
  const Response refused = run(node.boundary.handle(sent, execution));
  EXPECT_EQ(sent.refused_as, Problem::near_duplicate);
  EXPECT_EQ(sent.copies, 0);
  ASSERT_TRUE(used.has_value());
  EXPECT_GE(*used, sent.body.size() + policy.response_bytes_max);
}

}  // namespace
}  // namespace pawl
