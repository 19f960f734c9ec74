// mode = "async": what was accepted is tried until it is done, or until a person knows that it is
// not.
#include <array>
#include <atomic>
#include <chrono>

#include "tests/e2e/gateway_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* short_async = "mode = \"async\"\nlease = \"1s\"\nupstream_timeout = \"1s\"\n";
// Given up after two tries, and kept for seconds.
constexpr const char* short_lived =
    "mode = \"async\"\nlease = \"1s\"\nupstream_timeout = \"1s\"\nretention = \"3s\"\n"
    "max_attempts = 2\non_server_error = \"retry\"\n";

class AsyncRetry : public OnEveryStore {
 protected:
  testing::Finished keys(std::vector<std::string> arguments) const {
    std::vector<std::string> command{PAWL_BINARY, "keys"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    command.insert(command.end(), {"--store", store_url()});
    return testing::run_program(command);
  }
  testing::Finished about(const std::string& verb, const std::string& reason) const {
    return keys({verb, payment.key, "--scope", "caller:default", "--reason", reason});
  }
  Post another() const {
    Post other = payment;
    other.key = "another-key-entirely";
    other.body = R"({"amount":7})";
    return other;
  }
  // Until the dead letters are as many.
  static bool counts_dead(const ServeProcess& gateway, double many) {
    return until([&] { return metric(gateway, "pawl_async_dead_letters") == many; });
  }
};

TEST_P(AsyncRetry, A503TwiceAndThenA201IsExecutedOnceAndItsAnswerReplayed) {
  std::atomic<int> tries = 0;
  std::array<steady_clock::time_point, 3> came{};
  upstream.behave([&](const ReceivedRequest&) {
    const int number = tries++;
    if (number < 3) came.at(static_cast<std::size_t>(number)) = steady_clock::now();
    return number < 2 ? Behaviour::answer(503, "{}", {{"Retry-After", "1"}})
                      : Behaviour::answer(201, R"({"id":"pay_1"})");
  });
  ServeProcess& gateway = start({short_async, often, ""});
  EXPECT_EQ(post(gateway.port(), payment).status, 202);
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  const HttpAnswer answer = post(gateway.port(), payment);
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, R"({"id":"pay_1"})");
  EXPECT_EQ(answer.value("Idempotent-Replayed"), "true");
  EXPECT_EQ(tries, 3);
  // Never before the time that the upstream has asked for.
  EXPECT_GE(came[1] - came[0], milliseconds(950));
  EXPECT_GE(came[2] - came[1], milliseconds(950));
}

TEST_P(AsyncRetry, WhenToTryAgainIsKnownToEveryNode) {
  upstream.behave([&](const ReceivedRequest& request) {
    return request.header("Idempotency-Key") == payment.key
               ? Behaviour::answer(429, "{}", {{"Retry-After", "600"}})
               : Behaviour::answer(201);
  });
  {
    ServeProcess& first = start({short_async, often, ""});
    EXPECT_EQ(post(first.port(), payment).status, 202);
    upstream.wait_for(1);
    ASSERT_TRUE(becomes(first, payment.key, "pending"));
    first.kill_hard();
  }
  ServeProcess& second = start({short_async, often, ""});
  EXPECT_EQ(post(second.port(), another()).status, 202);
  ASSERT_TRUE(becomes(second, another().key, "completed")) << "its worker has looked";
  EXPECT_EQ(status_of(second, payment.key), "pending");
  EXPECT_EQ(post(second.port(), payment).status, 202);
  EXPECT_EQ(upstream.effects(payment.key), 1U) << "and has left this one alone";
}

TEST_P(AsyncRetry, A500EveryTimeEndsAsADeadLetterThatOutlivesItsRetention) {
  upstream.behave([&](const ReceivedRequest& request) {
    return request.header("Idempotency-Key") == payment.key ? Behaviour::answer(500)
                                                            : Behaviour::answer(201);
  });
  ServeProcess& gateway = start({short_lived, often, ""});
  EXPECT_EQ(post(gateway.port(), payment).status, 202);
  ASSERT_TRUE(counts_dead(gateway, 1));
  EXPECT_EQ(upstream.effects(payment.key), 2U);
  EXPECT_EQ(status_of(gateway, payment.key), "failed_retryable");
  // What came later and was done is reaped; this is not.
  EXPECT_EQ(post(gateway.port(), another()).status, 202);
  ASSERT_TRUE(becomes(gateway, another().key, "completed"));
  ASSERT_TRUE(until([&] { return metric(gateway, "pawl_pruned_total{how=\"deleted\"}") >= 1; }));
  EXPECT_EQ(metric(gateway, "pawl_async_dead_letters"), 1);
  const testing::Finished listed = keys({"list", "--dead"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr(payment.key));
  EXPECT_THAT(listed.out, HasSubstr("failed_retryable"));
  EXPECT_EQ(upstream.effects(payment.key), 2U);
}

TEST_P(AsyncRetry, AnOperatorPutsADeadLetterBackIntoTheQueueWithAllItsAttempts) {
  std::atomic<int> tries = 0;
  upstream.behave([&](const ReceivedRequest&) {
    return ++tries < 4 ? Behaviour::answer(500) : Behaviour::answer(201, R"({"id":"pay_1"})");
  });
  ServeProcess& gateway = start({short_lived, often, ""});
  EXPECT_EQ(post(gateway.port(), payment).status, 202);
  ASSERT_TRUE(counts_dead(gateway, 1));
  const testing::Finished retried = about("retry", "the bank is back");
  EXPECT_EQ(retried.exit_code, 0) << retried.err;
  EXPECT_THAT(retried.out, HasSubstr("pending"));
  ASSERT_TRUE(until([&] { return tries == 4; })) << "the third try fails, and a fourth is made";
  ASSERT_TRUE(counts_dead(gateway, 0));
  EXPECT_EQ(tries, 4);
  const testing::Finished shown = keys({"show", payment.key, "--scope", "caller:default"});
  EXPECT_THAT(shown.out, HasSubstr("the bank is back")) << "audited";
  const testing::Finished twice = about("retry", "once more");
  EXPECT_EQ(twice.exit_code, 1);
  EXPECT_THAT(twice.err, HasSubstr("not retried"));
}

TEST_P(AsyncRetry, ADeadLetterIsDiscardedByHandAloneAndItsClientIsTold) {
  upstream.behave(Behaviour::answer(500));
  ServeProcess& gateway = start(
      {std::string(short_async) + "max_attempts = 1\non_server_error = \"retry\"\n", often, ""});
  EXPECT_EQ(post(gateway.port(), payment).status, 202);
  ASSERT_TRUE(counts_dead(gateway, 1));
  EXPECT_EQ(keys({"discard", payment.key, "--scope", "caller:default"}).exit_code, 64)
      << "not without a reason";
  const testing::Finished discarded = about("discard", "the customer has left");
  EXPECT_EQ(discarded.exit_code, 0) << discarded.err;
  ASSERT_TRUE(counts_dead(gateway, 0));
  const HttpAnswer answer = post(gateway.port(), payment);
  EXPECT_EQ(answer.status, 408);
  EXPECT_EQ(problem_of(answer), "abandoned");
  EXPECT_EQ(answer.value("Idempotent-Replayed"), "true");
  EXPECT_THAT(keys({"list", "--dead"}).out, Not(HasSubstr(payment.key)));
  EXPECT_THAT(keys({"show", payment.key, "--scope", "caller:default"}).out,
              HasSubstr("the customer has left"));
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(AsyncRetry, One500IsUnknownByDefaultAndNotSentAgainUntilSomebodyFindsItWasNotExecuted) {
  std::atomic<int> tries = 0;
  upstream.behave([&](const ReceivedRequest& request) {
    const bool ours = request.header("Idempotency-Key") == payment.key;
    return ours && ++tries == 1 ? Behaviour::answer(500) : Behaviour::answer(201);
  });
  ServeProcess& gateway = start({short_async, often, ""});
  EXPECT_EQ(post(gateway.port(), payment).status, 202);
  ASSERT_TRUE(becomes(gateway, payment.key, "unknown"));
  EXPECT_EQ(problem_of(post(gateway.port(), payment)), "outcome-unknown");
  EXPECT_EQ(post(gateway.port(), another()).status, 202);
  ASSERT_TRUE(becomes(gateway, another().key, "completed")) << "the worker has looked";
  EXPECT_EQ(tries, 1);
  const std::string fence =
      member_of(keys({"show", payment.key, "--scope", "caller:default", "--json"}).out, "fence");
  ASSERT_TRUE(until([&] {
    return keys({"release", payment.key, "--scope", "caller:default", "--fence", fence, "--reason",
                 "it is not in the books"})
               .exit_code == 0;
  }));
  ASSERT_TRUE(becomes(gateway, payment.key, "completed")) << "no client had to come back";
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(post(gateway.port(), payment).value("Idempotent-Replayed"), "true");
}

PAWL_ON_EVERY_STORE(AsyncRetry);

}  // namespace
}  // namespace pawl::e2e
