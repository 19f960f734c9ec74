// mode = "async": stored, answered with 202, sent by a worker.
#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

constexpr const char* async = "mode = \"async\"\nlease = \"1s\"\n";
constexpr const char* often = "sweep_interval = \"200ms\"\n";

class Async : public OnEveryStore {};

TEST_P(Async, IsAcceptedExecutedOnceAndThenReplayed) {
  ServeProcess& gateway = start({async, often, ""});
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201, R"({"id":"pay_1"})").after(gate));
  const HttpAnswer accepted = post(gateway.port(), payment);
  EXPECT_EQ(accepted.status, 202);
  EXPECT_EQ(accepted.value("Location"), "/_pawl/v1/keys/" + payment.key);
  EXPECT_NE(accepted.value("Retry-After"), "");
  upstream.wait_for(1);
  EXPECT_EQ(post(gateway.port(), payment).status, 202) << "every duplicate, until it is there";
  EXPECT_EQ(status_of(gateway, payment.key), "in_progress");
  gate->release();
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  const HttpAnswer answer = post(gateway.port(), payment);
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, R"({"id":"pay_1"})");
  EXPECT_EQ(answer.value("Idempotent-Replayed"), "true");
  Post other = payment;
  other.body = R"({"amount":2})";
  EXPECT_EQ(problem_of(post(gateway.port(), other)), "key-reused");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
  EXPECT_EQ(upstream.requests().front().body, payment.body);
}

TEST_P(Async, KeepsOnlyTheHeadersThatTheRouteLists) {
  ServeProcess& gateway = start(
      {std::string(async) + "request_headers = [\"Content-Type\", \"X-Wanted\"]\n", often, ""});
  Post one = payment;
  one.headers = {{"Content-Type", "application/json"},
                 {"Authorization", "Bearer secret"},
                 {"X-Wanted", "yes"},
                 {"X-Other", "no"}};
  EXPECT_EQ(post(gateway.port(), one).status, 202);
  upstream.wait_for(1);
  const ReceivedRequest sent = upstream.requests().front();
  EXPECT_EQ(sent.header("X-Wanted"), "yes");
  EXPECT_EQ(sent.header("Content-Type"), "application/json");
  EXPECT_EQ(sent.header("Idempotency-Key"), payment.key);
  EXPECT_FALSE(sent.header("Authorization"));
  EXPECT_FALSE(sent.header("X-Other"));
}

TEST_P(Async, WaitsForAnUpstreamThatIsAway) {
  const std::uint16_t port = upstream.port();
  upstream.stop();
  ServeProcess& gateway = start({async, often, ""});
  EXPECT_EQ(post(gateway.port(), payment).status, 202);
  ASSERT_TRUE(gateway.wait_for_text("cannot connect"));
  EXPECT_NE(status_of(gateway, payment.key), "unknown") << "nothing was sent";
  UpstreamServer back({}, port);
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  EXPECT_EQ(back.effects(payment.key), 1U);
}

TEST_P(Async, AnUpstreamThatStaysAwayUsesUpTheRetentionAndNoAttempts) {
  upstream.stop();
  ServeProcess& gateway =
      start({std::string(async) + "max_attempts = 1\nretention = \"4s\"\n", often, ""});
  EXPECT_EQ(post(gateway.port(), payment).status, 202);
  ASSERT_TRUE(gateway.wait_for_text("cannot connect"));
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  const HttpAnswer told = post(gateway.port(), payment);
  EXPECT_EQ(told.status, 408);
  EXPECT_EQ(problem_of(told), "abandoned");
  EXPECT_EQ(metric(gateway, "pawl_async_dead_letters"), 0);
}

TEST_P(Async, AWorkerKilledWhileItWaitsForTheAnswerLeavesDoubtAndNoSecondEffect) {
  ServeProcess& gateway = start({async, often, ""});
  upstream.behave(Behaviour::hang());
  EXPECT_EQ(post(gateway.port(), payment).status, 202);
  upstream.wait_for(1);
  gateway.kill_hard();
  upstream.behave(Behaviour::answer(201));
  ServeProcess& next = start({async, often, ""});
  ASSERT_TRUE(becomes(next, payment.key, "unknown"));
  EXPECT_EQ(problem_of(post(next.port(), payment)), "outcome-unknown");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(Async, AWorkerOfItsOwnWorksOffWhatAnotherNodeAccepted) {
  const std::uint16_t port = upstream.port();
  upstream.stop();
  ServeProcess& gateway = start({async, often, ""});
  EXPECT_EQ(post(gateway.port(), payment).status, 202);
  ASSERT_TRUE(gateway.wait_for_text("cannot connect"));
  EXPECT_EQ(gateway.terminate(), 0);
  UpstreamServer back({}, port);
  ServeProcess& worker = start({async, often, ""}, /*worker=*/true);
  back.wait_for(1);
  EXPECT_EQ(worker.terminate(), 0);
  EXPECT_EQ(back.effects(payment.key), 1U);
  ServeProcess& again = start({async, often, ""});
  EXPECT_EQ(post(again.port(), payment).value("Idempotent-Replayed"), "true");
}

PAWL_ON_EVERY_STORE(Async);

}  // namespace
}  // namespace pawl::e2e
