#include "src/operator/known_retention.hpp"

#include <gtest/gtest.h>

#include "src/config/scope_rule.hpp"
#include "src/operator/ports_for_tests.hpp"

namespace pawl {
namespace {

using std::chrono::hours;

std::optional<Duration> known(testing::OperatorWorld& world) {
  return *testing::run(retention_known_to(world.upkeep, world.clock.wall()));
}

TEST(KnownRetention, IsTheLongestThatAnythingSays) {
  testing::OperatorWorld world;
  EXPECT_EQ(known(world), std::nullopt);
  config::Config config;
  config.policy.retention = hours(72);
  world.upkeep.facts[config::scope_rule_fact] = config::scope_rule(config);
  EXPECT_EQ(known(world), hours(72));
  StoredPolicy policy;
  policy.retention = hours(100);
  policy.expired = WhenExpired::tombstone;
  policy.tombstone_for = hours(50);
  world.upkeep.policies = {"not a policy", encode(policy)};
  EXPECT_EQ(known(world), hours(150));
  const auto now = std::chrono::floor<std::chrono::seconds>(world.clock.wall().time_since_epoch());
  world.upkeep.facts[config::scope_rule_history_fact] =
      std::to_string((now + hours(200)).count()) + " from=single\n";
  EXPECT_EQ(known(world), hours(200));
}

TEST(KnownRetention, OfAConfigurationIsThatOfItsLongestRoute) {
  config::Config config;
  config.policy.retention = hours(24);
  config::Route route;
  route.policy.retention = hours(500);
  config.routes.push_back(route);
  EXPECT_GE(retention_in(config), hours(500));
}

TEST(KnownRetention, IsNotGuessedWhereSomePoliciesCouldNotBeRead) {
  testing::OperatorWorld world;
  world.upkeep.policies = {encode(StoredPolicy{}), encode(StoredPolicy{}), encode(StoredPolicy{})};
  world.upkeep.readable_policies = 2;
  EXPECT_FALSE(testing::run(retention_known_to(world.upkeep, world.clock.wall())));
}

TEST(KnownRetention, IsNotGuessedWhereTheStoreDoesNotAnswer) {
  testing::OperatorWorld world;
  world.upkeep.failing = {"fact"};
  const auto answer = testing::run(retention_known_to(world.upkeep, world.clock.wall()));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().sentence, "upkeep is unavailable");
}

}  // namespace
}  // namespace pawl
