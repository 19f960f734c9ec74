#include "src/operator/age_agreement.hpp"

#include <gtest/gtest.h>

#include "src/operator/upkeep_for_tests.hpp"
#include "testing/builders.hpp"
#include "testing/run.hpp"
#include "testing/sim_clock.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;

config::Config allowing(Duration age) {
  config::Config config;
  config.policy.max_request_age = age;
  return config;
}

class AgeAgreement : public ::testing::Test {
 protected:
  Duration agreed(const config::Config& config, Instant made) {
    const auto earlier = testing::run(agree_on_ages(config, store, upkeep));
    EXPECT_TRUE(earlier);
    return config::age_allowed(*earlier, "default", made, *config.policy.max_request_age);
  }
  testing::SimClock clock;
  memory::MemoryStore store{[this] { return clock.wall(); }};
  testing::FakeUpkeep upkeep{store};
};

TEST_F(AgeAgreement, ALongerAgeIsRememberedAcrossRestartsByTheStoresClock) {
  const Instant captured = clock.wall();
  EXPECT_EQ(agreed(allowing(5min), captured), 5min);
  EXPECT_FALSE(upkeep.facts.contains(config::request_ages_history_fact));
  clock.advance(2h);
  EXPECT_EQ(agreed(allowing(24h), captured), 5min);
  EXPECT_EQ(agreed(allowing(24h), captured), 5min) << "the next node, or the same again";
  EXPECT_EQ(agreed(allowing(24h), clock.wall() + 2h), 24h);
}

}  // namespace
}  // namespace pawl
