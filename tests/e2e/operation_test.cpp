// What an operator sees: the end of a node, its health, its metrics, its log.
#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Operation : public OnEveryStore {};

TEST_P(Operation, SigtermFinishesWhatIsUnderWay) {
  ServeProcess& gateway = start();
  EXPECT_EQ(get(gateway.admin_port(), "/healthz").status, 200);
  EXPECT_TRUE(until([&] { return get(gateway.admin_port(), "/readyz").status == 200; }));
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201, "under way").after(gate));
  RawClient client(gateway.port());
  client.send(to_bytes(payment));
  upstream.wait_for(1);
  RawClient idle(gateway.port());
  gateway.ask_to_end();
  ASSERT_TRUE(gateway.wait_for_text("draining"));
  const HttpAnswer ready = get(gateway.admin_port(), "/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_THAT(ready.body, HasSubstr("draining"));
  EXPECT_EQ(get(gateway.admin_port(), "/healthz").status, 200);
  EXPECT_TRUE(idle.closed());
  EXPECT_TRUE(until([&] {
    try {
      RawClient late(gateway.port());
      return false;
    } catch (const testing::WireError&) {
      return true;
    }
  })) << "still accepts connections";
  gate->release();
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "under way");
  EXPECT_EQ(answer.value("Connection"), "close");
  EXPECT_EQ(gateway.wait(), 0) << gateway.err();
  EXPECT_EQ(post(start().port(), payment).value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_P(Operation, ADrainEndsAtItsTimeoutAndTheRecordFollowsItsLease) {
  const Settings settings{.policy = "lease = \"1s\"",
                          .top = "drain_timeout = \"1s\"\nsweep_interval = \"1s\"",
                          .rest = ""};
  ServeProcess& gateway = start(settings);
  upstream.behave(Behaviour::hang());
  RawClient client(gateway.port());
  client.send(to_bytes(payment));
  upstream.wait_for(1);
  EXPECT_EQ(gateway.terminate(), 1);
  EXPECT_THAT(gateway.err(), HasSubstr("still under way"));
  EXPECT_TRUE(becomes(start(settings), payment.key, "unknown"));
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_P(Operation, MetricsCountWhatHappened) {
  ServeProcess& gateway = start({.policy = "", .top = "sweep_interval = \"1s\"", .rest = ""});
  EXPECT_EQ(post(gateway.port(), payment).status, 201);
  post(gateway.port(), payment);
  Post misuse = payment;
  misuse.body = "{}";
  post(gateway.port(), misuse);
  Post lost = payment;
  lost.key = "another-key-0123456789";
  upstream.behave(Behaviour::reset());
  post(gateway.port(), lost);
  post(gateway.port(), lost);
  EXPECT_EQ(metric(gateway, "pawl_reserve_total{decision=\"created\"}"), 2);
  EXPECT_EQ(metric(gateway, "pawl_reserve_total{decision=\"unknown\"}"), 1);
  EXPECT_EQ(metric(gateway, "pawl_replays_total{from=\"memory\"}"), 1);
  EXPECT_EQ(metric(gateway, "pawl_key_misuse_total{scope=\"caller:default\"}"), 1);
  EXPECT_EQ(metric(gateway, "pawl_settled_total{how=\"complete\"}"), 1);
  EXPECT_EQ(metric(gateway, "pawl_settled_total{how=\"unknown\"}"), 1);
  EXPECT_TRUE(until([&] { return metric(gateway, "pawl_unknown_records") == 1; }));
  const std::string text = get(gateway.admin_port(), "/metrics").body;
  for (const char* name :
       {"pawl_reserve_total", "pawl_replays_total", "pawl_key_misuse_total",
        "pawl_store_errors_total", "pawl_zombies_total", "pawl_pruned_total",
        "pawl_reconcile_total", "pawl_unknown_records", "pawl_unknown_oldest_seconds",
        "pawl_duplicates_total", "pawl_upstream_seconds", "pawl_store_seconds"}) {
    EXPECT_THAT(text, HasSubstr(std::string("# TYPE ") + name + " ")) << name;
  }
  EXPECT_THAT(text, Not(HasSubstr(payment.key)));
}

TEST_P(Operation, LogsTellTheStoryAndNoSecrets) {
  for (const std::string format : {"json", "human"}) {
    ServeProcess& gateway = start({.policy = "", .top = "log = \"" + format + "\"", .rest = ""});
    upstream.behave(Behaviour::answer(201, R"({"answer":"s3cret-answer"})"));
    Post each = payment;
    each.key = "s3cret-key-of-the-" + format;
    each.body = R"({"card":"s3cret-body"})";
    each.path = "/payments?token=s3cret-query";
    each.headers.emplace_back("Authorization", "Bearer s3cret-credential");
    each.headers.emplace_back("Cookie", "session=s3cret-cookie");
    const HttpAnswer answer = post(gateway.port(), each);
    EXPECT_EQ(answer.status, 201);
    EXPECT_EQ(post(gateway.port(), each).value("Idempotent-Replayed"), "true");
    status_of(gateway, each.key);
    Post bad = each;
    bad.key = "\"s3cret-key-that-is-bad";
    post(gateway.port(), bad);
    bad = each;
    bad.key += "-bad-body";
    bad.body = "{\"s3cret-body\":";
    post(gateway.port(), bad);
    RawClient malformed(gateway.port());
    malformed.send("POST /x HTTP/1.1\r\nHost: a\r\ns3cret-name : s3cret-value\r\n\r\n");
    EXPECT_EQ(malformed.read_answer().status, 400);
    malformed.hang_up();
    upstream.behave(Behaviour::raw("s3cret nonsense\r\n\r\n", Behaviour::End::close));
    bad = each;
    bad.key += "-bad-answer";
    EXPECT_EQ(post(gateway.port(), bad).status, 502);
    EXPECT_EQ(gateway.terminate(), 0);
    const std::string log = gateway.err() + gateway.out();
    EXPECT_THAT(log, HasSubstr("/payments"));
    EXPECT_THAT(log, HasSubstr(answer.value("Pawl-Request-Id")));
    EXPECT_THAT(log, HasSubstr("created"));
    EXPECT_THAT(log, HasSubstr("replay"));
    EXPECT_THAT(log, HasSubstr("answered"));
    EXPECT_THAT(log, HasSubstr("the status line is not HTTP/1.1"));
    EXPECT_THAT(log, Not(HasSubstr("s3cret")));
  }
}

PAWL_ON_EVERY_STORE(Operation);

}  // namespace
}  // namespace pawl::e2e
