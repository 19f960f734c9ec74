// Events: signed, sent until they are taken, sometimes twice, sometimes late.
#include <algorithm>
#include <set>

#include "src/core/sha256.hpp"
#include "tests/provider/provider_fixture.hpp"

namespace pawl::testing {
namespace {

class Webhooks : public ProviderTest {
 protected:
  Webhooks() { receiver_.behave(Behaviour::answer(200)); }

  void start_with_webhooks(Flags flags = {}) {
    flags.insert(flags.end(), {"--webhook-url", receiver_.url() + "/hooks?source=p",
                               "--webhook-secret", "s3cret", "--webhook-retry-ms", "10"});
    start(flags);
  }
  bool all_delivered() {
    return until([&] { return at(read("/_webhooks"), "/waiting") == "0"; });
  }
  std::vector<std::string> received(std::string_view pointer) {
    std::vector<std::string> values;
    for (const ReceivedRequest& request : receiver_.requests()) {
      values.push_back(at(request.body, pointer));
    }
    return values;
  }

  UpstreamServer receiver_;
};

TEST_F(Webhooks, TellOfEveryCharge) {
  start_with_webhooks();
  const std::string made = charge("key-1")->body;
  ASSERT_TRUE(all_delivered());
  EXPECT_THAT(received("/type"),
              ::testing::UnorderedElementsAre("charge.pending", "charge.succeeded"));
  EXPECT_THAT(received("/data/object/id"), ::testing::Each(at(made, "/id")));
  EXPECT_THAT(received("/data/object/idempotency_key"), ::testing::Each("key-1"));
  EXPECT_EQ(receiver_.requests().front().target, "/hooks?source=p");
}

TEST_F(Webhooks, TellOfDeclinesAndRefunds) {
  start_with_webhooks();
  faults(R"({"next":["decline","none","none"]})");
  charge("key-1");
  const std::string made = charge("key-2")->body;
  send("/v1/refunds", "key-3", R"({"charge":")" + at(made, "/id") + "\"}");
  ASSERT_TRUE(all_delivered());
  EXPECT_THAT(received("/type"),
              ::testing::UnorderedElementsAre("charge.pending", "charge.failed", "charge.pending",
                                              "charge.succeeded", "charge.refunded"));
}

TEST_F(Webhooks, AreSigned) {
  start_with_webhooks();
  charge("key-1");
  ASSERT_TRUE(all_delivered());
  for (const ReceivedRequest& request : receiver_.requests()) {
    const std::string signature = request.header("Provider-Signature").value_or("");
    const std::size_t comma = signature.find(",v1=");
    ASSERT_NE(comma, std::string::npos) << signature;
    ASSERT_TRUE(signature.starts_with("t="));
    const std::string time = signature.substr(2, comma - 2);
    EXPECT_EQ(signature.substr(comma + 4), hex(hmac_sha256("s3cret", time + "." + request.body)));
  }
}

TEST_F(Webhooks, AreSentUntilTheyAreTaken) {
  start_with_webhooks();
  int refused = 0;
  receiver_.behave([&](const ReceivedRequest&) {
    return ++refused <= 6 ? Behaviour::answer(500) : Behaviour::answer(204, "");
  });
  charge("key-1");
  ASSERT_TRUE(all_delivered());
  EXPECT_EQ(receiver_.count(), 8U);
  const std::vector<std::string> ids = received("/id");
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 2U) << "an event keeps its id";
}

TEST_F(Webhooks, SurviveAKillWhileTheReceiverIsAway) {
  start_with_webhooks();
  receiver_.behave(Behaviour::answer(503));
  charge("key-1");
  receiver_.wait_for(2);
  provider_->kill_hard();
  receiver_.behave(Behaviour::answer(200));
  start();  // where events go is remembered
  ASSERT_TRUE(all_delivered());
  EXPECT_EQ(at(read("/_webhooks"), "/delivered"), "2");
}

TEST_F(Webhooks, AreSometimesSentTwice) {
  start_with_webhooks({"--webhook-duplicate", "1"});
  charge("key-1");
  ASSERT_TRUE(all_delivered());
  const std::vector<std::string> ids = received("/id");
  EXPECT_EQ(ids.size(), 4U);
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 2U);
}

TEST_F(Webhooks, ThatAreLateComeOutOfOrder) {
  start_with_webhooks({"--webhook-delay", "0.5", "--webhook-delay-ms", "300"});
  for (int i = 0; i < 8; ++i) charge("key-" + std::to_string(i));
  ASSERT_TRUE(all_delivered());
  std::vector<std::string> arrived = received("/id");
  EXPECT_EQ(arrived.size(), 16U);
  EXPECT_FALSE(std::is_sorted(arrived.begin(), arrived.end()));
}

TEST_F(Webhooks, GoToAnEndpointThatIsSetLater) {
  start();
  charge("key-1");
  const auto bad = send("/_webhooks", "", R"({"url":"ftp://x","secret":"s"})");
  EXPECT_EQ(bad->status, 400);
  const auto set = send("/_webhooks", "", R"({"url":")" + receiver_.url() + R"(/h","secret":"s"})");
  EXPECT_EQ(set->status, 200) << set->body;
  charge("key-2");
  ASSERT_TRUE(all_delivered());
  EXPECT_THAT(received("/data/object/idempotency_key"), ::testing::Each("key-2"));
}

}  // namespace
}  // namespace pawl::testing
