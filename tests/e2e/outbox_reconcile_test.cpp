// Calls of the outbox that may have happened: their destination's source says what became of them.
#include <atomic>
#include <fstream>

#include "src/core/sha256.hpp"
#include "tests/e2e/outbox_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;

class OutboxReconcile : public OutboxTest {
 protected:
  // It charges, and hangs up.
  OutboxReconcile() {
    provider.behave([this](const ReceivedRequest& request) {
      charge(ledger, request, false);
      return Behaviour::hang_up();
    });
  }

  std::string careless() const {
    return destination("timeout = \"500ms\"\ndedupes = false\nreconcile = \"bank\"\n");
  }
  std::string source(const std::string& lines = "") const {
    return "[[source]]\nname = \"bank\"\nurl = \"" + bank.url() +
           "/v1/charges?key={derived_key}\"\ntimeout = \"1s\"\nvisibility_window = \"0s\"\n"
           "backoff = \"50ms\"\nbackoff_max = \"100ms\"\n" +
           lines +
           "[[source.rule]]\nstatus = 200\nwhere = { \"/status\" = \"succeeded\" }\n"
           "then = \"completed\"\n"
           "[[source.rule]]\nstatus = 200\nwhere = { \"/status\" = \"declined\" }\n"
           "then = \"declined\"\nresponse_status = 200\n"
           "[[source.rule]]\nstatus = 404\nthen = \"absent\"\n";
  }

  UpstreamServer bank;
};

TEST_P(OutboxReconcile, WhatHappenedIsDoneUnderTheProvidersId) {
  bank.behave(Behaviour::answer(200, R"({"status":"succeeded","id":"ch_1"})"));
  ServeProcess& worker = start_worker(careless() + source());
  enqueue(1);
  ASSERT_TRUE(becomes(1, "done"));
  EXPECT_EQ(column(1, "provider_id"), "ch_1");
  EXPECT_EQ(provider.count(), 1U);
  EXPECT_EQ(bank.requests().front().target, "/v1/charges?key=" + key_of(1));
  EXPECT_EQ(metric(worker, "pawl_reconcile_total{result=\"completed\"}"), 1);
  EXPECT_EQ(sql("SELECT actor FROM pawl.audit WHERE outbox_id = '" + id_of(1) + "'"), "reconciler");
  EXPECT_THAT(sql("SELECT reason FROM pawl.audit WHERE outbox_id = '" + id_of(1) + "'"),
              HasSubstr("bank: asked, it answered 200"));
}

TEST_P(OutboxReconcile, WhatWasNeverSeenIsSentAgainOnce) {
  bank.behave(Behaviour::answer(404, "{}"));
  std::atomic<int> calls = 0;
  provider.behave([&](const ReceivedRequest& request) {
    return ++calls == 1 ? Behaviour::hang_up() : charge(ledger, request, false);
  });
  start_worker(careless() + source("absent_confirmations = 2\n"));
  enqueue(1);
  ASSERT_TRUE(becomes(1, "done"));
  EXPECT_GE(bank.count(), 2U);
  EXPECT_EQ(provider.count(), 2U);
  EXPECT_EQ(ledger.effects(key_of(1)), 1);
}

TEST_P(OutboxReconcile, WhatIsNotVisibleYetIsNotSentAgain) {
  bank.behave(Behaviour::answer(404, "{}"));
  std::string hour = source("absent_confirmations = 1\n");
  const std::string none = "visibility_window = \"0s\"";
  hour.replace(hour.find(none), none.size(), "visibility_window = \"1h\"");
  start_worker(careless() + hour);
  enqueue(1);
  bank.wait_for(4);
  EXPECT_EQ(status(1), "unknown");
  EXPECT_EQ(provider.count(), 1U);
  bank.behave(Behaviour::answer(200, R"({"status":"succeeded","id":"ch_1"})"));
  ASSERT_TRUE(becomes(1, "done"));
  EXPECT_EQ(ledger.effects(key_of(1)), 1);
}

TEST_P(OutboxReconcile, ARefusalIsADeadLetter) {
  bank.behave(Behaviour::answer(200, R"({"status":"declined"})"));
  start_worker(careless() + source());
  enqueue(1);
  ASSERT_TRUE(becomes(1, "dead"));
  EXPECT_THAT(column(1, "last_error"), HasSubstr("refused: 200"));
  EXPECT_EQ(provider.count(), 1U);
}

TEST_P(OutboxReconcile, ASourceInTroubleProvesNothing) {
  bank.behave(Behaviour::answer(500));
  start_worker(careless() + source("max_attempts = 2\n"));
  enqueue(1);
  bank.wait_for(5);
  EXPECT_EQ(status(1), "unknown");
  EXPECT_EQ(provider.count(), 1U);
  EXPECT_THAT(outbox({"show", id_of(1)}).out, HasSubstr("answered 500"));
}

TEST_P(OutboxReconcile, ASourceThatKeepsSilentHoldsUpNoOther) {
  UpstreamServer silent;
  silent.behave(Behaviour::hang());
  bank.behave(Behaviour::answer(200, R"({"status":"succeeded","id":"ch_1"})"));
  std::string slow = destination("timeout = \"500ms\"\ndedupes = false\nreconcile = \"silent\"\n") +
                     "[[source]]\nname = \"silent\"\nurl = \"" + silent.url() +
                     "/v1/charges?key={derived_key}\"\ntimeout = \"300s\"\n"
                     "[[source.rule]]\nstatus = 200\nthen = \"completed\"\n";
  slow.replace(slow.find("\"provider\""), 10, "\"slow\"");
  start_worker(slow + careless() + source());
  enqueue(1, "slow");
  silent.wait_for(1);  // it is being asked from here on
  enqueue(2);
  EXPECT_TRUE(becomes(2, "done"));
  EXPECT_EQ(status(1), "unknown");
}

TEST_P(OutboxReconcile, AnEventOfItsSourceIsEnough) {
  std::ofstream(folder() / "whsec") << "whsec_0123456789abcdef\n";
  const std::string tells =
      "[[source]]\nname = \"bank\"\nbackoff = \"50ms\"\nbackoff_max = \"100ms\"\n"
      "[source.webhook]\nsecret_files = [\"" +
      (folder() / "whsec").string() +
      "\"]\nevent_id = \"/id\"\nderived_key = \"/key\"\n"
      "[[source.webhook.rule]]\nwhere = { \"/type\" = \"paid\" }\nthen = \"completed\"\n"
      "[[source.webhook.rule]]\nwhere = { \"/type\" = \"declined\" }\nthen = \"declined\"\n"
      "response_status = 200\n";
  ServeProcess& gateway =
      start({.policy = "", .top = "sweep_interval = \"100ms\"", .rest = careless() + tells});
  const auto tell = [&](const std::string& type, int row) {
    const std::string body =
        R"({"id":"ch_9","type":")" + type + R"(","key":")" + key_of(row) + R"("})";
    const std::string t = std::to_string(std::chrono::duration_cast<std::chrono::seconds>(
                                             std::chrono::system_clock::now().time_since_epoch())
                                             .count());
    Post told;
    told.path = "/_pawl/v1/webhooks/bank";
    told.body = body;
    told.headers = {
        {"Content-Type", "application/json"},
        {"Stripe-Signature",
         "t=" + t + ",v1=" + hex(hmac_sha256("whsec_0123456789abcdef", t + "." + body))}};
    return post(gateway.port(), told).status;
  };
  enqueue(1);
  ASSERT_TRUE(becomes(1, "unknown"));
  EXPECT_EQ(tell("paid", 1), 200);
  ASSERT_TRUE(becomes(1, "done"));
  EXPECT_EQ(column(1, "provider_id"), "ch_9");
  EXPECT_EQ(provider.count(), 1U);
  enqueue(2);
  ASSERT_TRUE(becomes(2, "unknown"));
  EXPECT_EQ(tell("declined", 2), 200);
  ASSERT_TRUE(becomes(2, "dead")) << "answered 200, and declined: never done";
}

TEST_P(OutboxReconcile, WithoutASourceItWaitsForAnOperator) {
  start_worker(destination("timeout = \"500ms\"\ndedupes = false\n") + source());
  enqueue(1);
  ASSERT_TRUE(becomes(1, "unknown"));
  provider.behave(
      [this](const ReceivedRequest& request) { return charge(ledger, request, false); });
  enqueue(2);
  ASSERT_TRUE(becomes(2, "done"));
  EXPECT_EQ(status(1), "unknown");
  EXPECT_EQ(bank.count(), 0U);
}

PAWL_ON_EVERY_STORE(OutboxReconcile);

}  // namespace
}  // namespace pawl::e2e
