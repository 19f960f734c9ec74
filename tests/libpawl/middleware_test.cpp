// A handler that does not know that idempotency exists, and what its clients see.
#include "pawl/middleware.hpp"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/beast/http/fields.hpp>
#include <future>
#include <thread>

#include "pawl/async.hpp"
#include "pawl/beast.hpp"
#include "tests/libpawl/node_fixture.hpp"

namespace pawl::testing {
namespace {

using namespace std::chrono_literals;

using MiddlewareTest = NodeTest;

TEST_P(MiddlewareTest, ARetryGetsTheSameAnswerAndTheHandlerRunsOnce) {
  std::atomic<int> charges = 0;
  Middleware payments(node, {.name = "payments"}, [&](const HttpRequest& request) {
    return Response{201, {{"X-Charge", std::to_string(++charges)}}, request.body};
  });
  const Response first = payments.handle("tenant-a", payment("middleware-key-0001"));
  const Response second =
      payments.handle("tenant-a", payment("middleware-key-0001", R"({ "amount":1.0})"));
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(second.status, 201);
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(header(second, "X-Charge"), "1");
  EXPECT_EQ(header(first, "Idempotent-Replayed"), "");
  EXPECT_EQ(header(second, "Idempotent-Replayed"), "true");
  EXPECT_EQ(header(second, "Idempotency-Key"), "middleware-key-0001");
  EXPECT_EQ(header(second, "Pawl-Request-Id"), header(first, "Pawl-Request-Id"));
  EXPECT_EQ(charges, 1);
  // Another caller's key is another key.
  EXPECT_EQ(header(payments.handle("tenant-b", payment("middleware-key-0001")), "X-Charge"), "2");
}

TEST_P(MiddlewareTest, ABadRequestNeverReachesTheHandler) {
  int calls = 0;
  Middleware payments(node, {.name = "payments"}, [&](const HttpRequest&) {
    ++calls;
    return Response{201, {}, ""};
  });
  EXPECT_EQ(payments.handle("tenant-a", payment("")).status, 400);
  EXPECT_EQ(payments.handle("tenant-a", payment("short")).status, 400);
  EXPECT_EQ(payments.handle("", payment("middleware-key-0001")).status, 401);
  EXPECT_EQ(payments.handle("tenant-a", payment("middleware-key-0001", "{]")).status, 400);
  HttpRequest twice = payment("middleware-key-0001");
  twice.headers.push_back({"idempotency-key", "middleware-key-0002"});
  EXPECT_EQ(payments.handle("tenant-a", twice).status, 400);
  HttpRequest zipped = payment("middleware-key-0001");
  zipped.headers.push_back({"Content-Encoding", "gzip"});
  EXPECT_EQ(payments.handle("tenant-a", zipped).status, 415);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(payments.handle("tenant-a", payment("middleware-key-0001")).status, 201);
  const Response reused =
      payments.handle("tenant-a", payment("middleware-key-0001", R"({"amount":2})"));
  EXPECT_EQ(reused.status, 422);
  EXPECT_NE(reused.body.find("urn:pawl:problem:key-reused"), std::string::npos);
  EXPECT_EQ(calls, 1);
}

TEST_P(MiddlewareTest, WhatNeedsNoKeyPassesThrough) {
  int calls = 0;
  Route route{.name = "payments"};
  route.policy.key = KeyRequirement::optional;
  Middleware payments(node, route, [&](const HttpRequest&) {
    ++calls;
    return Response{200, {}, ""};
  });
  HttpRequest get = payment("middleware-key-0001");
  get.method = "GET";
  payments.handle("tenant-a", get);
  payments.handle("tenant-a", get);
  payments.handle("tenant-a", payment(""));
  payments.handle("tenant-a", payment(""));
  EXPECT_EQ(calls, 4);
}

// It may have acted before it threw: that is a 500, and the policy says what a 500 means.
TEST_P(MiddlewareTest, AHandlerThatThrowsIsSettledLikeA500) {
  int calls = 0;
  const auto fails = [&](const HttpRequest&) -> Response {
    ++calls;
    throw std::runtime_error("card reader on fire");
  };
  Route all_or_nothing{.name = "retried", .policy = default_policy(Profile::ietf)};
  all_or_nothing.policy.on_server_error = OnServerError::retry;
  Middleware retried(node, all_or_nothing, fails);
  const Response told = retried.handle("tenant-a", payment("middleware-retry-1"));
  EXPECT_EQ(told.status, 500);
  EXPECT_EQ(told.body.find("fire"), std::string::npos) << "the client is not told";
  EXPECT_NE(log().find("card reader on fire"), std::string::npos);
  EXPECT_EQ(status("middleware-retry-1"), "failed_retryable");

  Middleware held(node, {.name = "held"}, fails);
  EXPECT_EQ(held.handle("tenant-a", payment("middleware-strict-1")).status, 500);
  EXPECT_EQ(status("middleware-strict-1"), "unknown");
  EXPECT_EQ(held.handle("tenant-a", payment("middleware-strict-1")).status, 409);

  Route stripe{.name = "stored", .policy = default_policy(Profile::stripe)};
  Middleware stored(node, stripe, fails);
  EXPECT_EQ(stored.handle("tenant-a", payment("middleware-stripe-1")).status, 500);
  EXPECT_EQ(
      header(stored.handle("tenant-a", payment("middleware-stripe-1")), "Idempotent-Replayed"),
      "true");
  EXPECT_EQ(calls, 3);
}

TEST_P(MiddlewareTest, AHandlerThatDidNotStartMayRunAgainWhateverThePolicy) {
  int calls = 0;
  Route strict{.name = "payments", .policy = default_policy(Profile::strict)};
  Middleware payments(node, strict, [&](const HttpRequest&) -> Response {
    if (++calls == 1) throw NotStarted("no connection to the bank");
    return {201, {}, ""};
  });
  EXPECT_EQ(payments.handle("tenant-a", payment("middleware-key-0001")).status, 503);
  EXPECT_EQ(payments.handle("tenant-a", payment("middleware-key-0001")).status, 201);
}

TEST_P(MiddlewareTest, ManyThreadsAndOneKeyIsOneExecution) {
  std::atomic<int> charges = 0;
  Route route{.name = "payments"};
  route.policy.in_flight = WhenInFlight::wait;
  Middleware payments(node, route, [&](const HttpRequest&) {
    return Response{201, {}, std::to_string(++charges)};
  });
  std::vector<std::future<Response>> all;
  for (int i = 0; i < 16; ++i) {
    all.push_back(std::async(std::launch::async, [&, i] {
      return payments.handle("tenant-a", payment("middleware-key-" + std::to_string(1000 + i % 4)));
    }));
  }
  for (auto& one : all) EXPECT_EQ(one.get().status, 201);
  EXPECT_EQ(charges, 4);
}

TEST_P(MiddlewareTest, ADuplicateWhileTheFirstRunsIsAConflict) {
  std::promise<void> started;
  std::promise<void> go_on;
  Middleware payments(node, {.name = "payments"}, [&](const HttpRequest&) {
    started.set_value();
    go_on.get_future().wait();
    return Response{201, {}, ""};
  });
  auto first = std::async(std::launch::async, [&] {
    return payments.handle("tenant-a", payment("middleware-key-0001"));
  });
  started.get_future().wait();
  const Response second = payments.handle("tenant-a", payment("middleware-key-0001"));
  EXPECT_EQ(second.status, 409);
  EXPECT_NE(header(second, "Retry-After"), "");
  go_on.set_value();
  EXPECT_EQ(first.get().status, 201);
}

// A handler that takes longer than its lease keeps it: the node renews.
TEST_P(MiddlewareTest, ALeaseIsRenewedWhileTheHandlerRuns) {
  Route route{.name = "payments"};
  route.policy.lease = 200ms;
  const auto lease_end = [&] {
    return ask("SELECT locked_until FROM " + keys_table() + " WHERE status = 'in_progress'");
  };
  Middleware payments(node, route, [&](const HttpRequest&) {
    const std::string first = lease_end();
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (lease_end() == first && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(10ms);
    }
    return Response{lease_end() == first ? 500 : 201, {}, ""};
  });
  EXPECT_EQ(payments.handle("tenant-a", payment("middleware-key-0001")).status, 201);
}

TEST_P(MiddlewareTest, WhatOnlyOthersCanDoIsRefusedAtOnce) {
  Route async{.name = "payments"};
  async.policy.mode = Mode::async;
  EXPECT_THROW(Middleware(node, async), std::invalid_argument);
  Route resumed{.name = "payments"};
  resumed.policy.on_lease_expiry = OnLeaseExpiry::resume;
  EXPECT_THROW(Middleware(node, resumed), std::invalid_argument);
  EXPECT_THROW(Middleware(node, {.name = "no spaces"}), std::invalid_argument);
}

namespace net = boost::asio;

// Waits on its own event loop, as a coroutine handler does.
net::awaitable<Response> charge_slowly(const HttpRequest& request) {
  net::steady_timer timer(co_await net::this_coro::executor, 5ms);
  co_await timer.async_wait(net::use_awaitable);
  if (request.body == "[]") throw std::runtime_error("no amount");
  co_return Response{201, {}, request.body};
}

TEST_P(MiddlewareTest, CoroutinesGetTheSameOnTheirOwnThread) {
  Middleware payments(node, {.name = "payments"});
  net::io_context loop;
  std::vector<Response> told;
  const auto client = [&](HttpRequest request) -> net::awaitable<void> {
    const auto thread = std::this_thread::get_id();
    Response response = co_await pawl::handle(payments, "tenant-a", request, charge_slowly);
    EXPECT_EQ(std::this_thread::get_id(), thread);
    told.push_back(std::move(response));
  };
  const auto run = [&](const HttpRequest& request) {
    net::co_spawn(loop, client(request), [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
    loop.run();
    loop.restart();
  };
  run(payment("coroutine-key-0001"));
  run(payment("coroutine-key-0001"));
  run(payment("coroutine-key-0002", "[]"));
  run(payment(""));
  ASSERT_EQ(told.size(), 4U);
  EXPECT_EQ(told[0].status, 201);
  EXPECT_EQ(header(told[1], "Idempotent-Replayed"), "true");
  EXPECT_EQ(told[1].body, told[0].body);
  EXPECT_EQ(told[2].status, 500);
  EXPECT_EQ(told[3].status, 400);
}

TEST_P(MiddlewareTest, BeastMessagesGoInAndOut) {
  namespace http = boost::beast::http;
  Middleware payments(node, {.name = "payments"}, [](const HttpRequest& request) {
    return Response{201, {{"X-Target", request.target}, {"Content-Length", "9"}}, request.body};
  });
  http::request<http::string_body> message{http::verb::post, "/v1/payments", 11};
  message.set("Idempotency-Key", "beast-key-0000000001");
  message.set(http::field::content_type, "application/json");
  message.body() = R"({"amount":1})";
  message.prepare_payload();
  for (const char* replayed : {"", "true"}) {
    const auto answer =
        pawl::to_beast(payments.handle("tenant-a", pawl::from_beast(message)), message);
    EXPECT_EQ(answer.result_int(), 201U);
    EXPECT_EQ(answer["X-Target"], "/v1/payments");
    EXPECT_EQ(answer["Idempotent-Replayed"], replayed);
    EXPECT_EQ(answer[http::field::content_length], std::to_string(message.body().size()));
    EXPECT_EQ(answer.body(), message.body());
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, MiddlewareTest,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres), store_name);

}  // namespace
}  // namespace pawl::testing
