// The store goes away before, during and after the upstream call. PostgreSQL is stopped; to a
// gateway on SQLite every write fails, as on a full disk.
#include <sys/resource.h>

#include "tests/e2e/gateway_fixture.hpp"
#include "tests/e2e/key_api_fixture.hpp"

namespace pawl::e2e {
namespace {

class Outage : public OnEveryStore {
 protected:
  ~Outage() override { store_comes_back(); }

  ServeProcess& node(const Settings& settings = {}) {
    ServeProcess& made = start(settings);
    nodes_.push_back(&made);
    return made;
  }

  void store_goes() {
    away_ = true;
    if (GetParam() == StoreKind::postgres) return shared_postgres().stop();
    limit_files(1);
  }

  void store_comes_back() {
    if (!std::exchange(away_, false)) return;
    if (GetParam() == StoreKind::postgres) return shared_postgres().start();
    limit_files(RLIM_INFINITY);
  }

  // Sends the payment and blocks until the upstream holds it.
  void send_and_hold(RawClient& client, std::shared_ptr<Gate> gate) {
    upstream.behave(Behaviour::answer(201, "paid").after(std::move(gate)));
    client.send(to_bytes(payment));
    upstream.wait_for(1);
  }

  // Until the store's absence or return has reached the node.
  static bool turns(const ServeProcess& gateway, int readiness) {
    return until([&] { return get(gateway.admin_port(), "/readyz").status == readiness; });
  }

  // An async request: accepted, sent, answered, and for longer than it is tried to record it at
  // once the store is away.
  ServeProcess& answered_without_a_store() {
    ServeProcess& gateway = node({.policy = "mode = \"async\"", .top = "", .rest = ""});
    const auto gate = std::make_shared<Gate>();
    upstream.behave(Behaviour::answer(201, "paid").after(gate));
    EXPECT_EQ(post(gateway.port(), payment).status, 202);
    upstream.wait_for(1);
    store_goes();
    gate->release();
    EXPECT_TRUE(gateway.wait_for_text("client=worker"));
    return gateway;
  }

  void expect_replayed(const ServeProcess& gateway) {
    const HttpAnswer again = post(gateway.port(), payment);
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(again.body, "paid");
    EXPECT_EQ(again.value("Idempotent-Replayed"), "true");
    EXPECT_EQ(upstream.effects(payment.key), 1U);
  }

 private:
  void limit_files(rlim_t bytes) {
    const rlimit limit{bytes, RLIM_INFINITY};
    for (const ServeProcess* gateway : nodes_) {
      if (gateway->pid() > 0) ::prlimit(gateway->pid(), RLIMIT_FSIZE, &limit, nullptr);
    }
  }

  std::vector<const ServeProcess*> nodes_;
  bool away_ = false;
};

TEST_P(Outage, BeforeTheCallNothingIsForwarded) {
  ServeProcess& gateway = node();
  store_goes();
  for (int retry = 0; retry < 3; ++retry) {
    const HttpAnswer refused = post(gateway.port(), payment);
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(problem_of(refused), "store-unavailable");
    EXPECT_EQ(refused.value("Pawl-Should-Retry"), "true");
    EXPECT_NE(refused.value("Retry-After"), "");
  }
  EXPECT_EQ(upstream.count(), 0U);
  store_comes_back();
  // A reservation in doubt may have to be found and released first.
  ASSERT_TRUE(until([&] { return post(gateway.port(), payment).status == 201; }));
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(Outage, DuringTheCallAndBackInTimeTheClientGetsItsAnswer) {
  ServeProcess& gateway = node();
  RawClient client(gateway.port());
  const auto gate = std::make_shared<Gate>();
  send_and_hold(client, gate);
  store_goes();
  gate->release();
  // The first try to record it has failed: seen in the metrics, which need no store.
  ASSERT_TRUE(until([&] {
    double failed = 0;
    for (const char* kind : {"unavailable", "contended", "in_doubt"}) {
      failed += metric(gateway, std::string("pawl_store_errors_total{kind=\"") + kind + "\"}");
    }
    return failed > 0;
  }));
  store_comes_back();
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "paid");
  EXPECT_EQ(status_of(gateway, payment.key), "completed");
  expect_replayed(gateway);
}

TEST_P(Outage, DuringTheCallAndAwayForLongTheAnswerIsRecordedWhenItIsBack) {
  ServeProcess& gateway = node();
  RawClient client(gateway.port());
  const auto gate = std::make_shared<Gate>();
  send_and_hold(client, gate);
  store_goes();
  gate->release();
  const HttpAnswer told = client.read_answer();
  EXPECT_EQ(told.status, 503);
  EXPECT_EQ(problem_of(told), "outcome-unknown");
  EXPECT_EQ(told.value("Pawl-Should-Retry"), "true");
  store_comes_back();
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  expect_replayed(gateway);
}

TEST_P(Outage, DuringTheCallAndTheOwnerDiesTheRecordGoesTheWayOfItsLease) {
  const Settings settings{.policy = "lease = \"1s\"", .top = "sweep_interval = \"1s\"", .rest = ""};
  ServeProcess& gateway = node(settings);
  RawClient client(gateway.port());
  const auto gate = std::make_shared<Gate>();
  send_and_hold(client, gate);
  store_goes();
  gate->release();
  gateway.kill_hard();
  store_comes_back();
  ServeProcess& restarted = node(settings);
  ASSERT_TRUE(becomes(restarted, payment.key, "unknown"));
  EXPECT_EQ(problem_of(post(restarted.port(), payment)), "outcome-unknown");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_P(Outage, AfterTheCallReplaysComeFromMemoryAndNothingElseGoesOn) {
  ServeProcess& gateway = node();
  upstream.behave(Behaviour::answer(201, "paid"));
  EXPECT_EQ(post(gateway.port(), payment).status, 201);
  store_goes();
  expect_replayed(gateway);
  Post misuse = payment;
  misuse.body = "{}";
  EXPECT_EQ(post(gateway.port(), misuse).status, 422);
  Post other = payment;
  other.key = "another-key-0123456789";
  EXPECT_EQ(problem_of(post(gateway.port(), other)), "store-unavailable");
  expect_replayed(gateway);
  EXPECT_EQ(upstream.count(), 1U);
  EXPECT_EQ(get(gateway.port(), "/anything").status, 201);  // what needs no key passes on
}

TEST_P(Outage, TheBreakerOpensAnswersAtOnceAndClosesByItself) {
  ServeProcess& gateway = node();
  upstream.behave(Behaviour::answer(201, "paid"));
  EXPECT_EQ(post(gateway.port(), payment).status, 201);
  EXPECT_EQ(metric(gateway, "pawl_store_breaker_open"), 0);
  EXPECT_TRUE(turns(gateway, 200));
  store_goes();
  Post other = payment;
  other.key = "another-key-0123456789";
  ASSERT_TRUE(until([&] {
    EXPECT_EQ(post(gateway.port(), other).status, 503);
    return metric(gateway, "pawl_store_breaker_open") == 1;
  }));
  EXPECT_TRUE(turns(gateway, 503));
  ASSERT_TRUE(until([&] {  // one in a second still asks; the others do not wait for the store
    EXPECT_EQ(problem_of(post(gateway.port(), other)), "store-unavailable");
    return gateway.err().find("the store is known to be unavailable") != std::string::npos;
  }));
  expect_replayed(gateway);
  store_comes_back();
  EXPECT_TRUE(until([&] { return post(gateway.port(), other).status == 201; }));
  EXPECT_EQ(metric(gateway, "pawl_store_breaker_open"), 0);
  EXPECT_TRUE(turns(gateway, 200));
  EXPECT_EQ(upstream.effects(other.key), 1U);
}

TEST_P(Outage, ADrainWaitsForOutcomesThatCouldNotBeRecordedYet) {
  ServeProcess& gateway = node();
  RawClient client(gateway.port());
  const auto gate = std::make_shared<Gate>();
  send_and_hold(client, gate);
  store_goes();
  gate->release();
  EXPECT_EQ(problem_of(client.read_answer()), "outcome-unknown");
  gateway.ask_to_end();
  ASSERT_TRUE(gateway.wait_for_text("draining"));
  store_comes_back();
  EXPECT_EQ(gateway.wait(), 0) << gateway.err();
  expect_replayed(node());
}

TEST_P(Outage, TheAnswerToAnAsyncRequestIsRecordedWhenTheStoreIsBack) {
  ServeProcess& gateway = answered_without_a_store();
  EXPECT_THAT(gateway.err(), ::testing::HasSubstr("could not be recorded yet"));
  store_comes_back();
  ASSERT_TRUE(becomes(gateway, payment.key, "completed"));
  expect_replayed(gateway);
}

TEST_P(Outage, ADrainWaitsForTheAnswerToAnAsyncRequest) {
  ServeProcess& gateway = answered_without_a_store();
  gateway.ask_to_end();
  ASSERT_TRUE(gateway.wait_for_text("draining"));
  store_comes_back();
  EXPECT_EQ(gateway.wait(), 0) << gateway.err();
  expect_replayed(node());
}

TEST_P(Outage, TheKeyApiGrantsAndRecordsNothingThatIsNotDurable) {
  ServeProcess& gateway = node({.policy = "", .top = "", .rest = key_api()});
  const std::string fence = fence_of(reserve(gateway));
  const std::string answer = R"(,"response":{"body":"paid"})";
  store_goes();
  for (const HttpAnswer& refused :
       {reserve(gateway, ours, "1", "another-key-of-mine"), write(gateway, "renew", fence),
        write(gateway, "advance", fence, R"(,"after":"","recovery_point":"x")"),
        write(gateway, "complete", fence, answer),
        reserve(gateway, ours, "1", "another-key-of-mine"), write(gateway, "release", fence)}) {
    EXPECT_EQ(refused.status, 503) << refused.body;
    EXPECT_EQ(problem_of(refused), "store-unavailable");
    EXPECT_EQ(refused.value("Pawl-Should-Retry"), "true");
    EXPECT_NE(refused.value("Retry-After"), "");
  }
  store_comes_back();
  // What was refused may have been written; whoever asks again with the same token is told.
  ASSERT_TRUE(until([&] { return write(gateway, "renew", fence).status != 503; }));
  EXPECT_EQ(write(gateway, "complete", fence, answer).status, 200);
  EXPECT_EQ(decision_of(reserve(gateway, theirs)), "replay");
  EXPECT_EQ(reserve(gateway, ours, "1", "another-key-of-mine").status, 201);
}

PAWL_ON_EVERY_STORE(Outage);

}  // namespace
}  // namespace pawl::e2e
