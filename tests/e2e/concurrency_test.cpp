// Many at once with one key: the upstream hears of one.
#include <map>

#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

class Concurrency : public OnEveryStore {
 protected:
  // Sends the payment once over each connection, all of them before any answer is read.
  std::map<int, int> post_at_once(const std::vector<std::uint16_t>& ports, int requests,
                                  const Post& what) {
    std::list<RawClient> clients;
    const std::string bytes = to_bytes(what);
    const std::string_view most = std::string_view(bytes).substr(0, bytes.size() - 1);
    for (int i = 0; i < requests; ++i) {
      RawClient& client = clients.emplace_back(ports[static_cast<std::size_t>(i) % ports.size()]);
      client.send(most);
    }
    for (RawClient& client : clients) client.send(bytes.substr(bytes.size() - 1));
    std::map<int, int> by_status;
    for (RawClient& client : clients) {
      const HttpAnswer answer = client.read_answer();
      ++by_status[answer.status];
      const bool executed = answer.status == 201;
      EXPECT_EQ(executed ? answer.body : problem_of(answer),
                executed ? R"({"ok":true})" : "in-flight");
    }
    return by_status;
  }
};

TEST_P(Concurrency, TwoHundredIdenticalPostsToOneNode) {
  ServeProcess& gateway = start();
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201).after(gate));
  std::thread releaser([&] {
    upstream.wait_for(1);
    gate->release();
  });
  const std::map<int, int> told = post_at_once({gateway.port()}, 200, payment);
  releaser.join();
  EXPECT_GE(told.at(201), 1);
  EXPECT_EQ(told.at(201) + (told.contains(409) ? told.at(409) : 0), 200);
  EXPECT_EQ(upstream.effects(payment.key), 1U);
  EXPECT_EQ(post(gateway.port(), payment).value("Idempotent-Replayed"), "true");
  EXPECT_EQ(metric(gateway, "pawl_reserve_total{decision=\"created\"}"), 1);
}

TEST_P(Concurrency, TwoHundredIdenticalPostsToThreeNodes) {
  const std::vector<std::uint16_t> ports{start().port(), start().port(), start().port()};
  for (int round = 0; round < 3; ++round) {
    Post one = payment;
    one.key = "the-key-of-round-" + std::to_string(round);
    upstream.behave(Behaviour::answer(201));
    const std::map<int, int> told = post_at_once(ports, 200, one);
    EXPECT_GE(told.at(201), 1);
    EXPECT_EQ(told.at(201) + (told.contains(409) ? told.at(409) : 0), 200);
    EXPECT_EQ(upstream.effects(one.key), 1U);
    for (const std::uint16_t port : ports) {
      EXPECT_EQ(post(port, one).value("Idempotent-Replayed"), "true");
    }
  }
}

TEST_P(Concurrency, ARetryableFailureIsTakenOverByOneOnly) {
  ServeProcess& gateway = start();
  ServeProcess& other = start();
  upstream.behave(Behaviour::answer(500, "{}", {{"Pawl-Outcome", "not-executed"}}));
  EXPECT_EQ(post(gateway.port(), payment).status, 500);
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201).after(gate));
  std::thread releaser([&] {
    upstream.wait_for(2);
    gate->release();
  });
  const std::map<int, int> told = post_at_once({gateway.port(), other.port()}, 100, payment);
  releaser.join();
  EXPECT_GE(told.at(201), 1);
  EXPECT_EQ(told.at(201) + (told.contains(409) ? told.at(409) : 0), 100);
  EXPECT_EQ(upstream.effects(payment.key), 2U);
}

PAWL_ON_EVERY_STORE(Concurrency);

}  // namespace
}  // namespace pawl::e2e
