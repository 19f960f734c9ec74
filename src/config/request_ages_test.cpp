#include "src/config/request_ages.hpp"

#include <gtest/gtest.h>

namespace pawl::config {
namespace {

using namespace std::chrono_literals;

const Instant then{std::chrono::seconds(1'700'000'000)};

Route aged(const std::string& name, std::optional<Duration> age, Duration retention = 48h) {
  Route route;
  route.method = "POST";
  route.path = "/" + name;
  route.name = name;
  route.policy.max_request_age = age;
  route.policy.retention = retention;
  return route;
}

std::string ages_of(std::vector<Route> routes) {
  Config config;
  config.routes = std::move(routes);
  return request_ages(config);
}

Duration allowed(const std::string& history, const std::string& route, Instant made,
                 Duration today) {
  return age_allowed(read_earlier_ages(history), route, made, today);
}

// Its key lived for 10 minutes and is gone; the request was captured.
TEST(RequestAges, ALongerOneIsNotForRequestsOfBefore) {
  const std::string before = ages_of({aged("pay", 5min, 10min)});
  const std::string after = ages_of({aged("pay", 24h)});
  const std::string history = ages_after("", before, after, then);
  EXPECT_EQ(allowed(history, "pay", then - 2h, 24h), 5min);
  EXPECT_EQ(allowed(history, "pay", then, 24h), 5min);
  EXPECT_EQ(allowed(history, "pay", then + 1h + 5min, 24h), 5min)
      << "another node may have taken it, dated ahead, by the earlier rule";
  EXPECT_EQ(allowed(history, "pay", then + 1h + 6min, 24h), 24h);
  EXPECT_EQ(allowed(history, "refund", then - 2h, 24h), 24h) << "of another route";
  EXPECT_EQ(allowed(history, "pay", then - 2h, 1min), 1min) << "never more than today's";
}

TEST(RequestAges, ARouteMayBeNamedByItsMatch) {
  const std::string before = ages_of({aged("POST /pay", 5min)});
  const std::string history = ages_after("", before, ages_of({aged("POST /pay", 24h)}), then);
  EXPECT_EQ(allowed(history, "POST /pay", then, 24h), 5min);
}

TEST(RequestAges, AShorterOneChangesNothingAndTheLongerOneComesBackForNewRequestsAlone) {
  const std::string longer = ages_of({aged("pay", 24h)});
  const std::string shorter = ages_of({aged("pay", 5min)});
  const std::string first = ages_after("", longer, shorter, then);
  EXPECT_EQ(first, "");
  const std::string back = ages_after(first, shorter, longer, then + 1h);
  EXPECT_EQ(allowed(back, "pay", then, 24h), 5min);
}

TEST(RequestAges, ARouteWithoutALimitHadThatOfItsKeysLife) {
  const std::string none = ages_of({aged("pay", std::nullopt, 1h)});
  const std::string limited = ages_of({aged("pay", 24h)});
  EXPECT_EQ(allowed(ages_after("", none, limited, then), "pay", then, 24h), 30min);
  // Nor by way of a time without a limit.
  const std::string short_one = ages_of({aged("pay", 5min)});
  const std::string without = ages_of({aged("pay", std::nullopt, 48h)});
  const std::string history = ages_after("", short_one, without, then);
  EXPECT_EQ(allowed(ages_after(history, without, limited, then + 1min), "pay", then, 24h), 5min);
}

TEST(RequestAges, ARequestMayHaveBeenOfAnyRouteBehindTheFirstThatDiffers) {
  const std::string before = ages_of({aged("pay", 5min), aged("refund", 24h)});
  const std::string renamed = ages_of({aged("charge", 24h), aged("refund", 24h)});
  const std::string history = ages_after("", before, renamed, then);
  EXPECT_EQ(allowed(history, "charge", then, 24h), 5min);
  EXPECT_EQ(allowed(history, "refund", then, 24h), 5min) << "it may have been taken by pay";
  EXPECT_EQ(allowed(history, "default", then, 24h), 5min);
  const std::string more = ages_of({aged("pay", 5min), aged("new", 24h), aged("refund", 24h)});
  const std::string added = ages_after("", before, more, then);
  EXPECT_EQ(added, "") << "pay is the same, and all behind it allowed as much";
  // What holds for a route holds for what takes its place.
  const std::string again = ages_of({aged("other", 24h)});
  EXPECT_EQ(allowed(ages_after(history, renamed, again, then), "other", then, 24h), 5min);
}

TEST(RequestAges, OfARouteThatMakesNoKeysNothingIsRemembered) {
  Route off = aged("pay", std::nullopt, 1min);
  off.policy.key = KeyRequirement::off;
  EXPECT_EQ(ages_after("", ages_of({off}), ages_of({aged("pay", 24h)}), then), "");
}

TEST(RequestAges, WhatIsTooOldByNowIsForgotten) {
  const std::string before = ages_of({aged("pay", 5min)});
  const std::string after = ages_of({aged("pay", 24h)});
  const std::string history = ages_after("", before, after, then);
  EXPECT_EQ(ages_after(history, after, after, then + 24h), history);
  EXPECT_EQ(ages_after(history, after, after, then + 26h), "");
}

}  // namespace
}  // namespace pawl::config
