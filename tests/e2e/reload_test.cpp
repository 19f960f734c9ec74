// Another configuration without a restart: what changes, what cannot, and that nothing is lost.
#include <fstream>

#include "src/core/sha256.hpp"
#include "tests/e2e/tls_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string reloaded = "the configuration was reloaded";
const std::string refused = "the configuration was not reloaded";

std::string api_key(const std::string& scope, const std::string& key) {
  return "[[caller.api_key]]\nscope = \"" + scope + "\"\nsha256 = \"" + hex(sha256(key)) + "\"\n";
}

class Reload : public OnEveryStore {
 protected:
  // Asks for it, and waits until the log says how it went.
  void reload(ServeProcess& gateway, const Settings& settings, const std::string& says) const {
    const std::size_t before = count_of(gateway.err(), says);
    gateway.rewrite_config(config_of(settings));
    gateway.ask_to_reload();
    ASSERT_TRUE(until([&] { return count_of(gateway.err(), says) > before; })) << gateway.err();
  }

  static Post with_key(Post request, const std::string& api_key) {
    request.headers.emplace_back("Authorization", "Bearer " + api_key);
    return request;
  }
};

TEST_P(Reload, RoutesAndCallersChangeAndConnectionsStay) {
  const std::string callers = "[caller]\nfrom = \"api-key\"\n" + api_key("a", "first-key");
  ServeProcess& gateway = start({"", "", callers});
  RawClient kept(gateway.port());
  kept.send(to_bytes(with_key(payment, "first-key")));
  EXPECT_EQ(kept.read_answer().status, 201);
  Post other = with_key(payment, "second-key");
  EXPECT_EQ(post(gateway.port(), other).status, 401);

  const std::string route = "[[route]]\nmatch = \"POST /free\"\nname = \"free\"\nkey = \"off\"\n";
  reload(gateway, {"", "", callers + api_key("b", "second-key") + route}, reloaded);
  EXPECT_EQ(post(gateway.port(), other).status, 201);
  Post unguarded = with_key(payment, "first-key");
  unguarded.key = "";
  unguarded.path = "/free";
  kept.send(to_bytes(unguarded));
  EXPECT_EQ(kept.read_answer().status, 201) << "on the connection from before";
  EXPECT_EQ(metric(gateway, "pawl_requests_total{route=\"free\",status=\"2xx\"}"), 1);

  reload(gateway, {"", "", "[caller]\nfrom = \"api-key\"\n" + api_key("b", "second-key")},
         reloaded);
  EXPECT_EQ(post(gateway.port(), with_key(payment, "first-key")).status, 401) << "taken away";
  EXPECT_EQ(post(gateway.port(), other).value("Idempotent-Replayed"), "true");
}

TEST_P(Reload, ARequestKeepsTheRulesThatItCameUnder) {
  ServeProcess& gateway = start({"on_server_error = \"store\"", "", ""});
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(500).after(gate));
  RawClient client(gateway.port());
  client.send(to_bytes(payment));
  upstream.wait_for(1);
  reload(gateway, {"on_server_error = \"hold\"", "", ""}, reloaded);
  gate->release();
  EXPECT_EQ(client.read_answer().status, 500);
  EXPECT_EQ(status_of(gateway, payment.key), "completed");
  Post next = payment;
  next.key = "another-key-0123456789";
  EXPECT_EQ(post(gateway.port(), next).status, 500);
  EXPECT_EQ(status_of(gateway, next.key), "unknown");
}

// The provider charged under the client's key. It has never seen the derived one, and says so.
TEST_P(Reload, APaymentThatIsUnderWayIsNotTakenForAbsentByTheSourceOfAnotherConfiguration) {
  UpstreamServer bank([&](const ReceivedRequest& question) {
    const bool knows = question.target.find(payment.key) != std::string::npos;
    return knows ? Behaviour::answer(200) : Behaviour::answer(404);
  });
  const auto source = [&](const std::string& name, const std::string& key) {
    return "[[source]]\nname = \"" + name + "\"\nurl = \"" + bank.url() + "/charges?by=" + key +
           "\"\nvisibility_window = \"0s\"\nbackoff = \"50ms\"\nbackoff_max = \"100ms\"\n"
           "[[source.rule]]\nstatus = 200\nthen = \"completed\"\n"
           "[[source.rule]]\nstatus = 404\nthen = \"absent\"\n";
  };
  const std::string sources = source("by-key", "{key}") + source("by-derived", "{derived_key}");
  const std::string quick = "lease = \"1s\"\nupstream_timeout = \"1s\"\n";
  ServeProcess& gateway = start({quick + "reconcile = \"by-key\"\n", "", sources});
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::hang_up().after(gate));
  RawClient client(gateway.port());
  client.send(to_bytes(payment));
  upstream.wait_for(1);
  reload(gateway, {quick + "forward_key = \"derived\"\nreconcile = \"by-derived\"\n", "", sources},
         reloaded);
  gate->release();
  client.read_answer();
  ASSERT_TRUE(gateway.wait_for_text("is a dead letter")) << gateway.err();
  EXPECT_THAT(gateway.err(), HasSubstr("the route named \"by-key\""));
  EXPECT_GT(bank.count(), 0U);
  upstream.behave(Behaviour::answer(201));
  EXPECT_EQ(problem_of(post(gateway.port(), payment)), "outcome-unknown");
  EXPECT_EQ(upstream.requests().size(), 1U) << "an operator decides";
}

TEST_P(Reload, ABadFileChangesNothingAndIsToldOf) {
  const std::string token = folder() / "token";
  std::ofstream(token) << "0123456789abcdef0123456789abcdef";
  const std::string admin = "[admin]\ntoken_file = \"" + token + "\"\n";
  const WireHeaders operators{{"Authorization", "Bearer 0123456789abcdef0123456789abcdef"}};
  ServeProcess& gateway = start({"", "", admin});
  const auto metrics = [&] { return get(gateway.admin_port(), "/metrics", operators).body; };
  EXPECT_THAT(metrics(), HasSubstr("\npawl_config_last_reload_successful 1\n"));

  reload(gateway, {"no_such_setting = 1", "", admin}, refused);
  EXPECT_THAT(gateway.err(), HasSubstr("unknown setting 'no_such_setting' in [policy]"));
  EXPECT_THAT(metrics(), HasSubstr("\npawl_config_last_reload_successful 0\n"));
  EXPECT_THAT(metrics(), HasSubstr("\npawl_config_last_reload_success_timestamp_seconds 1"));
  const HttpAnswer readiness = get(gateway.admin_port(), "/readyz");
  EXPECT_EQ(readiness.status, 200) << "by the configuration before it serves";
  EXPECT_EQ(member_of(readiness.body, "reload"), "failed");
  EXPECT_THAT(get(gateway.admin_port(), "/readyz", operators).body, HasSubstr("no_such_setting"));
  EXPECT_EQ(post(gateway.port(), payment).status, 201);

  reload(gateway, {"", "", admin}, reloaded);
  EXPECT_THAT(metrics(), HasSubstr("\npawl_config_last_reload_successful 1\n"));
  EXPECT_EQ(member_of(get(gateway.admin_port(), "/readyz").body, "reload"), "(none)");
}

TEST_P(Reload, WhatCannotChangeIsNamedAndNothingElseIsTakenOver) {
  ServeProcess& gateway = start();
  reload(gateway,
         {"key = \"off\"", "threads = 3\nreplay_cache = \"1MiB\"",
          "[[destination]]\nname = \"bank\"\nurl = \"http://127.0.0.1:9\"\n"},
         refused);
  EXPECT_THAT(gateway.err(), HasSubstr("threads, replay_cache have changed"));
  Post keyless = payment;
  keyless.key = "";
  EXPECT_EQ(post(gateway.port(), keyless).status, 400) << "a key is required still";
}

TEST_P(Reload, HowMuchIsLoggedChanges) {
  ServeProcess& gateway = start({"", "log_level = \"warning\"", ""});
  EXPECT_EQ(post(gateway.port(), payment).status, 201);
  upstream.behave(Behaviour::answer(500));
  Post second = payment;
  second.key = "another-key-0123456789";
  EXPECT_EQ(post(gateway.port(), second).status, 500);
  EXPECT_TRUE(gateway.wait_for_text(" 500 POST /payments "));
  EXPECT_THAT(gateway.err(), Not(HasSubstr(" 201 POST ")));
  reload(gateway, {"", "log_level = \"info\"", ""}, reloaded);
  EXPECT_EQ(post(gateway.port(), payment).status, 201);
  EXPECT_TRUE(gateway.wait_for_text(" 201 POST /payments "));
}

TEST_P(Reload, NeverMakesALiveKeyNew) {
  ServeProcess& gateway = start({"", "", "[caller]\nfrom = \"single\"\n"});
  const Post mine = with_key(payment, "first-key");
  EXPECT_EQ(post(gateway.port(), mine).status, 201);
  reload(gateway, {"", "", "[caller]\nfrom = \"api-key\"\n" + api_key("a", "first-key")}, refused);
  EXPECT_THAT(gateway.err(), HasSubstr("from was single and is now api-key"));
  reload(gateway, {"key_scope = \"caller+route\"", "", "[caller]\nfrom = \"single\"\n"}, refused);
  EXPECT_EQ(post(gateway.port(), mine).value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.requests().size(), 1U);
}

TEST_P(Reload, ByOrderOfAnOperatorWithTheToken) {
  const std::string token = folder() / "token";
  std::ofstream(token) << "0123456789abcdef0123456789abcdef";
  const std::string admin = "[admin]\ntoken_file = \"" + token + "\"\n";
  ServeProcess& gateway = start({"", "", admin});
  Post order{.key = "", .body = "", .path = "/api/v1/reload"};
  EXPECT_EQ(post(gateway.admin_port(), order).status, 401);
  order.headers.emplace_back("Authorization", "Bearer 0123456789abcdef0123456789abcdef");
  EXPECT_EQ(post(gateway.admin_port(), order).body, "{\"reloaded\":true}\n");
  EXPECT_TRUE(gateway.wait_for_text(reloaded));

  gateway.rewrite_config(config_of({"", "threads = 3", admin}));
  const HttpAnswer no = post(gateway.admin_port(), order);
  EXPECT_EQ(no.status, 409);
  EXPECT_THAT(member_of(no.body, "why"), HasSubstr("threads has changed"));

  ServeProcess& open = start();
  EXPECT_EQ(post(open.admin_port(), order).status, 403) << "no token, no orders";
}

PAWL_ON_EVERY_STORE(Reload);

class ReloadAcrossNodes : public OnPostgres {
 protected:
  void reload(ServeProcess& gateway, const Settings& settings) const {
    gateway.rewrite_config(config_of(settings));
    gateway.ask_to_reload();
    ASSERT_TRUE(gateway.wait_for_text(reloaded));
  }
};

// A hint may be lost, so it is given some chances.
TEST_F(ReloadAcrossNodes, TheFirstDuplicateThatMayWaitIsEndedByAHint) {
  ServeProcess& first = start();
  ServeProcess& second = start();
  const Settings patient{"in_flight = \"wait\"\nwait_limit = \"60s\"\n", "", ""};
  reload(first, patient);
  reload(second, patient);
  const auto looks = [&] { return metric(second, "pawl_store_seconds_count{operation=\"find\"}"); };
  const auto hints = [&] { return metric(second, "pawl_hints_total"); };
  for (std::size_t tries = 1; tries <= 20 && hints() < 1; ++tries) {
    const auto gate = std::make_shared<Gate>();
    upstream.behave(Behaviour::answer(201).after(gate));
    Post one = payment;
    one.key += std::to_string(tries);
    RawClient original(first.port());
    original.send(to_bytes(one));
    upstream.wait_for(tries);
    const double looks_before = looks();
    RawClient duplicate(second.port());
    duplicate.send(to_bytes(one));
    EXPECT_TRUE(until([&] { return looks() > looks_before; }));
    gate->release();
    EXPECT_EQ(original.read_answer().status, 201);
    EXPECT_EQ(duplicate.read_answer().value("Idempotent-Replayed"), "true");
  }
  EXPECT_GE(hints(), 1);
}

}  // namespace
}  // namespace pawl::e2e
