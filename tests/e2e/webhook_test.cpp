// What a provider tells by itself, and what an operator says: who wins, and who is told.
#include <chrono>
#include <fstream>
#include <thread>

#include "src/core/sha256.hpp"
#include "tests/e2e/gateway_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;

constexpr const char* quick = "lease = \"1s\"\nupstream_timeout = \"1s\"\nreconcile = \"bank\"\n";
constexpr const char* often = "sweep_interval = \"200ms\"\n";
constexpr const char* secret = "whsec_0123456789abcdef";
constexpr const char* scope = "caller:default";

long now_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

int occurrences(const std::string& text, const std::string& of) {
  int count = 0;
  for (auto at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++count;
  return count;
}

class Webhooks : public OnEveryStore {
 protected:
  Webhooks() {
    std::ofstream(folder() / "new") << "whsec_another_0123456789\n";
    std::ofstream(folder() / "old") << secret << "\n";
  }

  std::string source(const std::string& which = "key = \"/key\"\nscope = \"/scope\"\n") const {
    return "[[source]]\nname = \"bank\"\nmax_attempts = 2\nbackoff = \"50ms\"\n"
           "visibility_window = \"0s\"\n[source.webhook]\nsecret_files = [\"" +
           (folder() / "new").string() + "\", \"" + (folder() / "old").string() +
           "\"]\nevent_id = \"/id\"\nevent_time = \"/at\"\n" + which +
           "[[source.webhook.rule]]\nwhere = { \"/type\" = \"paid\" }\nthen = \"completed\"\n"
           "response_status = 201\nresponse_body = '{\"paid\":{/n}}'\n"
           "[[source.webhook.rule]]\nwhere = { \"/type\" = \"declined\" }\nthen = \"completed\"\n"
           "response_status = 402\nresponse_body = '{\"declined\":{/n}}'\n"
           "[[source.webhook.rule]]\nwhere = { \"/type\" = \"pending\" }\nthen = \"pending\"\n";
  }

  std::string event(const std::string& id, const std::string& type, int n, long at = 0,
                    const std::string& of = scope, const std::string& key = {}) const {
    return R"({"id":")" + id + R"(","type":")" + type + R"(","n":)" + std::to_string(n) +
           R"(,"at":)" + std::to_string(at == 0 ? now_seconds() : at) + R"(,"scope":")" + of +
           R"(","key":")" + (key.empty() ? payment.key : key) + R"("})";
  }

  static HttpAnswer tell(const ServeProcess& gateway, const std::string& body,
                         const std::string& with = secret, long at = 0,
                         const std::string& source = "bank") {
    const std::string t = std::to_string(at == 0 ? now_seconds() : at);
    Post told;
    told.path = "/_pawl/v1/webhooks/" + source;
    told.body = body;
    told.headers = {
        {"Content-Type", "application/json"},
        {"Stripe-Signature", "t=" + t + ",v1=" + hex(hmac_sha256(with, t + "." + body))}};
    return post(gateway.port(), told);
  }

  void lose(const ServeProcess& gateway) {
    upstream.behave(Behaviour::hang_up());
    EXPECT_EQ(problem_of(post(gateway.port(), payment)), "outcome-unknown");
    upstream.behave(Behaviour::answer(201, R"({"id":"pay_2"})"));
  }

  testing::Finished keys(const std::vector<std::string>& arguments) const {
    std::vector<std::string> command{PAWL_BINARY, "keys"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    command.insert(command.end(), {"--store", store_url()});
    return testing::run_program(command);
  }
  testing::Finished on_key(const std::string& verb, const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{verb, payment.key, "--scope", scope};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return keys(arguments);
  }
  // As the record has it now.
  [[nodiscard]] std::string fence() const {
    return member_of(on_key("show", {"--json"}).out, "fence");
  }
  testing::Finished release(const std::string& reason, const std::string& fence) const {
    return on_key("release", {"--reason", reason, "--fence", fence});
  }
};

TEST_P(Webhooks, AnEventResolvesAndIsReplayed) {
  ServeProcess& gateway = start({quick, often, source()});
  lose(gateway);
  const HttpAnswer answer = tell(gateway, event("e1", "paid", 7));
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(member_of(answer.body, "result"), "kept");
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  const HttpAnswer replay = post(gateway.port(), payment);
  EXPECT_EQ(replay.status, 201);
  EXPECT_EQ(replay.body, R"({"paid":7})");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(Webhooks, ADerivedKeyIsEnough) {
  ServeProcess& gateway = start({std::string(quick) + "forward_key = \"derived\"\n", often,
                                 source("derived_key = \"/key\"\n")});
  lose(gateway);
  const std::string derived = upstream.requests().front().header("Idempotency-Key").value_or("");
  EXPECT_EQ(tell(gateway, event("e1", "paid", 7, 0, scope, derived)).status, 200);
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
}

TEST_P(Webhooks, TwiceAndLateChangeNothing) {
  ServeProcess& gateway = start({quick, often, source()});
  lose(gateway);
  EXPECT_EQ(tell(gateway, event("e1", "paid", 1)).status, 200);
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  EXPECT_EQ(member_of(tell(gateway, event("e1", "paid", 1)).body, "result"), "duplicate");
  EXPECT_EQ(tell(gateway, event("e2", "paid", 2, now_seconds() + 5)).status, 200);
  EXPECT_EQ(tell(gateway, event("e3", "pending", 3, now_seconds() + 6)).status, 200);
  EXPECT_EQ(post(gateway.port(), payment).body, R"({"paid":1})") << "an answer is for good";
  EXPECT_EQ(metric(gateway, "pawl_webhooks_total{result=\"duplicate\"}"), 1);
}

TEST_P(Webhooks, PendingResolvesNothingAndNeverOverridesPaid) {
  ServeProcess& gateway = start({quick, often, source()});
  lose(gateway);
  const long at = now_seconds();
  EXPECT_EQ(tell(gateway, event("e1", "pending", 1, at)).status, 200);
  ASSERT_TRUE(until([&] { return metric(gateway, "pawl_dead_letters") == 1; }))
      << "asked twice, in vain: the event was not taken for an answer";
  EXPECT_EQ(status_of(gateway, payment.key), "unknown");
  EXPECT_EQ(tell(gateway, event("e2", "paid", 2, at)).status, 200) << "also for a dead letter";
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  EXPECT_EQ(tell(gateway, event("e0", "pending", 0, at + 9)).status, 200);
  EXPECT_EQ(post(gateway.port(), payment).body, R"({"paid":2})");
}

TEST_P(Webhooks, BadSignaturesAreRefusedAndNothingIsKept) {
  ServeProcess& gateway = start({quick, often, source()});
  lose(gateway);
  EXPECT_EQ(tell(gateway, event("e1", "paid", 1), "whsec_wrong_0123456789").status, 401);
  EXPECT_EQ(tell(gateway, event("e1", "paid", 1), secret, now_seconds() - 3600).status, 401);
  Post unsigned_event;
  unsigned_event.path = "/_pawl/v1/webhooks/bank";
  unsigned_event.body = event("e1", "paid", 1);
  EXPECT_EQ(post(gateway.port(), unsigned_event).status, 401);
  EXPECT_EQ(metric(gateway, "pawl_webhooks_total{result=\"bad_signature\"}"), 3);
  unsigned_event.path = "/_pawl/v1/webhooks/nobody";
  EXPECT_EQ(post(gateway.port(), unsigned_event).status, 404);
  EXPECT_EQ(get(gateway.port(), "/_pawl/v1/webhooks/bank").status, 405);
  EXPECT_EQ(status_of(gateway, payment.key), "unknown");
  EXPECT_EQ(member_of(tell(gateway, event("e1", "paid", 1)).body, "result"), "kept")
      << "the first that was believed";
}

TEST_P(Webhooks, AnotherScopesEventIsNotOurs) {
  ServeProcess& gateway = start({quick, often, source()});
  lose(gateway);
  EXPECT_EQ(tell(gateway, event("e1", "paid", 1, 0, "caller:other")).status, 200);
  EXPECT_EQ(tell(gateway, R"({"id":"e2","type":"paid"})").status, 422);
  EXPECT_EQ(member_of(tell(gateway, R"({"id":"e2","type":"x"})").body, "result"), "ignored");
  ASSERT_TRUE(until([&] { return metric(gateway, "pawl_dead_letters") == 1; }));
  EXPECT_EQ(status_of(gateway, payment.key), "unknown");
}

TEST_P(Webhooks, AnEventThatComesTooEarlyIsKeptAndAppliedInTime) {
  ServeProcess& gateway = start({quick, often, source()});
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::hang_up().after(gate));
  std::thread client([&] { static_cast<void>(post(gateway.port(), payment)); });
  upstream.wait_for(1);
  EXPECT_EQ(tell(gateway, event("e1", "paid", 3)).status, 200);
  EXPECT_EQ(status_of(gateway, payment.key), "in_progress") << "its owner is at work";
  gate->release();
  client.join();
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  EXPECT_EQ(post(gateway.port(), payment).body, R"({"paid":3})");
}

TEST_P(Webhooks, AnEventSurvivesTheNodeThatTookIt) {
  ServeProcess& first = start({quick, often, source()});
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::hang_up().after(gate));
  std::thread client([&] {
    try {
      static_cast<void>(post(first.port(), payment));
    } catch (const std::exception&) {  // its gateway is killed
    }
  });
  upstream.wait_for(1);
  EXPECT_EQ(tell(first, event("e1", "paid", 4)).status, 200);
  first.kill_hard();
  client.join();
  gate->release();
  ServeProcess& second = start({quick, often, source()});
  ASSERT_TRUE(becomes(second, payment.key, "completed"));
  EXPECT_EQ(post(second.port(), payment).body, R"({"paid":4})");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(Webhooks, AProofCorrectsAFindingOfAbsence) {
  ServeProcess& gateway = start({quick, often, source()});
  lose(gateway);
  ASSERT_TRUE(until([&] { return release("no such charge", fence()).exit_code == 0; }));
  EXPECT_EQ(status_of(gateway, payment.key), "failed_retryable");
  EXPECT_EQ(tell(gateway, event("e1", "paid", 5)).status, 200);
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  EXPECT_EQ(post(gateway.port(), payment).body, R"({"paid":5})");
  EXPECT_EQ(upstream.effects(payment.key), 1U) << "the retry would have paid twice";
  EXPECT_TRUE(
      until([&] { return metric(gateway, "pawl_reconcile_total{result=\"disproved\"}") == 1; }));
  EXPECT_EQ(metric(gateway, "pawl_possible_double_executions_total{evidence=\"answered\"}"), 0);
}

// Found not executed, retried, and only then the provider says that it had happened.
TEST_P(Webhooks, AProofThatComesAfterTheRetryIsRefusedAndTold) {
  ServeProcess& gateway = start({quick, often, source()});
  lose(gateway);
  ASSERT_TRUE(until([&] { return release("no such charge", fence()).exit_code == 0; }));
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201, R"({"id":"pay_2"})").after(gate));
  HttpAnswer retried;
  std::thread client([&] { retried = post(gateway.port(), payment); });
  upstream.wait_for(2);
  EXPECT_EQ(tell(gateway, event("e1", "paid", 5, now_seconds() - 20)).status, 200);
  const auto doubles = [&] {
    return metric(gateway, "pawl_possible_double_executions_total{evidence=\"answered\"}");
  };
  EXPECT_TRUE(until([&] { return doubles() == 1; })) << "told while it can still be looked into";
  EXPECT_EQ(status_of(gateway, payment.key), "in_progress") << "the later owner is not disturbed";
  const testing::Finished by_hand =
      on_key("resolve", {"--completed", "--status", "201", "--reason", "ch_1"});
  EXPECT_EQ(by_hand.exit_code, 1);
  EXPECT_THAT(by_hand.err, HasSubstr("an owner is executing it"));
  gate->release();
  client.join();
  EXPECT_EQ(retried.body, R"({"id":"pay_2"})");
  EXPECT_EQ(tell(gateway, event("e2", "paid", 6, now_seconds() - 20)).status, 200);
  EXPECT_TRUE(until([&] { return doubles() == 2; })) << "also when the later owner has finished";
  EXPECT_EQ(metric(gateway, "pawl_reconcile_total{result=\"disproved\"}"), 2);
  const HttpAnswer replay = post(gateway.port(), payment);
  EXPECT_EQ(replay.body, R"({"id":"pay_2"})") << "never overwritten";
  EXPECT_THAT(on_key("show", {}).out, HasSubstr("too late: released and taken over"));
  // An event about the retry itself is no alarm.
  EXPECT_EQ(tell(gateway, event("e3", "paid", 7, now_seconds() + 1)).status, 200);
  EXPECT_TRUE(until([&] { return occurrences(on_key("show", {}).out, "too late") == 3; }));
  EXPECT_EQ(doubles(), 2);
}

// Attempt 1 was declined and answered 500; attempt 2 charged, and its answer got lost.
TEST_P(Webhooks, AnEarlierAttemptsRefusalDoesNotSettleALaterOne) {
  ServeProcess& gateway =
      start({std::string(quick) + "on_server_error = \"retry\"\n", often, source()});
  upstream.behave(Behaviour::answer(500));
  EXPECT_EQ(post(gateway.port(), payment).status, 500);
  lose(gateway);
  ASSERT_EQ(upstream.effects(payment.key), 2U);
  EXPECT_EQ(tell(gateway, event("e1", "declined", 1, now_seconds() - 5)).status, 200);
  ASSERT_TRUE(until([&] { return occurrences(on_key("show", {}).out, "not applied") == 1; }));
  EXPECT_EQ(status_of(gateway, payment.key), "unknown") << "nobody said that it was declined";
  EXPECT_EQ(tell(gateway, event("e2", "paid", 2)).status, 200);
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  EXPECT_EQ(post(gateway.port(), payment).body, R"({"paid":2})");
}

// The same where declines are told as a 201: what it means is what its rule says.
TEST_P(Webhooks, ADeclineThatIsToldAsASuccessDoesNotSettleALaterAttempt) {
  std::string told_as_success = source();
  const std::string refusal = "then = \"completed\"\nresponse_status = 402\n";
  told_as_success.replace(told_as_success.find(refusal), refusal.size(),
                          "then = \"declined\"\nresponse_status = 201\n");
  ServeProcess& gateway =
      start({std::string(quick) + "on_server_error = \"retry\"\n", often, told_as_success});
  upstream.behave(Behaviour::answer(500));
  EXPECT_EQ(post(gateway.port(), payment).status, 500);
  lose(gateway);
  EXPECT_EQ(tell(gateway, event("e1", "declined", 1, now_seconds() - 5)).status, 200);
  ASSERT_TRUE(until([&] { return occurrences(on_key("show", {}).out, "not applied") == 1; }));
  EXPECT_EQ(status_of(gateway, payment.key), "unknown") << "nobody said that it was declined";
  // A request that was sent once has no other attempt: this is its answer, until a success is told.
  Post once = payment;
  once.key = "once-0123456789abcdef";
  upstream.behave(Behaviour::hang_up());
  EXPECT_EQ(problem_of(post(gateway.port(), once)), "outcome-unknown");
  EXPECT_EQ(tell(gateway, event("e2", "declined", 2, 0, scope, once.key)).status, 200);
  ASSERT_TRUE(becomes(gateway, once.key, "completed"));
  EXPECT_EQ(post(gateway.port(), once).status, 201);
  EXPECT_EQ(post(gateway.port(), once).body, R"({"declined":2})");
  EXPECT_EQ(tell(gateway, event("e3", "paid", 3, 0, scope, once.key)).status, 200);
  EXPECT_TRUE(until([&] {
    return metric(gateway, "pawl_reconcile_total{result=\"contradicted\"}") == 1;
  })) << "201 is stored, and it is a decline";
}

// A success from before the attempt proves that the effect is there.
TEST_P(Webhooks, AnEarlierAttemptsSuccessSettlesALaterOne) {
  ServeProcess& gateway =
      start({std::string(quick) + "on_server_error = \"retry\"\n", often, source()});
  upstream.behave(Behaviour::answer(500));
  EXPECT_EQ(post(gateway.port(), payment).status, 500);
  lose(gateway);
  EXPECT_EQ(tell(gateway, event("e1", "paid", 1, now_seconds() - 5)).status, 200);
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  EXPECT_EQ(post(gateway.port(), payment).body, R"({"paid":1})");
}

TEST_P(Webhooks, AnEventThatSaysOtherwiseThanWhatIsStoredIsToldAndKept) {
  ServeProcess& gateway = start({quick, often, source()});
  lose(gateway);
  EXPECT_EQ(tell(gateway, event("e1", "declined", 1)).status, 200);
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  EXPECT_EQ(tell(gateway, event("e2", "paid", 2)).status, 200);
  const auto contradicted = [&] {
    return metric(gateway, "pawl_reconcile_total{result=\"contradicted\"}");
  };
  ASSERT_TRUE(until([&] { return contradicted() == 1; }));
  EXPECT_TRUE(gateway.wait_for_text("what is stored is not what happened"));
  EXPECT_THAT(on_key("show", {}).out, HasSubstr("event e2, final, contradicts: 402 is stored"));
  EXPECT_EQ(post(gateway.port(), payment).body, R"({"declined":1})") << "never overwritten";
  // Its own answer is held to the same.
  Post other = payment;
  other.key = "fedcba9876543210";
  upstream.behave(Behaviour::answer(402, R"({"declined":0})"));
  EXPECT_EQ(post(gateway.port(), other).status, 402);
  EXPECT_EQ(tell(gateway, event("e3", "paid", 3, 0, scope, other.key)).status, 200);
  EXPECT_TRUE(until([&] { return contradicted() == 2; }));
  EXPECT_EQ(tell(gateway, event("e4", "declined", 4, 0, scope, other.key)).status, 200);
  EXPECT_TRUE(until([&] {
    const testing::Finished shown = keys({"show", other.key, "--scope", scope});
    return occurrences(shown.out, "too late, and what is stored agrees") == 1;
  }));
  EXPECT_EQ(contradicted(), 2) << "and what agrees is no news";
}

TEST_P(Webhooks, TwoSuccessesForTwoAttemptsAreTold) {
  ServeProcess& gateway =
      start({std::string(quick) + "on_server_error = \"retry\"\n", often, source()});
  upstream.behave(Behaviour::answer(500));
  EXPECT_EQ(post(gateway.port(), payment).status, 500);
  upstream.behave(Behaviour::answer(201, R"({"id":"pay_2"})"));
  EXPECT_EQ(post(gateway.port(), payment).status, 201);
  EXPECT_EQ(tell(gateway, event("e1", "paid", 1, now_seconds() - 30)).status, 200);
  const auto doubles = [&] {
    return metric(gateway, "pawl_possible_double_executions_total{evidence=\"answered\"}");
  };
  EXPECT_TRUE(until([&] { return doubles() == 1; })) << "the first attempt had charged as well";
  EXPECT_EQ(metric(gateway, "pawl_reconcile_total{result=\"contradicted\"}"), 1);
  EXPECT_EQ(tell(gateway, event("e2", "paid", 2, now_seconds() + 1)).status, 200);
  EXPECT_TRUE(until([&] { return occurrences(on_key("show", {}).out, "event e2, final, ") == 1; }));
  EXPECT_EQ(post(gateway.port(), payment).body, R"({"id":"pay_2"})");
}

// A source that is trusted with its own routes, and signs what it likes.
TEST_P(Webhooks, AnEventOfAnotherSourceCompletesNothing) {
  std::ofstream(folder() / "shop") << "whsec_of_the_shop_01\n";
  const std::string shop =
      "[[source]]\nname = \"shop\"\n[source.webhook]\nsecret_files = [\"" +
      (folder() / "shop").string() +
      "\"]\nevent_id = \"/id\"\nkey = \"/key\"\nscope = \"/scope\"\n"
      "[[source.webhook.rule]]\nwhere = { \"/type\" = \"paid\" }\nthen = \"completed\"\n"
      "[[route]]\nmatch = \"POST /orders\"\nname = \"orders\"\nreconcile = \"shop\"\n";
  ServeProcess& gateway = start({quick, often, source() + shop});
  lose(gateway);
  const HttpAnswer forged =
      tell(gateway, event("e1", "paid", 666), "whsec_of_the_shop_01", 0, "shop");
  EXPECT_EQ(forged.status, 200) << "kept: " << forged.body;
  ASSERT_TRUE(
      until([&] { return metric(gateway, "pawl_webhooks_total{result=\"foreign\"}") == 1; }));
  ASSERT_TRUE(until([&] { return metric(gateway, "pawl_dead_letters") == 1; }))
      << "looked at again, and still not believed";
  EXPECT_EQ(status_of(gateway, payment.key), "unknown");
  EXPECT_EQ(tell(gateway, event("e2", "paid", 2)).status, 200);
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  EXPECT_EQ(post(gateway.port(), payment).body, R"({"paid":2})");
}

TEST_P(Webhooks, ASourceSpeaksForItsScopesOnly) {
  std::string elsewhere = source();
  elsewhere.insert(elsewhere.find("max_attempts"), "scopes = [\"caller:other\"]\n");
  ServeProcess& gateway = start({quick, often, elsewhere});
  lose(gateway);
  EXPECT_EQ(tell(gateway, event("e1", "paid", 1)).status, 200);
  ASSERT_TRUE(
      until([&] { return metric(gateway, "pawl_webhooks_total{result=\"foreign\"}") == 1; }));
  ASSERT_TRUE(until([&] { return metric(gateway, "pawl_dead_letters") == 1; }));
  EXPECT_EQ(status_of(gateway, payment.key), "unknown");
}

TEST_P(Webhooks, TheKeyApisRecordsAreNobodysUnlessItsConfigurationSaysSo) {
  const std::string job = "nightly-payout-0001";
  const auto reserve = [&](const ServeProcess& gateway) {
    Post one{.key = "",
             .body = R"({"owner":"consumer-token-0001","request":{"amount":100}})",
             .path = "/_pawl/v1/keys/" + job + "/reserve"};
    EXPECT_EQ(post(gateway.port(), one).status, 201);
  };
  const auto state = [&](const ServeProcess& gateway) {
    return member_of(get(gateway.port(), "/_pawl/v1/keys/" + job + "?api=true").body, "status");
  };
  const std::string api = "[key_api]\ncallers = [\"default\"]\nlease = \"1s\"\n";
  ServeProcess& gateway = start({quick, often, api + source()});
  reserve(gateway);
  ASSERT_TRUE(until([&] { return state(gateway) == "unknown"; }));
  EXPECT_EQ(tell(gateway, event("e1", "paid", 1, 0, "api:default", job)).status, 200);
  ASSERT_TRUE(
      until([&] { return metric(gateway, "pawl_webhooks_total{result=\"foreign\"}") == 1; }));
  EXPECT_EQ(state(gateway), "unknown");
  gateway.kill_hard();
  ServeProcess& named = start({quick, often, api + "reconcile = \"bank\"\n" + source()});
  EXPECT_EQ(tell(named, event("e2", "paid", 2, 0, "api:default", job)).status, 200);
  EXPECT_TRUE(until([&] { return state(named) == "completed"; }));
}

// The upstream named what it had made, and then did not know whether it was done.
TEST_P(Webhooks, AnEventMayNameTheResource) {
  ServeProcess& gateway =
      start({std::string(quick) + "on_server_error = \"hold\"\nresource_id = \"/id\"\n"
                                  "resource_type = \"charge\"\n",
             often, source("resource_id = \"/key\"\n")});
  upstream.behave(Behaviour::answer(500, R"({"id":"ch_77"})"));
  EXPECT_EQ(post(gateway.port(), payment).status, 500);
  ASSERT_TRUE(until([&] { return metric(gateway, "pawl_dead_letters") == 1; }));
  EXPECT_EQ(tell(gateway, event("e1", "paid", 1, 0, scope, "ch_78")).status, 200);
  EXPECT_EQ(tell(gateway, event("e2", "paid", 2, 0, scope, "ch_77")).status, 200);
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  EXPECT_EQ(post(gateway.port(), payment).body, R"({"paid":2})");
}

TEST_P(Webhooks, OperatorsSayWhatTheyFound) {
  ServeProcess& gateway = start({quick, often, source()});
  lose(gateway);
  EXPECT_THAT(keys({"list"}).out, HasSubstr(payment.key));
  std::ofstream(folder() / "body") << R"({"id":"by hand"})";
  const std::vector<std::string> completed{"--completed",
                                           "--status",
                                           "201",
                                           "--body",
                                           (folder() / "body").string(),
                                           "--reason",
                                           "ch_1 is in the dashboard",
                                           "--actor",
                                           "ada"};
  const testing::Finished done = on_key("resolve", completed);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const HttpAnswer replay = post(gateway.port(), payment);
  EXPECT_EQ(replay.status, 201);
  EXPECT_EQ(replay.body, R"({"id":"by hand"})");
  EXPECT_EQ(replay.value("Content-Type"), "application/json");
  const testing::Finished again = on_key("resolve", completed);
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("it is completed already"));
  const std::string story = on_key("show", {}).out;
  EXPECT_THAT(story, HasSubstr("operator ada: resolve, unknown -> completed (ch_1 is in"));
  const testing::Finished explained = testing::run_program(
      {PAWL_BINARY, "explain", payment.key, "--scope", scope, "--json", "--store", store_url()});
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr(R"("before":"unknown","after":"completed")"));
  EXPECT_EQ(keys({"list"}).out, "none\n");
}

TEST_P(Webhooks, OperatorsAreRefusedWhatTheStatesDoNotAllow) {
  ServeProcess& gateway =
      start({"lease = \"1s\"\nupstream_timeout = \"1h\"\nreconcile = \"bank\"\n",
             often + std::string("drain_timeout = \"1h\"\n"), source()});
  EXPECT_THAT(on_key("release", {"--reason", "why not"}).err, HasSubstr("there is no such record"));
  lose(gateway);
  EXPECT_THAT(release("why not", fence()).err, HasSubstr("may still be sending"));
  EXPECT_THAT(on_key("purge", {"--reason", "why not"}).err, HasSubstr("Resolve it first"));
  EXPECT_EQ(on_key("resolve", {"--completed", "--status", "201", "--reason", " "}).exit_code, 64);
  EXPECT_EQ(on_key("resolve", {"--completed", "--reason", "why not"}).exit_code, 64);
  EXPECT_EQ(on_key("resolve", {"--reason", "why not"}).exit_code, 64);
  EXPECT_EQ(keys({"list", "--status", "completed"}).exit_code, 64);
  EXPECT_EQ(status_of(gateway, payment.key), "unknown");
  EXPECT_EQ(on_key("resolve", {"--completed", "--status", "204", "--reason", "found"}).exit_code,
            0);
  EXPECT_THAT(on_key("purge", {"--reason", "why not"}).err, HasSubstr("--forget-answer"));
  EXPECT_EQ(on_key("purge", {"--forget-answer", "--reason", "a test"}).exit_code, 0);
  const std::string story = on_key("show", {}).out;
  EXPECT_THAT(story, HasSubstr("no record of it"));
  EXPECT_THAT(story, HasSubstr("purge, completed -> purged (a test)")) << "the audit outlives it";
}

// Two operators paste the same command; between them the client's retry executes, and is lost too.
TEST_P(Webhooks, WhatWasFoundOfOneAttemptLetsNoOtherGo) {
  ServeProcess& gateway = start({quick, often, source()});
  lose(gateway);
  const std::string first = fence();
  const testing::Finished unsaid = on_key("release", {"--reason", "no such charge"});
  EXPECT_EQ(unsaid.exit_code, 64);
  EXPECT_THAT(unsaid.err, HasSubstr("--fence N"));
  EXPECT_THAT(unsaid.err, HasSubstr("under fence " + first));
  ASSERT_TRUE(until([&] { return release("no such charge", first).exit_code == 0; }));
  lose(gateway);
  EXPECT_NE(fence(), first);
  const testing::Finished second = release("no such charge", first);
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.err, HasSubstr("executed again"));
  EXPECT_EQ(status_of(gateway, payment.key), "unknown");
  EXPECT_EQ(upstream.effects(payment.key), 2U);
  EXPECT_THAT(keys({"list"}).out, HasSubstr("fence " + fence()));
}

TEST_P(Webhooks, ADeadLetterCanBeAskedAboutAgain) {
  ServeProcess& gateway = start({quick, often, source()});
  lose(gateway);
  ASSERT_TRUE(until([&] { return metric(gateway, "pawl_dead_letters") == 1; }));
  EXPECT_EQ(on_key("ask", {"--reason", "the source is right now"}).exit_code, 0);
  ASSERT_TRUE(until([&] { return metric(gateway, "pawl_reconcile_total{result=\"dead\"}") == 2; }));
}

TEST_P(Webhooks, AnOperatorAndAnEventRaceAndOneWins) {
  ServeProcess& gateway = start({quick, often, source()});
  lose(gateway);
  testing::Finished operated;
  std::thread person([&] {
    operated = on_key("resolve", {"--completed", "--status", "200", "--reason", "found it"});
  });
  const HttpAnswer told = tell(gateway, event("e1", "paid", 6));
  person.join();
  EXPECT_EQ(told.status, 200);
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  const HttpAnswer replay = post(gateway.port(), payment);
  const bool operator_won = replay.body.empty();
  EXPECT_EQ(operated.exit_code, operator_won ? 0 : 1) << operated.err;
  if (!operator_won) {
    EXPECT_EQ(replay.body, R"({"paid":6})");
    EXPECT_THAT(operated.err, HasSubstr("completed already"));
  }
}

PAWL_ON_EVERY_STORE(Webhooks);

}  // namespace
}  // namespace pawl::e2e
