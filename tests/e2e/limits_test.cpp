// Rate limits and caps: new work is refused, replays never are, and nothing is written.
#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

class Limits : public OnEveryStore {
 protected:
  Post numbered(int number) const {
    Post one = payment;
    one.key = "key-number-" + std::to_string(100000 + number);
    return one;
  }
};

TEST_P(Limits, NewKeysPerSecond) {
  // One key in a thousand seconds: the first takes all there is.
  ServeProcess& gateway = start({.policy = "new_keys_per_second = 0.001", .top = "", .rest = ""});
  const HttpAnswer first = post(gateway.port(), payment);
  EXPECT_EQ(first.status, 201);
  const HttpAnswer refused = post(gateway.port(), numbered(1));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(problem_of(refused), "rate-limited");
  EXPECT_EQ(refused.value("Pawl-Should-Retry"), "true");
  EXPECT_NE(refused.value("Retry-After"), "");
  EXPECT_EQ(status_of(gateway, numbered(1).key), "404");
  for (int retry = 0; retry < 5; ++retry) {
    const HttpAnswer again = post(gateway.port(), payment);
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(again.body, first.body);
  }
  Post misuse = payment;
  misuse.body = "{}";
  EXPECT_EQ(post(gateway.port(), misuse).status, 422);
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_P(Limits, NewKeysPerSecondHoldOnAsyncRoutesToo) {
  ServeProcess& gateway =
      start({.policy = "mode = \"async\"\nnew_keys_per_second = 0.001", .top = "", .rest = ""});
  EXPECT_EQ(post(gateway.port(), payment).status, 202);
  const HttpAnswer refused = post(gateway.port(), numbered(1));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(problem_of(refused), "rate-limited");
  EXPECT_EQ(status_of(gateway, numbered(1).key), "404");
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  EXPECT_EQ(post(gateway.port(), payment).status, 201) << "a replay is no new work";
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_P(Limits, AReplayFromTheStoreIsServedToAScopeOverItsLimit) {
  ServeProcess& elsewhere = start();
  const HttpAnswer first = post(elsewhere.port(), payment);
  upstream.behave(Behaviour::answer(429));
  EXPECT_EQ(post(elsewhere.port(), numbered(2)).status, 429);
  upstream.behave(Behaviour::answer(201));
  ServeProcess& gateway =
      start({.policy = "new_keys_per_second = 0.001", .top = "replay_cache = 0", .rest = ""});
  EXPECT_EQ(post(gateway.port(), numbered(1)).status, 201);
  EXPECT_EQ(post(gateway.port(), numbered(3)).status, 429);
  for (int retry = 0; retry < 3; ++retry) {
    const HttpAnswer again = post(gateway.port(), payment);
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(again.body, first.body);
    EXPECT_EQ(again.value("Idempotent-Replayed"), "true");
  }
  // A retry that would be executed is new work: refused, and its record stays as it is.
  EXPECT_EQ(post(gateway.port(), numbered(2)).status, 429);
  EXPECT_EQ(status_of(gateway, numbered(2).key), "failed_retryable");
  EXPECT_EQ(upstream.count(), 3U);
}

TEST_P(Limits, ReplaysDoNotUseUpTheRate) {
  ServeProcess& elsewhere = start();
  post(elsewhere.port(), payment);
  ServeProcess& gateway =
      start({.policy = "new_keys_per_second = 0.001", .top = "replay_cache = 0", .rest = ""});
  for (int retry = 0; retry < 3; ++retry) {
    EXPECT_EQ(post(gateway.port(), payment).value("Idempotent-Replayed"), "true");
  }
  EXPECT_EQ(post(gateway.port(), numbered(1)).status, 201);
  EXPECT_EQ(post(gateway.port(), numbered(2)).status, 429);
}

TEST_P(Limits, ActiveKeys) {
  ServeProcess& gateway = start({.policy = "active_keys = 2", .top = "", .rest = ""});
  const HttpAnswer before = post(gateway.port(), payment);
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201).after(gate));
  RawClient one(gateway.port());
  RawClient two(gateway.port());
  one.send(to_bytes(numbered(1)));
  two.send(to_bytes(numbered(2)));
  upstream.wait_for(3);
  const HttpAnswer refused = post(gateway.port(), numbered(3));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(problem_of(refused), "too-many-keys");
  EXPECT_EQ(status_of(gateway, numbered(3).key), "404");
  EXPECT_EQ(post(gateway.port(), payment).body, before.body);
  EXPECT_EQ(problem_of(post(gateway.port(), numbered(1))), "in-flight");
  gate->release();
  EXPECT_EQ(one.read_answer().status, 201);
  EXPECT_EQ(two.read_answer().status, 201);
  EXPECT_EQ(post(gateway.port(), numbered(3)).status, 201);
  EXPECT_EQ(upstream.count(), 4U);
}

TEST_P(Limits, ActiveKeysAreThoseOfAllNodes) {
  const Settings two{.policy = "active_keys = 2", .top = "", .rest = ""};
  ServeProcess& here = start(two);
  ServeProcess& there = start(two);
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201).after(gate));
  RawClient one(here.port());
  RawClient two_(here.port());
  one.send(to_bytes(numbered(1)));
  two_.send(to_bytes(numbered(2)));
  upstream.wait_for(2);
  EXPECT_EQ(problem_of(post(there.port(), numbered(3))), "too-many-keys");
  EXPECT_EQ(problem_of(post(there.port(), numbered(1))), "in-flight") << "no new work";
  gate->release();
  EXPECT_EQ(one.read_answer().status, 201);
  EXPECT_EQ(two_.read_answer().status, 201);
  EXPECT_TRUE(until([&] { return post(there.port(), numbered(3)).status == 201; }));
  EXPECT_EQ(upstream.count(), 3U);
}

TEST_P(Limits, ActiveKeysCountWhatWaitsForAWorker) {
  upstream.stop();
  const Settings two{.policy = "mode = \"async\"\nactive_keys = 2", .top = "", .rest = ""};
  ServeProcess& here = start(two);
  EXPECT_EQ(post(here.port(), numbered(1)).status, 202);
  EXPECT_EQ(post(here.port(), numbered(2)).status, 202);
  EXPECT_EQ(problem_of(post(here.port(), numbered(3))), "too-many-keys");
  EXPECT_EQ(post(here.port(), numbered(1)).status, 202) << "a duplicate is told as ever";
  ServeProcess& there = start(two);
  EXPECT_EQ(problem_of(post(there.port(), numbered(3))), "too-many-keys");
  EXPECT_EQ(status_of(there, numbered(3).key), "404");
}

TEST_P(Limits, ActiveKeysCountWhatIsUnknownAndNotWhatHasFailed) {
  ServeProcess& gateway = start({.policy = "active_keys = 1", .top = "", .rest = ""});
  upstream.behave(Behaviour::answer(429));
  EXPECT_EQ(post(gateway.port(), numbered(1)).status, 429) << "the upstream's own";
  EXPECT_EQ(status_of(gateway, numbered(1).key), "failed_retryable");
  upstream.behave(Behaviour::reset());
  EXPECT_EQ(post(gateway.port(), numbered(2)).status, 502);
  EXPECT_EQ(status_of(gateway, numbered(2).key), "unknown");
  upstream.behave(Behaviour::answer(201));
  const HttpAnswer refused = post(gateway.port(), payment);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(problem_of(refused), "too-many-keys");
  EXPECT_EQ(problem_of(post(gateway.port(), numbered(2))), "outcome-unknown");
  EXPECT_EQ(upstream.count(), 2U);
}

TEST_P(Limits, LookupsPerSecond) {
  ServeProcess& gateway = start({.policy = "lookups_per_second = 0.001", .top = "", .rest = ""});
  post(gateway.port(), payment);
  EXPECT_EQ(status_of(gateway, payment.key), "completed");
  const HttpAnswer refused = get(gateway.port(), "/_pawl/v1/keys/" + payment.key);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(problem_of(refused), "rate-limited");
  EXPECT_EQ(post(gateway.port(), payment).value("Idempotent-Replayed"), "true");
  EXPECT_EQ(post(gateway.port(), numbered(1)).status, 201);
}

TEST_P(Limits, AnotherRoutesNameIsNoWayAroundTheLookups) {
  ServeProcess& gateway = start({.policy = "lookups_per_second = 0.001",
                                 .top = "",
                                 .rest = "[[route]]\nmatch = \"POST /loose\"\nname = \"loose\"\n"
                                         "lookups_per_second = \"off\"\n"});
  post(gateway.port(), payment);
  EXPECT_EQ(status_of(gateway, payment.key), "completed");
  EXPECT_EQ(get(gateway.port(), "/_pawl/v1/keys/" + payment.key + "?route=loose").status, 429);
}

PAWL_ON_EVERY_STORE(Limits);

}  // namespace
}  // namespace pawl::e2e
