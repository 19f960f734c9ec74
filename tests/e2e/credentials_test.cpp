// No caller was chosen: everybody shares one scope, and a key belongs to the credentials that used
// it first.
#include <fstream>

#include "tests/e2e/key_api_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class NotChosen : public OnEveryStore {
 protected:
  static WireHeaders as(const std::string& who) {
    return {{"Content-Type", "application/json"}, {"Authorization", "Bearer " + who}};
  }
  [[nodiscard]] Post payment_of(const std::string& who) const {
    Post one = payment;
    one.headers = as(who);
    return one;
  }
  HttpAnswer key_page(const ServeProcess& gateway, const WireHeaders& headers) const {
    return get(gateway.port(), "/_pawl/v1/keys/" + payment.key, headers);
  }
  static void expect_unproven(const HttpAnswer& answer) {
    EXPECT_EQ(answer.status, 409);
    EXPECT_EQ(problem_of(answer), "caller-unproven");
    EXPECT_THAT(answer.body, HasSubstr("[caller]"));
    EXPECT_THAT(answer.body, Not(HasSubstr("pay_of_alice")));
  }
};

TEST_P(NotChosen, AnothersKeyIsNeitherExecutedNorReplayed) {
  upstream.behave(Behaviour::answer(201, R"({"id":"pay_of_alice"})"));
  ServeProcess& gateway = start();
  ServeProcess& from_store = start({"", "replay_cache = 0", ""});
  EXPECT_EQ(post(gateway.port(), payment_of("alice")).status, 201);
  Post with_cookie = payment;
  with_cookie.headers.emplace_back("Cookie", "session=alice");
  Post both = payment_of("alice");
  both.headers.emplace_back("Cookie", "session=bob");
  Post other_body = payment_of("bob");
  other_body.body = R"({"amount":7})";  // nor is it told whether a body was the same
  for (const ServeProcess* node : {&gateway, &from_store}) {
    for (const Post& stranger : {payment_of("bob"), payment, with_cookie, both, other_body}) {
      expect_unproven(post(node->port(), stranger));
    }
    EXPECT_EQ(metric(*node, R"(pawl_reserve_total{decision="caller_unproven"})"), 5);
    const HttpAnswer replay = post(node->port(), payment_of("alice"));
    EXPECT_EQ(replay.value("Idempotent-Replayed"), "true");
    EXPECT_THAT(replay.body, HasSubstr("pay_of_alice"));
  }
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(NotChosen, WhateverHeaderTheCredentialsComeIn) {
  upstream.behave(Behaviour::answer(201, R"({"id":"pay_of_alice"})"));
  ServeProcess& gateway = start({"", "", "[caller]\ncredential_headers = [\"X-Session\"]\n"});
  for (const char* header :
       {"X-Api-Key", "Api-Key", "X-Auth-Token", "Proxy-Authorization", "x-api-key", "X-Session"}) {
    Post alice = payment;
    alice.key = std::string("key-of-alice-by-") + header;
    Post nobody = alice;
    alice.headers.emplace_back(header, "alice");
    Post bob = nobody;
    bob.headers.emplace_back(header, "bob");
    EXPECT_EQ(post(gateway.port(), alice).status, 201) << header;
    expect_unproven(post(gateway.port(), nobody));
    expect_unproven(post(gateway.port(), bob));
    EXPECT_EQ(post(gateway.port(), alice).value("Idempotent-Replayed"), "true") << header;
  }
}

TEST_P(NotChosen, AKeyThatWasRefusedIsFreeForItsOwner) {
  ServeProcess& gateway = start();
  for (const bool same_body : {true, false}) {
    Post stranger = payment;
    stranger.key += same_body ? "-same" : "-other";
    Post alice = payment_of("alice");
    alice.key = stranger.key;
    if (!same_body) stranger.body = R"({"amount":7})";
    upstream.behave(Behaviour::answer(401, "{}"));
    EXPECT_EQ(post(gateway.port(), stranger).status, 401);
    upstream.behave(Behaviour::answer(201, R"({"id":"pay_of_alice"})"));
    EXPECT_EQ(post(gateway.port(), alice).status, 201) << same_body;
    EXPECT_EQ(post(gateway.port(), alice).value("Idempotent-Replayed"), "true");
    expect_unproven(post(gateway.port(), stranger));
  }
}

TEST_P(NotChosen, TheKeysPageTellsAStrangerItsStatusWithoutTheResponse) {
  upstream.behave(Behaviour::answer(201, R"({"id":"pay_of_alice"})"));
  ServeProcess& gateway = start();
  post(gateway.port(), payment_of("alice"));
  EXPECT_THAT(key_page(gateway, as("alice")).body, HasSubstr("pay_of_alice"));
  for (const WireHeaders& stranger : {as("bob"), WireHeaders{}}) {
    const HttpAnswer page = key_page(gateway, stranger);
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(member_of(page.body, "status"), "completed");
    EXPECT_EQ(member_of(page.body, "response"), "(none)");
  }
}

TEST_P(NotChosen, AStrangerDoesNotWaitForTheAnswer) {
  const Settings patient{"in_flight = \"wait\"\n", "", ""};
  ServeProcess& first = start(patient);
  ServeProcess& second = start(patient);
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201, R"({"id":"pay_of_alice"})").after(gate));
  RawClient alice(first.port());
  alice.send(to_bytes(payment_of("alice")));
  upstream.wait_for(1);
  expect_unproven(post(first.port(), payment_of("bob")));
  expect_unproven(post(second.port(), payment_of("bob")));
  gate->release();
  EXPECT_EQ(alice.read_answer().status, 201);
  expect_unproven(post(first.port(), payment_of("bob")));
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(NotChosen, AcceptedWorkIsBoundToItsCredentials) {
  upstream.behave(Behaviour::answer(201, R"({"id":"pay_of_alice"})"));
  ServeProcess& gateway = start({"mode = \"async\"\n", "sweep_interval = \"200ms\"\n", ""});
  EXPECT_EQ(post(gateway.port(), payment_of("alice")).status, 202);
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  expect_unproven(post(gateway.port(), payment_of("bob")));
  EXPECT_THAT(key_page(gateway, as("bob")).body, Not(HasSubstr("pay_of_alice")));
  EXPECT_THAT(post(gateway.port(), payment_of("alice")).body, HasSubstr("pay_of_alice"));
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(NotChosen, TheKeyApiBindsToo) {
  ServeProcess& gateway = start({"", "", key_api()});
  const HttpAnswer granted = reserve(gateway, ours, R"({"amount":100})", job, "alice");
  ASSERT_EQ(granted.status, 201);
  EXPECT_EQ(write(gateway, "complete", fence_of(granted),
                  R"(,"response":{"status":200,"body":"pay_of_alice"})", ours, "alice")
                .status,
            200);
  const HttpAnswer stranger = reserve(gateway, theirs, R"({"amount":100})", job, "bob");
  expect_unproven(stranger);
  EXPECT_EQ(decision_of(stranger), "unproven");
  EXPECT_THAT(look(gateway, job, "bob").body, Not(HasSubstr("pay_of_alice")));
  EXPECT_EQ(member_of(look(gateway, job, "bob").body, "status"), "completed");
  EXPECT_THAT(reserve(gateway, theirs, R"({"amount":100})", job, "alice").body,
              HasSubstr("pay_of_alice"));
}

TEST_P(NotChosen, ObservingCountsWhatWouldHaveBeenRefused) {
  ServeProcess& gateway = start({"mode = \"observe\"\n", "", ""});
  post(gateway.port(), payment_of("alice"));
  EXPECT_TRUE(until([&] {
    return metric(gateway, "pawl_observed_total{route=\"default\",would=\"created\"}") == 1;
  }));
  post(gateway.port(), payment_of("bob"));
  EXPECT_TRUE(until([&] {
    return metric(gateway, "pawl_observed_total{route=\"default\",would=\"caller_unproven\"}") == 1;
  }));
}

TEST_P(NotChosen, WhereOneTenantIsSaidCredentialsDoNotMatter) {
  ServeProcess& gateway = start({"", "", "[caller]\nfrom = \"single\"\n"});
  post(gateway.port(), payment_of("alice"));
  EXPECT_EQ(post(gateway.port(), payment_of("bob")).value("Idempotent-Replayed"), "true");
  EXPECT_THAT(gateway.err(), Not(HasSubstr("no caller was chosen")));
  EXPECT_THAT(gateway.err(), HasSubstr("callers=single"));
}

TEST_P(NotChosen, TheStoreHoldsNoCredentials) {
  if (GetParam() != StoreKind::sqlite) GTEST_SKIP() << "a file can be searched";
  ServeProcess& gateway = start();
  post(gateway.port(), payment_of("s3cret-of-alice"));
  gateway.terminate();
  std::string bytes;
  for (const char* name : {"pawl.db", "pawl.db-wal"}) {
    std::ifstream file(folder() / name, std::ios::binary);
    bytes.append(std::istreambuf_iterator<char>(file), {});
  }
  EXPECT_THAT(bytes, HasSubstr(payment.key));
  EXPECT_THAT(bytes, Not(HasSubstr("s3cret")));
}

PAWL_ON_EVERY_STORE(NotChosen);

}  // namespace
}  // namespace pawl::e2e
