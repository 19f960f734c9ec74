#include "src/config/attempt_terms.hpp"

#include <gtest/gtest.h>

namespace pawl::config {
namespace {

Source source_asked_at(const std::string& name, const std::string& target) {
  Source source;
  source.name = name;
  source.url = "http://127.0.0.1:9" + target;
  source.target = reconcile::parse_template(target, false).value();
  return source;
}

TEST(AttemptTerms, AnAttemptKnowsWhichKeyIsSentAndWhoCanSayWhatBecameOfIt) {
  Config config;
  config.sources = {source_asked_at("bank", "/charges?by={key}"),
                    source_asked_at("books", "/charges?by={derived_key}")};
  config.policy.reconcile = "bank";
  Route route;
  route.policy.forward_key = ForwardKey::derived;
  route.policy.reconcile = "books";
  config.routes.push_back(route);
  config.routes.emplace_back();
  config.key_api.policy.reconcile = "bank";
  const Config with = with_attempt_terms(config);
  EXPECT_EQ(with.policy.sent_key, ForwardKey::same);
  EXPECT_EQ(with.policy.source, "bank");
  EXPECT_EQ(with.routes[0].policy.sent_key, ForwardKey::derived);
  EXPECT_EQ(with.routes[0].policy.source, "books by derived key");
  EXPECT_EQ(with.routes[1].policy.source, "") << "it names none";
  EXPECT_EQ(with.key_api.policy.sent_key, std::nullopt) << "its callers send by themselves";
  EXPECT_EQ(with.key_api.policy.source, "bank");
}

TEST(AttemptTerms, ASourceThatIsAskedByNeitherKeyFitsBoth) {
  EXPECT_EQ(asked_by(source_asked_at("bank", "/charges/{resource_id}")), std::nullopt);
  EXPECT_EQ(asked_by(source_asked_at("bank", "/{key}/{derived_key}")), std::nullopt);
  EXPECT_EQ(asked_as(source_asked_at("bank", "/charges/{resource_id}")), "bank");
}

}  // namespace
}  // namespace pawl::config
