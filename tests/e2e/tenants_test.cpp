// Keys belong to the caller that used them.
#include "src/core/sha256.hpp"
#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string two_tenants() {
  const auto entry = [](const std::string& scope, const std::string& secret) {
    return "[[caller.api_key]]\nscope = \"" + scope + "\"\nsha256 = \"" + hex(sha256(secret)) +
           "\"\n";
  };
  return "[caller]\nfrom = \"api-key\"\n" + entry("tenant-a", "secret-of-a") +
         entry("tenant-b", "secret-of-b");
}

class Tenants : public OnEveryStore {
 protected:
  static WireHeaders as(const std::string& secret) {
    return {{"Content-Type", "application/json"}, {"Authorization", "Bearer " + secret}};
  }
  Post payment_of(const std::string& secret) const {
    Post one = payment;
    one.headers = as(secret);
    return one;
  }
};

TEST_P(Tenants, TheSameKeyOfTwoTenantsIsTwoKeys) {
  ServeProcess& gateway = start({.policy = "", .top = "", .rest = two_tenants()});
  const HttpAnswer of_a = post(gateway.port(), payment_of("secret-of-a"));
  Post other = payment_of("secret-of-b");
  other.body = R"({"amount":999})";  // not misuse: another tenant's key
  const HttpAnswer of_b = post(gateway.port(), other);
  EXPECT_EQ(of_a.status, 201);
  EXPECT_EQ(of_b.status, 201);
  EXPECT_FALSE(of_b.header("Idempotent-Replayed"));
  EXPECT_NE(of_a.body, of_b.body);
  EXPECT_NE(of_a.value("Pawl-Request-Id"), of_b.value("Pawl-Request-Id"));
  EXPECT_EQ(upstream.effects(payment.key), 2U);
  EXPECT_EQ(post(gateway.port(), payment_of("secret-of-a")).body, of_a.body);
  EXPECT_EQ(post(gateway.port(), other).body, of_b.body);
  ServeProcess& another = start(
      {.policy = "", .top = "replay_cache = 0", .rest = two_tenants()});  // from the store as well
  EXPECT_EQ(post(another.port(), payment_of("secret-of-a")).body, of_a.body);
  EXPECT_EQ(post(another.port(), other).body, of_b.body);
  EXPECT_EQ(upstream.effects(payment.key), 2U);
}

TEST_P(Tenants, NeitherSeesTheOthersKey) {
  ServeProcess& gateway = start({.policy = "", .top = "", .rest = two_tenants()});
  post(gateway.port(), payment_of("secret-of-a"));
  EXPECT_EQ(status_of(gateway, payment.key, as("secret-of-a")), "completed");
  EXPECT_EQ(status_of(gateway, payment.key, as("secret-of-b")), "404");
  EXPECT_EQ(status_of(gateway, payment.key, {}), "401");
}

TEST_P(Tenants, WithoutValidCredentialsNothingIsReservedOrForwarded) {
  ServeProcess& gateway = start({.policy = "", .top = "", .rest = two_tenants()});
  Post anonymous = payment;
  for (const HttpAnswer& refused :
       {post(gateway.port(), anonymous), post(gateway.port(), payment_of("secret-of-nobody")),
        post(gateway.port(), payment_of("")), post(gateway.port(), payment_of("secret-of-A"))}) {
    EXPECT_EQ(refused.status, 401);
    EXPECT_EQ(problem_of(refused), "unauthenticated");
  }
  EXPECT_EQ(upstream.count(), 0U);
  EXPECT_EQ(status_of(gateway, payment.key, as("secret-of-a")), "404");
  Post plain = payment_of("secret-of-a");
  plain.headers.back().second = "secret-of-a";  // with or without Bearer
  EXPECT_EQ(post(gateway.port(), plain).status, 201);
}

TEST_P(Tenants, ForwardedKeysCanBeDerivedSoThatTenantsDoNotCollideUpstream) {
  ServeProcess& gateway =
      start({.policy = "forward_key = \"derived\"", .top = "", .rest = two_tenants()});
  post(gateway.port(), payment_of("secret-of-a"));
  post(gateway.port(), payment_of("secret-of-b"));
  ASSERT_EQ(upstream.count(), 2U);
  const auto key_of = [&](std::size_t i) {
    return upstream.requests().at(i).header("Idempotency-Key").value_or("");
  };
  EXPECT_EQ(key_of(0).size(), 64U);
  EXPECT_NE(key_of(0), key_of(1));
  EXPECT_THAT(upstream.requests().at(0).head, Not(HasSubstr(payment.key)));
}

TEST_P(Tenants, WhereTheRouteIsPartOfTheScopeOneKeyServesTwoRoutes) {
  ServeProcess& gateway = start({.policy = "key_scope = \"caller+route\"",
                                 .top = "",
                                 .rest = "[[route]]\nmatch = \"POST /payments\"\n"
                                         "name = \"payments\"\n[[route]]\n"
                                         "match = \"POST /refunds/{id}\"\nname = \"refunds\"\n"});
  Post refund = payment;
  refund.path = "/refunds/7";
  EXPECT_EQ(post(gateway.port(), payment).status, 201);
  EXPECT_EQ(post(gateway.port(), refund).status, 201);
  EXPECT_EQ(upstream.effects(payment.key), 2U);
  EXPECT_EQ(post(gateway.port(), refund).value("Idempotent-Replayed"), "true");
  EXPECT_EQ(status_of(gateway, payment.key), "404");
  EXPECT_EQ(get(gateway.port(), "/_pawl/v1/keys/" + payment.key + "?route=refunds").status, 200);
  EXPECT_EQ(get(gateway.port(), "/_pawl/v1/keys/" + payment.key + "?route=payments").status, 200);
  EXPECT_EQ(get(gateway.port(), "/_pawl/v1/keys/" + payment.key + "?route=nowhere").status, 404);
}

PAWL_ON_EVERY_STORE(Tenants);

class ScopeRule : public OnEveryStore {
 protected:
  // What it says when it does not start; empty if it does.
  std::string start_trouble(const Settings& settings) {
    try {
      start(settings).kill_hard();
      return {};
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }
};

TEST_P(ScopeRule, AConfigurationThatMakesEveryKeyNewIsRefused) {
  EXPECT_EQ(start_trouble({}), "");
  const Settings others{"", "",
                        "[caller]\nfrom = \"api-key\"\n[[caller.api_key]]\nscope = \"a\"\n"
                        "sha256 = \"" +
                            std::string(64, 'a') + "\"\n"};
  const std::string said = start_trouble(others);
  EXPECT_THAT(said, ::testing::HasSubstr("from was single and is now api-key"));
  EXPECT_THAT(said, ::testing::HasSubstr("--new-scope-rule"));
  EXPECT_EQ(start_trouble({}), "") << "nothing was changed by the refusal";
}

Settings bound_to(const std::string& name, const std::string& match = "POST /payments") {
  return {"", "",
          "[[route]]\nmatch = \"" + match + "\"\nname = \"" + name +
              "\"\nkey_scope = \"caller+route\"\n"};
}

Settings accepting(Settings settings) {
  settings.flags = {"--new-scope-rule"};
  return settings;
}

TEST_P(ScopeRule, ARouteThatBindsKeysToItselfMayBeNeitherRenamedNorRemoved) {
  EXPECT_EQ(post(start(bound_to("payments")).port(), payment).status, 201);
  for (const Settings& other : {bound_to("pay"), Settings{}}) {
    const std::string said = start_trouble(other);
    EXPECT_THAT(said, HasSubstr("route payments was caller+route and is gone"));
    EXPECT_THAT(said, HasSubstr("--new-scope-rule"));
  }
  const HttpAnswer replay = post(start(bound_to("payments")).port(), payment);
  EXPECT_EQ(replay.value("Idempotent-Replayed"), "true") << "the refusals changed nothing";
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(ScopeRule, GoingBackIsRefusedTooWhileKeysOfTheTimeBetweenMayLive) {
  EXPECT_EQ(start_trouble(bound_to("payments")), "");
  EXPECT_EQ(start_trouble(accepting(bound_to("pay"))), "");
  EXPECT_EQ(start_trouble(bound_to("pay")), "") << "accepted once is accepted";
  EXPECT_THAT(start_trouble(bound_to("payments")), HasSubstr("route pay was caller+route"));
  EXPECT_EQ(start_trouble(accepting(bound_to("payments"))), "");
}

TEST_P(ScopeRule, WhatARuleMadeBeforeItWasReplacedIsRememberedForARetention) {
  Settings off = bound_to("payments");
  off.rest += "key = \"off\"\n";
  EXPECT_EQ(post(start(bound_to("payments")).port(), payment).status, 201);
  EXPECT_EQ(start_trouble(off), "") << "said plainly";
  EXPECT_THAT(start_trouble(bound_to("pay")), HasSubstr("route payments was caller+route"));
  EXPECT_EQ(post(start(bound_to("payments")).port(), payment).value("Idempotent-Replayed"), "true");
}

TEST_P(ScopeRule, ARouteThatTakesWhatAnotherTookIsRefusedIfThereAreKeys) {
  const Settings bound = bound_to("payments");
  EXPECT_EQ(start_trouble({}), "");
  EXPECT_EQ(start_trouble(bound_to("reports", "POST /reports")), "") << "nothing was made there";
  EXPECT_EQ(post(start(bound_to("reports", "POST /reports")).port(), payment).status, 201);
  Settings both = bound_to("reports", "POST /reports");
  both.rest += bound.rest;
  EXPECT_THAT(start_trouble(both),
              HasSubstr("keys of POST /payments were bound to the caller alone "
                        "and would now be bound to route payments"));
  Settings wider = bound_to("reports", "POST /*");
  EXPECT_THAT(start_trouble(wider), HasSubstr("would now be bound to route reports"));
  EXPECT_EQ(start_trouble(accepting(both)), "");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(ScopeRule, AnApiKeyMayNotBecomeAnotherCallers) {
  const auto named = [](const std::string& scope) {
    return Settings{"", "",
                    "[caller]\nfrom = \"api-key\"\n[[caller.api_key]]\nscope = \"" + scope +
                        "\"\nsha256 = \"" + std::string(64, 'a') + "\"\n"};
  };
  EXPECT_EQ(start_trouble(named("acme")), "");
  EXPECT_THAT(start_trouble(named("acme-inc")), HasSubstr("was acme and is now acme-inc"));
}

PAWL_ON_EVERY_STORE(ScopeRule);

}  // namespace
}  // namespace pawl::e2e
