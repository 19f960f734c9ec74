// Limits per scope on several nodes, and what one caller's flood is to another.
#include "src/core/sha256.hpp"
#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

class SharedLimits : public OnEveryStore {
 protected:
  static std::string two_callers() {
    std::string text = "[caller]\nfrom = \"api-key\"\nheader = \"X-Api-Key\"\n";
    for (const char* name : {"honest", "sprayer"}) {
      text += std::string("[[caller.api_key]]\nscope = \"") + name + "\"\nsha256 = \"" +
              hex(sha256(name)) + "\"\n";
    }
    return text;
  }
  Post by(const std::string& caller, int number) const {
    Post one = payment;
    one.key = "key-number-" + std::to_string(100000 + number);
    one.headers.emplace_back("X-Api-Key", caller);
    return one;
  }
};

TEST_P(SharedLimits, AnHonestCallerIsServedWhileAnotherSpraysKeys) {
  const Settings settings{
      .policy = "new_keys_per_second = 0.01\nactive_keys = 5", .top = "", .rest = two_callers()};
  ServeProcess& here = start(settings);
  ServeProcess& there = start(settings);
  int refused = 0;
  for (int i = 0; i < 50; ++i) {
    const HttpAnswer answer = post((i % 2 == 0 ? here : there).port(), by("sprayer", i));
    if (answer.status == 429) ++refused;
  }
  EXPECT_GE(refused, 48) << "each of two nodes grants one at once";
  const HttpAnswer first = post(here.port(), by("honest", 1));
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(post(there.port(), by("honest", 1)).body, first.body);
  EXPECT_EQ(post(there.port(), by("honest", 2)).status, 201);
}

TEST_P(SharedLimits, ARefusalSaysHowTheScopeStands) {
  ServeProcess& gateway =
      start({.policy = "new_keys_per_second = 0.1", .top = "", .rest = two_callers()});
  const HttpAnswer granted = post(gateway.port(), by("honest", 1));
  EXPECT_EQ(granted.value("RateLimit-Policy"), "\"new-keys\";q=1;w=10");
  EXPECT_EQ(granted.value("RateLimit").substr(0, 14), "\"new-keys\";r=0");
  const HttpAnswer refused = post(gateway.port(), by("honest", 2));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.value("RateLimit-Policy"), "\"new-keys\";q=1;w=10");
  EXPECT_EQ(refused.value("RateLimit"), "\"new-keys\";r=0;t=" + refused.value("Retry-After"));
  const HttpAnswer replay = post(gateway.port(), by("honest", 1));
  EXPECT_EQ(replay.value("Idempotent-Replayed"), "true");
  EXPECT_EQ(replay.value("RateLimit"), "") << "a replay uses nothing up";
}

TEST_P(SharedLimits, ANodeGrantsItsShareAmongThoseThatServe) {
  const Settings settings{.policy = "new_keys_per_second = 20", .top = "", .rest = two_callers()};
  ServeProcess& here = start(settings);
  EXPECT_EQ(post(here.port(), by("honest", 1)).value("RateLimit"), "\"new-keys\";r=19");
  ServeProcess& there = start(settings);
  EXPECT_EQ(post(there.port(), by("honest", 2)).value("RateLimit"), "\"new-keys\";r=18")
      << "nine of its ten, and as many of the other's";
}

PAWL_ON_EVERY_STORE(SharedLimits);

}  // namespace
}  // namespace pawl::e2e
