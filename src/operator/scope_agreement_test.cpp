#include "src/operator/scope_agreement.hpp"

#include <gmock/gmock.h>

#include "src/config/scope_rule.hpp"
#include "src/operator/upkeep_for_tests.hpp"
#include "testing/builders.hpp"
#include "testing/run.hpp"
#include "testing/sim_clock.hpp"

namespace pawl {
namespace {

using ::testing::HasSubstr;

config::Config with_callers(config::CallerFrom from) {
  config::Config config;
  config.caller.from = from;
  return config;
}

config::Config with_route(const std::string& path) {
  config::Config config;
  config::Route route;
  route.method = "POST";
  route.path = path;
  route.match = "POST " + path;
  route.name = "payments";
  route.policy.key_scope = config::KeyScope::caller_route;
  config.routes.push_back(route);
  return config;
}

class ScopeAgreement : public ::testing::Test {
 protected:
  testing::SimClock clock;
  memory::MemoryStore store{[this] { return clock.wall(); }};
  testing::FakeUpkeep upkeep{store};

  Expected<Done, std::string> agree(const config::Config& config, bool accepted = false) {
    return testing::run(agree_on_scopes(config, store, upkeep, accepted));
  }
  std::string rule() { return upkeep.facts[config::scope_rule_fact]; }
};

TEST_F(ScopeAgreement, TheFirstRuleIsRecordedAndTheSameAgrees) {
  const config::Config config = with_callers(config::CallerFrom::api_key);
  ASSERT_TRUE(agree(config));
  EXPECT_EQ(rule(), config::scope_rule(config));
  ASSERT_TRUE(agree(config));
  EXPECT_FALSE(upkeep.facts.contains(config::scope_rule_history_fact));
}

TEST_F(ScopeAgreement, AContradictionIsRefusedUnlessItIsAccepted) {
  const config::Config before = with_callers(config::CallerFrom::single);
  const config::Config after = with_callers(config::CallerFrom::api_key);
  ASSERT_TRUE(agree(before));
  const Expected<Done, std::string> refused = agree(after);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("from was single and is now api-key"));
  EXPECT_THAT(refused.error(), HasSubstr("--new-scope-rule"));
  EXPECT_EQ(rule(), config::scope_rule(before));
  ASSERT_TRUE(agree(after, true));
  EXPECT_EQ(rule(), config::scope_rule(after));
  EXPECT_THAT(upkeep.facts[config::scope_rule_history_fact], HasSubstr("from=single"));
}

TEST_F(ScopeAgreement, KeysThatAreThereTellWhetherARouteMayTakeSomethingElse) {
  ASSERT_TRUE(agree(with_route("/payments")));
  ASSERT_TRUE(agree(with_route("/pay"))) << "no key is lost where there is none";
  ASSERT_TRUE(agree(with_route("/payments")));
  Record record = testing::an_in_progress_record();
  record.scope = Scope{"caller:acme|route:payments"};
  record.method = "POST";
  record.path = "/payments";
  ASSERT_TRUE(testing::run(store.insert_or_read_one(record))->mine);
  const Expected<Done, std::string> refused = agree(with_route("/pay"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("keys of POST /payments were bound to route payments"));
}

TEST_F(ScopeAgreement, WhileServingNoKeyMayMoveEvenWhereThereIsNone) {
  ASSERT_TRUE(agree(with_route("/payments")));
  const auto reload = [&](const config::Config& config) {
    return testing::run(agree_on_reload(config, store, upkeep));
  };
  const Expected<Done, std::string> refused = reload(with_route("/pay"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("before one that binds keys to itself"));
  EXPECT_EQ(rule(), config::scope_rule(with_route("/payments")));

  config::Config longer = with_route("/payments");
  config::Route other = longer.routes.front();
  other.name = other.match = "POST /refunds";
  other.path = "/refunds";
  other.policy.key_scope = config::KeyScope::caller;
  longer.routes.push_back(other);
  EXPECT_TRUE(reload(longer)) << "it takes what nothing bound before, and binds nothing";
  EXPECT_EQ(rule(), config::scope_rule(longer));
  std::swap(longer.routes.front(), longer.routes.back());
  EXPECT_FALSE(reload(longer)) << "the other may take what was bound";
}

TEST_F(ScopeAgreement, WhileServingAContradictionIsRefusedToo) {
  ASSERT_TRUE(agree(with_callers(config::CallerFrom::single)));
  const auto refused =
      testing::run(agree_on_reload(with_callers(config::CallerFrom::api_key), store, upkeep));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("from was single and is now api-key"));
  EXPECT_THAT(refused.error(), HasSubstr("restart"));
}

TEST_F(ScopeAgreement, AStoreThatDoesNotAnswerAgreesToNothing) {
  ASSERT_TRUE(agree(with_route("/payments")));
  for (const char* method : {"fact", "replace_fact", "targets_after"}) {
    upkeep.failing = {method};
    const Expected<Done, std::string> refused = agree(with_route("/pay"));
    ASSERT_FALSE(refused) << method;
    EXPECT_EQ(refused.error(), "store: upkeep is unavailable");
  }
}

TEST_F(ScopeAgreement, ALockThatAnotherHoldsIsWaitedFor) {
  upkeep.locked = 50;
  ASSERT_TRUE(agree(with_route("/payments")));
  upkeep.locked = 50;
  ASSERT_TRUE(agree(with_route("/pay")));
  EXPECT_EQ(rule(), config::scope_rule(with_route("/pay")));
}

TEST_F(ScopeAgreement, ANodeThatWasQuickerIsAgreedWithOrNot) {
  const config::Config other = with_callers(config::CallerFrom::single);
  upkeep.before_replace_fact = [&] {
    upkeep.facts[config::scope_rule_fact] = config::scope_rule(other);
  };
  EXPECT_FALSE(agree(with_callers(config::CallerFrom::api_key)));
  EXPECT_EQ(rule(), config::scope_rule(other));
}

}  // namespace
}  // namespace pawl
