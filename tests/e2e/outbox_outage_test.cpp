// Destinations and stores that go away and come back.
#include "tests/e2e/outbox_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;

class OutboxOutage : public OutboxTest {};

TEST_P(OutboxOutage, ADestinationThatIsDownOpensItsBreakerAndComesBackByItself) {
  provider.stop();
  ServeProcess& worker = start_worker(destination("max_attempts = 2"));
  for (int i = 1; i <= 8; ++i) enqueue(i);
  const std::string breaker = R"(pawl_outbox_breaker_open{destination="provider"})";
  ASSERT_TRUE(until([&] { return metric(worker, breaker) == 1; }));
  EXPECT_TRUE(worker.wait_for_text("destination provider is degraded"));
  EXPECT_EQ(sql("SELECT sum(attempt) FROM pawl.outbox"), "0") << "nothing was sent, nothing counts";
  EXPECT_EQ(sql("SELECT count(*) FROM pawl.outbox WHERE status = 'pending'"), "8");
  UpstreamServer back([this](const ReceivedRequest& request) { return charge(ledger, request); },
                      provider.port());
  for (int i = 1; i <= 8; ++i) EXPECT_TRUE(becomes(i, "done")) << i;
  EXPECT_EQ(metric(worker, breaker), 0);
  EXPECT_EQ(ledger.all(), 8);
}

TEST_P(OutboxOutage, OneDestinationInTroubleDoesNotHoldUpAnother) {
  provider.behave(Behaviour::hang());
  UpstreamServer other([this](const ReceivedRequest& request) { return charge(ledger, request); });
  start_worker(destination("concurrency = 1") + "[[destination]]\nname = \"other\"\nurl = \"" +
               other.url() + "\"\n");
  enqueue(1);
  provider.wait_for(1);
  for (int i = 2; i <= 6; ++i) enqueue(i, "provider");
  for (int i = 11; i <= 15; ++i) enqueue(i, "other");
  for (int i = 11; i <= 15; ++i) EXPECT_TRUE(becomes(i, "done")) << i;
  EXPECT_EQ(status(1), "sending");
}

TEST_P(OutboxOutage, RateLimitsAreHeededAndCostNoDoubt) {
  std::atomic<int> calls = 0;
  provider.behave([&](const ReceivedRequest& request) {
    if (++calls <= 2) return Behaviour::answer(429, "{}", {{"Retry-After", "1"}});
    return charge(ledger, request, false);
  });
  start_worker(destination("dedupes = false"));
  enqueue(1);
  ASSERT_TRUE(becomes(1, "done"));
  EXPECT_EQ(ledger.effects(key_of(1)), 1);
  EXPECT_EQ(column(1, "attempt"), "3");
}

PAWL_ON_EVERY_STORE(OutboxOutage);

class OutboxStoreOutage : public OutboxTest {};

TEST_P(OutboxStoreOutage, PostgresStopsAndStartsAndNothingIsLostOrDoubled) {
  ServeProcess& worker = start_worker(destination("timeout = \"2s\"\nconcurrency = 2"));
  provider.behave([this](const ReceivedRequest& request) { return charge(ledger, request); });
  constexpr int rows = 40;
  for (int i = 1; i <= rows; ++i) enqueue(i);
  provider.wait_for(5);
  shared_postgres().stop();
  ASSERT_TRUE(worker.wait_for_text("outbox: store:"));
  shared_postgres().start();
  ASSERT_TRUE(until([&] {
    return sql("SELECT count(*) FROM pawl.outbox WHERE status = 'done'") == std::to_string(rows);
  }));
  EXPECT_TRUE(worker.wait_for_text("outbox: the store has recovered"));
  for (int i = 1; i <= rows; ++i) EXPECT_EQ(ledger.effects(key_of(i)), 1) << i;
}

INSTANTIATE_TEST_SUITE_P(All, OutboxStoreOutage, ::testing::Values(StoreKind::postgres),
                         store_name);

}  // namespace
}  // namespace pawl::e2e
