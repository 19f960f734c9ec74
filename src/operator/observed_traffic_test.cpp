#include "src/operator/observed_traffic.hpp"

#include <gtest/gtest.h>

#include "testing/run.hpp"

namespace pawl {
namespace {

class FakeObservations final : public ObservationStore {
 public:
  bool fails = false;
  Summary kept;

  Task<StoreResult<Done>> apply(std::vector<ObservedKey>, Transition) override { co_return Done{}; }
  Task<StoreResult<std::size_t>> reap(Duration) override { co_return std::size_t{0}; }
  Task<StoreResult<Summary>> summary(Duration) override {
    if (fails) co_return Unexpected{StoreError::unavailable};
    co_return kept;
  }
  [[nodiscard]] std::string trouble() const override { return "there is no file"; }
};

TEST(ObservedTraffic, IsOfOneRouteWhereThatIsAsked) {
  FakeObservations observations;
  Tally tally;
  for (const char* route : {"refunds", "payments", "payments"}) {
    tally.route = route;
    observations.kept.tallies.push_back(tally);
  }
  const auto ask = [&](std::optional<std::string> route) {
    const ObservedQuestion question{std::chrono::hours(24), std::move(route)};
    return testing::run(observed_traffic(observations, question));
  };
  EXPECT_EQ(ask(std::nullopt)->tallies.size(), 3U);
  EXPECT_EQ(ask("payments")->tallies.size(), 2U);
  const auto none = ask("paymens");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(),
            (Refusal{Refusal::Kind::refused,
                     "nothing was observed on route \"paymens\" in that time; observed routes: "
                     "\"payments\", \"refunds\""}));
  observations.fails = true;
  EXPECT_EQ(ask(std::nullopt).error().sentence, "there is no file");
}

}  // namespace
}  // namespace pawl
