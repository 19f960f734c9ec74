// Somebody stops in the middle: the client, the gateway for a while, the gateway for good.
#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

class Interruption : public OnEveryStore {};

constexpr const char* short_lease = "lease = \"1s\"";
// Longer than the tests wait: what a retry sees is decided by the retry itself.
constexpr const char* no_sweeper = "sweep_interval = \"1h\"";

TEST_P(Interruption, AClientThatHangsUpChangesNothing) {
  ServeProcess& gateway = start();
  for (const bool resets : {false, true}) {
    const auto gate = std::make_shared<Gate>();
    upstream.behave(Behaviour::answer(201, "for nobody").after(gate));
    Post each = payment;
    each.key = resets ? "a-client-that-resets" : "a-client-that-closes";
    RawClient client(gateway.port());
    client.send(to_bytes(each));
    ASSERT_TRUE(until([&] { return upstream.effects(each.key) == 1; }));
    resets ? client.reset() : client.hang_up();
    EXPECT_EQ(status_of(gateway, each.key), "in_progress");
    gate->release();
    EXPECT_TRUE(becomes(gateway, each.key, "completed"));
    const HttpAnswer again = post(gateway.port(), each);
    EXPECT_EQ(again.body, "for nobody");
    EXPECT_EQ(again.value("Idempotent-Replayed"), "true");
    EXPECT_EQ(upstream.effects(each.key), 1U);
  }
}

TEST_P(Interruption, AClientThatHangsUpWithinItsBodyLeavesNoTrace) {
  ServeProcess& gateway = start();
  RawClient client(gateway.port());
  const std::string bytes = to_bytes(payment);
  client.send(bytes.substr(0, bytes.size() - 1));
  client.hang_up();
  ASSERT_TRUE(gateway.wait_for_text("the body did not arrive"));
  EXPECT_EQ(status_of(gateway, payment.key), "404");
  EXPECT_EQ(upstream.count(), 0U);
}

TEST_P(Interruption, KilledMidRequestTheKeyIsInFlightUntilItsLeaseIsOverAndThenUnknown) {
  const Settings settings{.policy = short_lease, .top = no_sweeper, .rest = ""};
  upstream.behave(Behaviour::hang());
  ServeProcess& killed = start(settings);
  ServeProcess& witness = start(settings);
  RawClient client(killed.port());
  client.send(to_bytes(payment));
  upstream.wait_for(1);
  killed.kill_hard();
  ServeProcess& restarted = start(settings);
  // Its lease was renewed at most a second ago; which answer comes first is a race with the clock,
  // so only their order is told apart: never another one, and never in-flight after unknown.
  bool lapsed = false;
  ASSERT_TRUE(until([&] {
    const HttpAnswer answer = post(restarted.port(), payment);
    EXPECT_EQ(answer.status, 409);
    const std::string problem = problem_of(answer);
    lapsed = problem == "outcome-unknown";
    EXPECT_TRUE(lapsed || problem == "in-flight") << problem;
    return lapsed;
  }));
  EXPECT_EQ(status_of(witness, payment.key), "unknown");
  EXPECT_EQ(problem_of(post(witness.port(), payment)), "outcome-unknown");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(Interruption, KilledMidRequestARetryOfAFreshNodeIsInFlight) {
  const Settings settings{.policy = "lease = \"1h\"", .top = "", .rest = ""};
  upstream.behave(Behaviour::hang());
  ServeProcess& killed = start(settings);
  RawClient client(killed.port());
  client.send(to_bytes(payment));
  upstream.wait_for(1);
  killed.kill_hard();
  const HttpAnswer answer = post(start(settings).port(), payment);
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(problem_of(answer), "in-flight");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(Interruption, KilledMidRequestTheSweeperSaysUnknownWithoutARetry) {
  const Settings settings{.policy = short_lease, .top = "sweep_interval = \"1s\"", .rest = ""};
  upstream.behave(Behaviour::hang());
  ServeProcess& killed = start(settings);
  RawClient client(killed.port());
  client.send(to_bytes(payment));
  upstream.wait_for(1);
  killed.kill_hard();
  ServeProcess& restarted = start(settings);
  EXPECT_TRUE(becomes(restarted, payment.key, "unknown"));
  EXPECT_EQ(metric(restarted, "pawl_zombies_total{became=\"unknown\"}"), 1);
  EXPECT_TRUE(until([&] { return metric(restarted, "pawl_unknown_records") == 1; }));
}

TEST_P(Interruption, WhereThePolicySaysRetryAKilledRequestRunsAgainAfterItsLease) {
  const Settings settings{
      .policy = "lease = \"1s\"\non_lease_expiry = \"retry\"", .top = no_sweeper, .rest = ""};
  upstream.behave(Behaviour::hang());
  ServeProcess& killed = start(settings);
  RawClient client(killed.port());
  client.send(to_bytes(payment));
  upstream.wait_for(1);
  killed.kill_hard();
  upstream.behave(Behaviour::answer(201));
  ServeProcess& restarted = start(settings);
  EXPECT_TRUE(until([&] { return post(restarted.port(), payment).status == 201; }));
  EXPECT_EQ(upstream.effects(payment.key), 2U);
}

TEST_P(Interruption, ALivingOwnerKeepsItsLeaseForAsLongAsItsUpstreamTakes) {
  const Settings settings{.policy = short_lease, .top = "sweep_interval = \"1s\"", .rest = ""};
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201, "at last").after(gate));
  ServeProcess& gateway = start(settings);
  ServeProcess& other = start(settings);
  RawClient client(gateway.port());
  client.send(to_bytes(payment));
  upstream.wait_for(1);
  // Renewed thrice over: its lease would have been over by then.
  const std::string renewals = "pawl_store_seconds_count{operation=\"replace\"}";
  ASSERT_TRUE(until([&] { return metric(gateway, renewals) >= 6; }));
  EXPECT_EQ(problem_of(post(other.port(), payment)), "in-flight");
  gate->release();
  EXPECT_EQ(client.read_answer().body, "at last");
  EXPECT_EQ(post(other.port(), payment).value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

PAWL_ON_EVERY_STORE(Interruption);

}  // namespace
}  // namespace pawl::e2e
