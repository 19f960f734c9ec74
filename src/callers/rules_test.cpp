// Callers that are known without asking anybody.
#include <gmock/gmock.h>

#include "src/callers/callers.hpp"
#include "src/callers/world_for_tests.hpp"
#include "src/core/sha256.hpp"
#include "tests/support/signing_key.hpp"

namespace pawl::callers {
namespace {

class Rules : public ::testing::Test {
 protected:
  std::string told_of(http::Fields fields, const std::string& address = "127.0.0.1") {
    Callers callers(config, log);
    const SentRequest request(std::move(fields), address);
    const std::optional<Identified> known = callers.identify(request.view(), BootTime{});
    return known ? told(*known) : "asks";
  }
  config::Caller config;
  QuietLog log;
};

TEST_F(Rules, OfOneTenant) {
  EXPECT_EQ(told_of({}), "default");
  EXPECT_FALSE(Callers(config, log).chosen());
  config.from = config::CallerFrom::single;
  EXPECT_EQ(told_of({}), "default");
  EXPECT_TRUE(Callers(config, log).chosen());
}

TEST_F(Rules, OfApiKeys) {
  config.from = config::CallerFrom::api_key;
  config.api_keys = {{"acme", hex(sha256("key-1"))},
                     {"acme", hex(sha256("key-2"))},
                     {"globex", hex(sha256("key-3"))}};
  EXPECT_EQ(told_of({{"Authorization", "Bearer key-1"}}), "acme");
  EXPECT_EQ(told_of({{"authorization", "key-2"}}), "acme") << "several keys may share a scope";
  EXPECT_EQ(told_of({{"Authorization", "bearer key-3"}}), "globex");
  const std::string digest = hex(sha256("key-1"));
  for (const http::Fields& fields :
       {http::Fields{}, http::Fields{{"Authorization", ""}}, http::Fields{{"Authorization", "key"}},
        http::Fields{{"Authorization", digest}}, http::Fields{{"X-Api-Key", "key-1"}}}) {
    EXPECT_EQ(told_of(fields), "401");
  }
  config.api_keys.push_back({"all", hex(sha256(""))});
  EXPECT_EQ(told_of({{"Authorization", ""}}), "401") << "nothing is no key";
  EXPECT_EQ(told_of({{"Authorization", "Bearer "}}), "401");
  EXPECT_THAT(told_of({{"Authorization", "key-1"}, {"Authorization", "key-3"}}),
              ::testing::StartsWith("400"));
}

TEST_F(Rules, SayHowToBeKnown) {
  config.from = config::CallerFrom::api_key;
  const auto challenge = [&] {
    Callers callers(config, log);
    const SentRequest request({});
    const std::optional<Identified> known = callers.identify(request.view(), BootTime{});
    const Response answer = render_problem(known.value().error(), {});
    return std::string(find_header(answer.headers, "WWW-Authenticate").value_or("(none)"));
  };
  EXPECT_EQ(challenge(), "Bearer realm=\"pawl\"");
  config.header = "X-Api-Key";
  EXPECT_EQ(challenge(), "ApiKey realm=\"pawl\", header=\"X-Api-Key\"");
}

TEST_F(Rules, OfAHeaderThatATrustedProxySets) {
  config.from = config::CallerFrom::header;
  config.header = "X-Tenant";
  config.trusted = {"10.0.0.0/8", "::1"};
  const http::Fields acme{{"X-Tenant", "acme"}};
  EXPECT_EQ(told_of(acme, "10.1.2.3"), "acme");
  EXPECT_EQ(told_of(acme, "::ffff:10.1.2.3"), "acme");
  EXPECT_EQ(told_of(acme, "::1"), "acme");
  for (const char* elsewhere : {"127.0.0.1", "11.0.0.1", "::2", ""}) {
    EXPECT_EQ(told_of(acme, elsewhere), "401 Requests are taken from trusted proxies alone.");
    EXPECT_EQ(Callers(config, log).forbidden_header(elsewhere), "X-Tenant");
  }
  EXPECT_EQ(Callers(config, log).forbidden_header("10.1.2.3"), "");
  EXPECT_EQ(Callers(config, log).naming_header(), "X-Tenant") << "from anywhere";
  const std::string unnamed = "401 The proxy has not named the caller in X-Tenant.";
  EXPECT_EQ(told_of({}, "10.1.2.3"), unnamed);
  EXPECT_EQ(told_of({{"X-Tenant", ""}}, "10.1.2.3"), unnamed);
  const std::string long_name(name_bytes_max + 1, 'a');
  EXPECT_EQ(told_of({{"X-Tenant", long_name}}, "10.1.2.3"), unnamed);
  EXPECT_THAT(told_of({{"X-Tenant", "a"}, {"X_Tenant", "b"}}, "10.1.2.3"),
              ::testing::StartsWith("400"));
}

// A reload while the endpoint cannot be reached must not shut everybody out.
TEST_F(Rules, WhatWasLearntFromAnEndpointOutlivesAReload) {
  config.from = config::CallerFrom::subrequest;
  config.url = "http://127.0.0.1:4000/who";
  config.scope_header = "X-Org";
  ScriptedEndpoints endpoints;
  endpoints.answer = Response{200, {{"X-Org", "acme"}}, ""};
  const SentRequest request(http::Fields{{"Authorization", "Bearer ann"}});
  const auto known_to = [&](Callers& callers) {
    const std::optional<Identified> known = callers.identify(request.view(), endpoints.time.now());
    return known ? told(*known) : "asks";
  };
  Callers first(config, log);
  EXPECT_EQ(told(testing::run(first.ask(request.view(), endpoints))), "acme");
  Callers second(config, log, &first);
  EXPECT_EQ(known_to(second), "acme");
  config.scope_header = "X-Tenant";
  Callers third(config, log, &second);
  EXPECT_EQ(known_to(third), "asks") << "it may mean another one now";
}

TEST_F(Rules, FetchedKeysOutliveAReload) {
  const testing::SigningKey key = testing::SigningKey::ed25519();
  config.from = config::CallerFrom::jwt;
  config.jwks_url = "https://id.example/keys";
  ScriptedEndpoints endpoints;
  endpoints.answer = Response{200, {}, key.jwks("1")};
  const std::string token =
      "Bearer " + key.token("EdDSA", R"({"sub":"acme","exp":99999999999})", R"(,"kid":"1")");
  const SentRequest request(http::Fields{{"Authorization", token}});
  const auto told_by = [&](Callers& callers) {
    const std::optional<Identified> known = callers.identify(request.view(), endpoints.time.now());
    return told(known ? *known : testing::run(callers.ask(request.view(), endpoints)));
  };
  Callers first(config, log);
  EXPECT_EQ(told_by(first), "acme");
  endpoints.answer.reset();
  config.leeway = std::chrono::seconds(5);
  Callers second(config, log, &first);
  EXPECT_EQ(told_by(second), "acme") << "though they cannot be fetched now";
  EXPECT_EQ(endpoints.asked.size(), 2U) << "which was tried: a reload is a reason to";
  config.jwks_url = "https://other.example/keys";
  Callers third(config, log, &second);
  EXPECT_EQ(told_by(third).substr(0, 3), "503");
}

}  // namespace
}  // namespace pawl::callers
