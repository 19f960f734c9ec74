// Unknown is not a place to stay: a provider that is asked, and what follows from its answers.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "tests/e2e/gateway_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* quick = "lease = \"1s\"\nupstream_timeout = \"1s\"\nreconcile = \"bank\"\n";
constexpr const char* often = "sweep_interval = \"200ms\"\n";

class Reconcile : public OnEveryStore {
 protected:
  // A source that is asked by key, and what its answers mean.
  std::string source(const std::string& more = {}) const {
    return "[[source]]\nname = \"bank\"\nurl = \"" + bank.url() +
           "/v1/payments?key={key}&tenant={scope}\"\ntimeout = \"1s\"\n"
           "visibility_window = \"0s\"\nbackoff = \"50ms\"\nbackoff_max = \"200ms\"\n" +
           more + rules;
  }
  static constexpr const char* rules =
      "[[source.rule]]\nstatus = 200\nwhere = { \"/status\" = \"succeeded\" }\n"
      "then = \"completed\"\nresponse_status = 201\n"
      "[[source.rule]]\nstatus = 200\nwhere = { \"/status\" = \"declined\" }\n"
      "then = \"declined\"\nresponse_status = 201\n"
      "[[source.rule]]\nstatus = 404\nthen = \"absent\"\n"
      "[[source.rule]]\nstatus = 200\nthen = \"unknown\"\n";

  // One that is not asked, and tells by itself.
  std::string tells() const {
    std::ofstream(folder() / "whsec") << "whsec_0123456789abcdef\n";
    return "[[source]]\nname = \"bank\"\n[source.webhook]\nsecret_files = [\"" +
           (folder() / "whsec").string() +
           "\"]\nevent_id = \"/id\"\nderived_key = \"/key\"\n"
           "[[source.webhook.rule]]\nwhere = { \"/type\" = \"paid\" }\nthen = \"completed\"\n";
  }

  // A payment whose answer never comes back.
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

  UpstreamServer bank;
};

TEST_P(Reconcile, WhatTheProviderHasIsReplayedByteForByte) {
  const std::string answer = "{ \"id\":\"ch_1\",\r\n \"status\":\"succeeded\", \"amount\":1e2 }";
  bank.behave(Behaviour::answer(
      200, answer, {{"Content-Type", "application/json; charset=utf-8"}, {"X-Bank", "one"}}));
  ServeProcess& gateway = start({quick, often, source()});
  lose(gateway);
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  const HttpAnswer replay = post(gateway.port(), payment);
  EXPECT_EQ(replay.status, 201) << "the rule's, not the question's";
  EXPECT_EQ(replay.body, answer);
  EXPECT_EQ(replay.value("Content-Type"), "application/json; charset=utf-8");
  EXPECT_EQ(replay.value("X-Bank"), "one");
  EXPECT_EQ(replay.value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
  EXPECT_EQ(bank.requests().front().target,
            "/v1/payments?key=" + payment.key + "&tenant=caller%3Adefault");
  EXPECT_EQ(bank.requests().front().method, "GET");
  EXPECT_TRUE(
      until([&] { return metric(gateway, "pawl_reconcile_total{result=\"completed\"}") == 1; }));
}

TEST_P(Reconcile, ADeclineIsAnAnswer) {
  bank.behave(Behaviour::answer(200, R"({"status":"declined"})"));
  ServeProcess& gateway = start({quick, often, source()});
  lose(gateway);
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  const HttpAnswer told = post(gateway.port(), payment);
  EXPECT_EQ(told.status, 201) << "what the client is told is the rule's business";
  EXPECT_EQ(told.body, R"({"status":"declined"})");
  EXPECT_THAT(keys({"show", payment.key, "--scope", "caller:default"}).out,
              HasSubstr("bank: declined: asked, it answered 200"));
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(Reconcile, ATemplateMakesTheAnswer) {
  bank.behave(Behaviour::answer(200, R"({"data":[{"id":"ch_9","amount":1.50}]})"));
  ServeProcess& gateway =
      start({quick, often,
             "[[source]]\nname = \"bank\"\nurl = \"" + bank.url() + "/find/{derived_key}\"\n" +
                 "[[source.rule]]\nstatus = \"2xx\"\nwhere = { \"/data/0/id\" = \"*\" }\n"
                 "then = \"completed\"\nresponse_status = 201\n"
                 "response_body = '{\"id\": {/data/0/id}, \"amount\": {/data/0/amount}, \"k\": "
                 "{key}}'\n"});
  lose(gateway);
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  EXPECT_EQ(post(gateway.port(), payment).body,
            R"({"id": "ch_9", "amount": 1.50, "k": "0123456789abcdef"})");
  EXPECT_EQ(bank.requests().front().target.size(), std::string("/find/").size() + 64);
}

TEST_P(Reconcile, TheDerivedKeyIsTheOneTheProviderWasSent) {
  bank.behave(Behaviour::answer(200, R"({"status":"succeeded"})"));
  ServeProcess& gateway = start(
      {std::string(quick) + "forward_key = \"derived\"\n", often,
       "[[source]]\nname = \"bank\"\nurl = \"" + bank.url() + "/find/{derived_key}\"\n" + rules});
  lose(gateway);
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  EXPECT_EQ(bank.requests().front().target,
            "/find/" + upstream.requests().front().header("Idempotency-Key").value_or("(none)"));
}

TEST_P(Reconcile, WhatWasNeverSeenRunsAgainOnceAfterTheWindow) {
  bank.behave(Behaviour::answer(404, "{}"));
  ServeProcess& gateway = start({quick, often, source("absent_confirmations = 3\n")});
  lose(gateway);
  ASSERT_TRUE(becomes(gateway, payment.key, "failed_retryable"));
  EXPECT_GE(bank.count(), 3U);
  EXPECT_TRUE(
      until([&] { return metric(gateway, "pawl_reconcile_total{result=\"not_executed\"}") == 1; }));
  const HttpAnswer retried = post(gateway.port(), payment);
  EXPECT_EQ(retried.status, 201);
  EXPECT_EQ(retried.body, R"({"id":"pay_2"})");
  EXPECT_EQ(post(gateway.port(), payment).value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.effects(payment.key), 2U) << "the one that got lost, and the retry";
}

TEST_P(Reconcile, WhatIsNotVisibleYetIsNotTakenForAbsent) {
  bank.behave(Behaviour::answer(404, "{}"));
  // A window of an hour: absences do not count in it, and nobody gives up in it either.
  std::string hour = source("absent_confirmations = 1\nmax_attempts = 3\n");
  const std::string none = "visibility_window = \"0s\"";
  hour.replace(hour.find(none), none.size(), "visibility_window = \"1h\"");
  ServeProcess& patient = start({quick, often, hour});
  lose(patient);
  bank.wait_for(6);
  EXPECT_EQ(status_of(patient, payment.key), "unknown");
  EXPECT_EQ(problem_of(post(patient.port(), payment)), "outcome-unknown");
  EXPECT_EQ(metric(patient, "pawl_reconcile_total{result=\"dead\"}"), 0);
  EXPECT_EQ(upstream.effects(payment.key), 1U);
  // And then it shows.
  bank.behave(Behaviour::answer(200, R"({"status":"succeeded"})"));
  ASSERT_TRUE(becomes(patient, payment.key, "completed"));
}

TEST_P(Reconcile, ErrorsAndSilenceOfTheSourceProveNothingAndEndInTheDeadLetters) {
  std::atomic<int> asked = 0;
  bank.behave([&](const ReceivedRequest&) {
    switch (asked++ % 3) {
      case 0: return Behaviour::answer(500, R"({"status":"succeeded"})");
      case 1: return Behaviour::hang_up();
      default: return Behaviour::half_answer(Behaviour::End::close);
    }
  });
  ServeProcess& gateway = start({quick, often, source("max_attempts = 4\n")});
  lose(gateway);
  ASSERT_TRUE(until([&] { return metric(gateway, "pawl_dead_letters") == 1; }));
  EXPECT_GE(asked.load(), 4);
  EXPECT_EQ(status_of(gateway, payment.key), "unknown");
  const auto is_told = [&] {
    const HttpAnswer told = post(gateway.port(), payment);
    EXPECT_EQ(problem_of(told), "outcome-unknown");
    return told.value("Pawl-Should-Retry") == "false" && !told.header("Retry-After") &&
           told.body.find("an operator must decide") != std::string::npos;
  };
  EXPECT_TRUE(until(is_told)) << "nobody is asked any more";
  EXPECT_EQ(upstream.effects(payment.key), 1U) << "a dead letter is never executed again";
  EXPECT_GE(metric(gateway, "pawl_unknown_records"), 1);
  const testing::Finished listed = keys({"list", "--status", "dead"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr(payment.key));
  const testing::Finished shown = keys({"show", payment.key, "--scope", "caller:default"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("answered 500"));
  EXPECT_THAT(shown.out, HasSubstr("dead letter"));
}

TEST_P(Reconcile, WithoutASourceItIsADeadLetterAtOnce) {
  ServeProcess& gateway = start({"lease = \"1s\"\nupstream_timeout = \"1s\"\n", often, ""});
  lose(gateway);
  ASSERT_TRUE(until([&] { return metric(gateway, "pawl_dead_letters") == 1; }));
  EXPECT_EQ(status_of(gateway, payment.key), "unknown");
  EXPECT_THAT(keys({"list", "--status", "dead", "--json"}).out, HasSubstr(payment.key));
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

// The source of [policy] has never seen it, and would say so.
TEST_P(Reconcile, ARouteThatIsNotConfiguredAnyMoreIsNotAskedAboutElsewhere) {
  bank.behave(Behaviour::answer(404, "{}"));
  ServeProcess& before =
      start({"lease = \"1s\"\nupstream_timeout = \"1s\"\n", "sweep_interval = \"1h\"\n",
             "[[route]]\nmatch = \"POST /*\"\nname = \"old\"\n"});
  lose(before);
  before.kill_hard();
  ServeProcess& after = start({quick, often, source("absent_confirmations = 1\n")});
  ASSERT_TRUE(until([&] { return metric(after, "pawl_dead_letters") == 1; }));
  EXPECT_EQ(status_of(after, payment.key), "unknown");
  EXPECT_EQ(bank.count(), 0U);
}

// The route is given another source while a key is in doubt. That one has never seen it.
TEST_P(Reconcile, AnotherSourceDoesNotReleaseWhatTheFirstOneMayHave) {
  bank.behave(Behaviour::answer(500));
  ServeProcess& before = start({quick, often, source("max_attempts = 1000\n")});
  lose(before);
  bank.wait_for(1);
  before.kill_hard();
  UpstreamServer other;
  other.behave(Behaviour::answer(404, "{}"));
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string elsewhere =
      replaced(replaced(source("absent_confirmations = 1\n"), bank.url(), other.url()), "\"bank\"",
               "\"other\"");
  ServeProcess& after = start({replaced(quick, "\"bank\"", "\"other\""), often, elsewhere});
  ASSERT_TRUE(until([&] { return metric(after, "pawl_dead_letters") == 1; }));
  EXPECT_GE(other.count(), 1U) << "it might have had it";
  EXPECT_EQ(status_of(after, payment.key), "unknown");
  EXPECT_EQ(problem_of(post(after.port(), payment)), "outcome-unknown");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
  EXPECT_THAT(keys({"show", payment.key, "--scope", "caller:default"}).out,
              HasSubstr("the route named \"bank\" when the outcome became unknown"));
  after.kill_hard();
  // The first one is believed, when it is asked again.
  bank.behave(Behaviour::answer(404, "{}"));
  const auto ask =
      keys({"ask", payment.key, "--scope", "caller:default", "--reason", "named again"});
  EXPECT_EQ(ask.exit_code, 0) << ask.err;
  ServeProcess& again = start({quick, often, source()});
  ASSERT_TRUE(becomes(again, payment.key, "failed_retryable"));
}

// Under another key it was never sent: what was sent is what must be asked for.
TEST_P(Reconcile, AChangedForwardKeyReleasesNothing) {
  bank.behave(Behaviour::answer(500));
  ServeProcess& before = start({quick, often, source("max_attempts = 1000\n")});
  lose(before);
  bank.wait_for(1);
  before.kill_hard();
  bank.behave(Behaviour::answer(404, "{}"));
  std::string derived = source("absent_confirmations = 1\n");
  derived.replace(derived.find("{key}"), 5, "{derived_key}");
  ServeProcess& after = start({std::string(quick) + "forward_key = \"derived\"\n", often, derived});
  ASSERT_TRUE(until([&] { return metric(after, "pawl_dead_letters") == 1; }));
  EXPECT_EQ(status_of(after, payment.key), "unknown");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(Reconcile, AReconcilerKilledWhileItAsksIsFollowedByAnother) {
  bank.behave(Behaviour::hang());
  ServeProcess& first = start({quick, often, source()});
  lose(first);
  bank.wait_for(1);
  first.kill_hard();
  bank.behave(Behaviour::answer(200, R"({"status":"succeeded"})"));
  ServeProcess& second = start({quick, often, source()});
  ASSERT_TRUE(becomes(second, payment.key, "completed"));
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(Reconcile, ManyKillsAtAnyMomentNeverExecuteAgain) {
  // The source has trouble for a while.
  std::atomic<int> asked = 0;
  bank.behave([&](const ReceivedRequest&) {
    return ++asked < 6 ? Behaviour::answer(500)
                       : Behaviour::answer(200, R"({"status":"succeeded"})");
  });
  ServeProcess& first = start({quick, often, source("max_attempts = 1000\n")});
  lose(first);
  first.kill_hard();
  for (std::size_t kill = 1; kill <= 4; ++kill) {
    ServeProcess& node = start({quick, often, source("max_attempts = 1000\n")});
    const std::size_t before = bank.count();
    // At another moment each time: as soon as it has begun, or when it has asked.
    if (kill % 2 == 0 && status_of(node, payment.key) == "unknown") bank.wait_for(before + 1);
    node.kill_hard();
  }
  ServeProcess& last = start({quick, often, source("max_attempts = 1000\n")});
  ASSERT_TRUE(becomes(last, payment.key, "completed"));
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(Reconcile, SeveralNodesResolveOnceAndAskOneAtATime) {
  std::atomic<int> at_once = 0;
  std::atomic<int> most = 0;
  const auto gate = std::make_shared<Gate>();
  bank.behave([&](const ReceivedRequest&) {
    most = std::max(most.load(), ++at_once);
    return Behaviour::answer(200, R"({"status":"succeeded"})").after(gate);
  });
  ServeProcess& one = start({quick, often, source()});
  ServeProcess& two = start({quick, often, source()}, /*worker=*/true);
  ServeProcess& three = start({quick, often, source()}, /*worker=*/true);
  lose(one);
  bank.wait_for(1);
  gate->release();
  ASSERT_TRUE(becomes(one, payment.key, "completed"));
  EXPECT_EQ(most.load(), 1);
  const auto completed = [&] {
    double all = 0;
    for (const ServeProcess* node : {&one, &two, &three}) {
      all += metric(*node, "pawl_reconcile_total{result=\"completed\"}");
    }
    return all;
  };
  EXPECT_TRUE(until([&] { return completed() == 1; }));
}

// The key as an attacker chooses it: what it leads to is another customer's, and looks paid.
TEST_P(Reconcile, AKeyThatWouldWalkThroughTheUrlIsNotAskedWith) {
  bank.behave(Behaviour::answer(200, R"({"status":"succeeded","email":"victim@example.com"})"));
  const std::string by_path =
      "[[source]]\nname = \"bank\"\nurl = \"" + bank.url() +
      "/v1/charges/{key}\"\ntimeout = \"1s\"\nvisibility_window = \"0s\"\n" + rules;
  ServeProcess& gateway = start({quick, often, by_path});
  Post attack = payment;
  attack.key = "../customers/cus_victim";
  upstream.behave(Behaviour::hang_up());
  EXPECT_EQ(problem_of(post(gateway.port(), attack)), "outcome-unknown");
  ASSERT_TRUE(until([&] { return metric(gateway, "pawl_dead_letters") == 1; }));
  EXPECT_EQ(bank.count(), 0U);
  EXPECT_EQ(problem_of(post(gateway.port(), attack)), "outcome-unknown");
  EXPECT_THAT(keys({"show", attack.key, "--scope", "caller:default"}).out,
              HasSubstr("{key} stands in the path of its URL, and this one has a / in it"));
  // An honest one is asked about.
  lose(gateway);
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  EXPECT_EQ(bank.requests().front().target, "/v1/charges/" + payment.key);
}

// The provider shows the first attempt's refusal while the second one's charge is not visible yet.
TEST_P(Reconcile, ARefusalIsNotTakenForALaterAttemptsBeforeThatMustBeVisible) {
  bank.behave(Behaviour::answer(200, R"({"status":"declined"})"));
  std::string hour = source();
  const std::string none = "visibility_window = \"0s\"";
  hour.replace(hour.find(none), none.size(), "visibility_window = \"1h\"");
  ServeProcess& gateway =
      start({std::string(quick) + "on_server_error = \"retry\"\n", often, hour});
  upstream.behave(Behaviour::answer(500));
  EXPECT_EQ(post(gateway.port(), payment).status, 500);
  lose(gateway);
  bank.wait_for(3);
  EXPECT_EQ(status_of(gateway, payment.key), "unknown");
  bank.behave(Behaviour::answer(200, R"({"status":"succeeded"})"));
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  EXPECT_EQ(post(gateway.port(), payment).body, R"({"status":"succeeded"})");
}

TEST_P(Reconcile, AClientIsToldWhoDecides) {
  bank.behave(Behaviour::answer(500));
  ServeProcess& asks = start({std::string(quick) + "on_server_error = \"hold\"\n", often,
                              source("max_attempts = 1000\n")});
  upstream.behave(Behaviour::hang_up());
  const HttpAnswer first = post(asks.port(), payment);
  EXPECT_EQ(first.status, 502);
  for (const HttpAnswer& answer : {first, post(asks.port(), payment)}) {
    EXPECT_EQ(answer.value("Pawl-Should-Retry"), "true");
    EXPECT_NE(answer.value("Retry-After"), "");
    EXPECT_THAT(answer.body, HasSubstr("being asked of the provider"));
  }
  asks.kill_hard();
  ServeProcess& nobody =
      start({"lease = \"1s\"\nupstream_timeout = \"1s\"\n"
             "on_server_error = \"hold\"\n",
             often, ""});
  Post other = payment;
  other.key = "fedcba9876543210";
  const HttpAnswer lost = post(nobody.port(), other);
  EXPECT_EQ(lost.status, 502);
  for (const HttpAnswer& answer : {lost, post(nobody.port(), other)}) {
    EXPECT_EQ(answer.value("Pawl-Should-Retry"), "false");
    EXPECT_FALSE(answer.header("Retry-After"));
    EXPECT_THAT(answer.body, HasSubstr("an operator must decide"));
    EXPECT_THAT(answer.body, Not(HasSubstr("looked into")));
  }
  // A source that only tells is asked nothing.
  ServeProcess& told_only =
      start({std::string(quick) + "on_server_error = \"hold\"\n", often, tells()});
  Post awaited = payment;
  awaited.key = "awaited-0123456789";
  static_cast<void>(post(told_only.port(), awaited));
  const HttpAnswer waits = post(told_only.port(), awaited);
  EXPECT_EQ(waits.value("Pawl-Should-Retry"), "false");
  EXPECT_FALSE(waits.header("Retry-After"));
  EXPECT_THAT(waits.body, HasSubstr("unless the provider reports it, an operator must decide"));
  // Held after a server error: what the service could say.
  Post held = payment;
  held.key = "held-0123456789ab";
  upstream.behave(Behaviour::answer(500));
  EXPECT_EQ(post(nobody.port(), held).status, 500);
  const HttpAnswer told = post(nobody.port(), held);
  EXPECT_EQ(told.status, 409);
  EXPECT_THAT(told.body, HasSubstr("the service answered 500"));
  EXPECT_THAT(told.body, HasSubstr("Pawl-Outcome"));
}

// The first owner is stopped past its lease and taken over; the second one's answer gets lost; then
// the first one goes on, and has its answer.
TEST_P(Reconcile, AnAnswerThatCameTooLateIsUsedInsteadOfAsking) {
  bank.behave(Behaviour::answer(500));
  const std::string policy = "lease = \"1s\"\non_lease_expiry = \"retry\"\nreconcile = \"bank\"\n";
  const std::string patient = source("max_attempts = 1000\n");
  ServeProcess& first = start({policy, often, patient});
  ServeProcess& other = start({policy, often, patient});
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201, R"({"id":"the first"})").after(gate));
  std::thread client([&] { static_cast<void>(post(first.port(), payment)); });
  upstream.wait_for(1);
  first.stop();
  EXPECT_TRUE(becomes(other, payment.key, "failed_retryable"));
  upstream.behave(Behaviour::hang_up());
  EXPECT_EQ(problem_of(post(other.port(), payment)), "outcome-unknown");
  gate->release();
  first.resume();
  client.join();
  ASSERT_TRUE(becomes(other, payment.key, "completed"));
  EXPECT_EQ(post(other.port(), payment).body, R"({"id":"the first"})");
  EXPECT_EQ(upstream.effects(payment.key), 2U) << "and the alert says so:";
  EXPECT_EQ(metric(first, "pawl_possible_double_executions_total{evidence=\"answered\"}"), 1);
  EXPECT_THAT(keys({"show", payment.key, "--scope", "caller:default"}).out,
              HasSubstr("had lost the record"));
}

PAWL_ON_EVERY_STORE(Reconcile);

}  // namespace
}  // namespace pawl::e2e
