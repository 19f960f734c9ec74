// The gateway is stopped for longer than its lease, and then goes on as if nothing had happened.
#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

class Pause : public OnEveryStore {};

const Settings short_lease{.policy = "lease = \"1s\"\nupstream_connect_timeout = \"20s\"",
                           .top = "sweep_interval = \"1s\"",
                           .rest = ""};

// After sending: the answer arrives while the gateway sleeps, and the sweeper of another node has
// said `unknown` by the time it wakes up. It still holds the fence: its answer counts.
TEST_P(Pause, AfterSendingALateAnswerStillCounts) {
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201, "late").after(gate));
  ServeProcess& gateway = start(short_lease);
  ServeProcess& other = start(short_lease);
  RawClient client(gateway.port());
  client.send(to_bytes(payment));
  upstream.wait_for(1);
  gateway.stop();
  gate->release();
  ASSERT_TRUE(becomes(other, payment.key, "unknown"));
  EXPECT_EQ(problem_of(post(other.port(), payment)), "outcome-unknown");
  gateway.resume();
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "late");
  const HttpAnswer again = post(other.port(), payment);
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.body, "late");
  EXPECT_EQ(again.value("Idempotent-Replayed"), "true");
  EXPECT_EQ(metric(gateway, "pawl_late_answers_total"), 1);
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

// Where the policy lets somebody else take over meanwhile, the late answer is evidence, its client
// gets what is stored, and the alert's counter rises.
TEST_P(Pause, AfterSendingAndTakenOverTheClientGetsWhatIsStored) {
  Settings settings = short_lease;
  settings.policy += "\non_lease_expiry = \"retry\"";
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201, "the first").after(gate));
  ServeProcess& gateway = start(settings);
  ServeProcess& other = start(settings);
  RawClient client(gateway.port());
  client.send(to_bytes(payment));
  upstream.wait_for(1);
  gateway.stop();
  upstream.behave(Behaviour::answer(201, "the second"));
  ASSERT_TRUE(until([&] { return post(other.port(), payment).status == 201; }));
  gate->release();
  gateway.resume();
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "the second");
  EXPECT_EQ(metric(gateway, "pawl_possible_double_executions_total{evidence=\"answered\"}"), 1);
}

// Before sending: the gateway has reserved the key and waits for its connection to the upstream,
// whose backlog is full. It is stopped, its lease ends, another node says `unknown`; then there is
// room, the connection is made, and the gateway wakes up. Not a byte may be sent.
TEST_P(Pause, BeforeSendingNothingIsSentUnderALeaseThatIsOver) {
  const std::uint16_t port = upstream.port();
  ServeProcess& gateway = start(short_lease);
  ServeProcess& other = start(short_lease);
  upstream.stop();
  testing::FullListener full(port);
  RawClient client(gateway.port());
  client.send(to_bytes(payment));
  ASSERT_TRUE(becomes(other, payment.key, "in_progress"));
  gateway.stop();
  ASSERT_TRUE(becomes(other, payment.key, "unknown"));
  testing::Wire connection = full.accept();  // the kernel connects for a stopped process too
  gateway.resume();
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 502);
  EXPECT_EQ(problem_of(answer), "upstream-unreachable");
  // Proven not to have been sent: the record says so although it was `unknown` for a while.
  EXPECT_EQ(status_of(other, payment.key), "failed_retryable");
  gateway.kill_hard();
  EXPECT_EQ(connection.read_to_end(), "") << "bytes were sent under a lease that was over";
}

// The same, but nobody noticed: the owner renews its lease first and goes on.
TEST_P(Pause, BeforeSendingALapsedLeaseThatNobodyTookIsRenewedFirst) {
  Settings settings = short_lease;
  settings.top = "sweep_interval = \"1h\"\nthreads = 1";
  const std::uint16_t port = upstream.port();
  ServeProcess& gateway = start(settings);
  ServeProcess& other = start(settings);
  upstream.stop();
  testing::FullListener full(port);
  RawClient client(gateway.port());
  client.send(to_bytes(payment));
  ASSERT_TRUE(becomes(other, payment.key, "in_progress"));
  gateway.stop();
  testing::Wire connection = full.accept();
  gateway.resume();
  const std::optional<std::string> head = connection.read_head();
  ASSERT_TRUE(head);
  EXPECT_EQ(testing::find_header(testing::headers_in(*head), "Idempotency-Key"), payment.key);
  connection.read_exactly(payment.body.size());
  connection.send("HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(client.read_answer().status, 201);
  EXPECT_EQ(post(other.port(), payment).value("Idempotent-Replayed"), "true");
}

PAWL_ON_EVERY_STORE(Pause);

}  // namespace
}  // namespace pawl::e2e
