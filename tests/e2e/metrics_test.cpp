// The numbers an operator goes by are right, and the alerts are about numbers that are there.
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;

class MetricsOf : public OnEveryStore {
 protected:
  static double reserved(const ServeProcess& gateway, const std::string& decision) {
    return metric(gateway, "pawl_reserve_total{decision=\"" + decision + "\"}");
  }
};

TEST_P(MetricsOf, OwnPathsAreNoRouteOfTheService) {
  ServeProcess& gateway = start();
  EXPECT_EQ(get(gateway.port(), "/_pawl/v1/policy").status, 200);
  EXPECT_EQ(get(gateway.port(), "/_pawl/v1/keys/" + payment.key).status, 404);
  // Counted once the answer is out.
  EXPECT_TRUE(until([&] {
    return metric(gateway, R"(pawl_requests_total{route="pawl",status="2xx"})") == 1 &&
           metric(gateway, R"(pawl_requests_total{route="pawl",status="4xx"})") == 1;
  }));
  EXPECT_EQ(metric(gateway, R"(pawl_requests_total{route="default",status="2xx"})"), 0);
  EXPECT_EQ(metric(gateway, R"(pawl_requests_total{route="default",status="4xx"})"), 0);
}

TEST_P(MetricsOf, WhatMemoryAnswersIsADecisionToo) {
  ServeProcess& gateway = start();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(post(gateway.port(), payment).status, 201);
  Post misuse = payment;
  misuse.body = "{}";
  EXPECT_EQ(post(gateway.port(), misuse).status, 422);
  EXPECT_EQ(metric(gateway, R"(pawl_replays_total{from="memory"})"), 2);
  EXPECT_EQ(reserved(gateway, "created"), 1);
  EXPECT_EQ(reserved(gateway, "replay"), 2);
  EXPECT_EQ(reserved(gateway, "key_misuse"), 1);
  EXPECT_EQ(metric(gateway, R"(pawl_key_misuse_total{scope="caller:default"})"), 1);
  // And what the store answers is counted once.
  ServeProcess& other = start({.policy = "", .top = "replay_cache = 0", .rest = ""});
  EXPECT_EQ(post(other.port(), payment).status, 201);
  EXPECT_EQ(post(other.port(), misuse).status, 422);
  EXPECT_EQ(reserved(other, "replay"), 1);
  EXPECT_EQ(reserved(other, "key_misuse"), 1);
  EXPECT_EQ(metric(other, R"(pawl_key_misuse_total{scope="caller:default"})"), 1);
}

TEST_P(MetricsOf, ARetryOfWhatFailedAndAScheduledReconciliationAreCounted) {
  ServeProcess& gateway = start({.policy = "on_server_error = \"retry\"", .top = "", .rest = ""});
  EXPECT_EQ(reserved(gateway, "failed_retry"), 0);
  upstream.behave(Behaviour::answer(500));
  EXPECT_EQ(post(gateway.port(), payment).status, 500);
  upstream.behave(Behaviour::answer(201));
  EXPECT_EQ(post(gateway.port(), payment).status, 201);
  EXPECT_EQ(reserved(gateway, "created"), 1);
  EXPECT_EQ(reserved(gateway, "failed_retry"), 1);
  EXPECT_EQ(metric(gateway, R"(pawl_reconcile_total{result="scheduled"})"), 0);
  Post lost = payment;
  lost.key = "another-key-0123456789";
  lost.body = R"({"amount":200})";
  upstream.behave(Behaviour::reset());
  EXPECT_EQ(post(gateway.port(), lost).status, 502);
  EXPECT_EQ(post(gateway.port(), lost).status, 409);
  EXPECT_EQ(metric(gateway, R"(pawl_reconcile_total{result="scheduled"})"), 1);
}

TEST_P(MetricsOf, AnOwnerThatFallsSilentSchedulesAReconciliation) {
  const Settings quick{.policy = "lease = \"1s\"", .top = "sweep_interval = \"200ms\"", .rest = ""};
  ServeProcess& dies = start(quick);
  upstream.behave(Behaviour::hang());
  RawClient client(dies.port());
  client.send(to_bytes(payment));
  upstream.wait_for(1);
  dies.kill_hard();
  ServeProcess& sweeper = start(quick);
  EXPECT_TRUE(becomes(sweeper, payment.key, "unknown"));
  EXPECT_TRUE(
      until([&] { return metric(sweeper, R"(pawl_reconcile_total{result="scheduled"})") == 1; }));
}

PAWL_ON_EVERY_STORE(MetricsOf);

std::set<std::string> metrics_named_by_alerts() {
  std::ifstream file(PAWL_SOURCE_DIR "/docs/alerts.yml");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::set<std::string> names;
  const std::regex name(R"(\bpawl_[a-z_]+\b)");
  for (std::sregex_iterator match(text.begin(), text.end(), name), end; match != end; ++match) {
    names.insert(match->str());
  }
  return names;
}

class Alerts : public OnSqlite {};

// From its start, but for what needs a comparison of ledgers: an alert on a series that appears
// with its first event would miss that event.
TEST_F(Alerts, EveryMetricTheyNameIsTold) {
  UpstreamServer bank;
  bank.behave(Behaviour::answer(200, R"({"data":[]})"));
  ServeProcess& gateway =
      start({.policy = "reconcile = \"bank\"",
             .top = "",
             .rest = "[[destination]]\nname = \"mail\"\nurl = \"" + bank.url() +
                     "\"\n[[source]]\nname = \"bank\"\nvisibility_window = \"0s\"\nurl = \"" +
                     bank.url() +
                     "/find?key={key}\"\n[[source.rule]]\nstatus = 404\nthen = \"absent\"\n"
                     "[source.ledger]\nurl = \"" +
                     bank.url() +
                     "/list?after={cursor}\"\nevery = \"1s\"\nitems = \"/data\"\nnext = \"/next\"\n"
                     "id = \"/id\"\nkey = \"/key\"\nscope = \"caller:default\"\n"});
  EXPECT_TRUE(until([&] {
    return get(gateway.admin_port(), "/metrics").body.find("pawl_ledger_compared") !=
           std::string::npos;
  })) << gateway.err();
  const std::string told = get(gateway.admin_port(), "/metrics").body;
  const std::set<std::string> named = metrics_named_by_alerts();
  EXPECT_GT(named.size(), 10U);
  for (const std::string& name : named) EXPECT_THAT(told, HasSubstr("\n" + name)) << name;
}

}  // namespace
}  // namespace pawl::e2e
