// The outbox on the real binary: rows are delivered once, under their key, signed.
#include "src/core/sha256.hpp"
#include "tests/e2e/outbox_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;

class Outbox : public OutboxTest {};

TEST_P(Outbox, ARowIsDeliveredWithItsDerivedKeyAndAValidSignature) {
  ServeProcess& worker = start_worker(destination());
  enqueue(1);
  ASSERT_TRUE(becomes(1, "done"));
  ASSERT_EQ(provider.count(), 1U);
  const ReceivedRequest request = provider.requests().front();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/charges");
  EXPECT_EQ(request.body, R"({"amount":100})");
  EXPECT_EQ(request.header("Idempotency-Key"), key_of(1));
  EXPECT_EQ(request.header("Content-Type"), "application/json");
  // As docs/outbox.md tells a receiver to check it.
  const std::string signature = request.header("Pawl-Signature").value_or("");
  const std::size_t comma = signature.find(",v1=");
  ASSERT_TRUE(signature.starts_with("t=") && comma != std::string::npos) << signature;
  const std::string at = signature.substr(2, comma - 2);
  EXPECT_EQ(signature.substr(comma + 4), hex(hmac_sha256(secret, at + "." + request.body)));
  EXPECT_LT(std::abs(std::stoll(at) - std::time(nullptr)), 60);
  EXPECT_EQ(column(1, "provider_id"), "ch_" + key_of(1));
  EXPECT_EQ(column(1, "response_code"), "201");
  EXPECT_EQ(column(1, "attempt"), "1");
  EXPECT_EQ(ledger.effects(key_of(1)), 1);
  EXPECT_EQ(metric(worker, R"(pawl_outbox_total{destination="provider",result="done"})"), 1);
  EXPECT_EQ(worker.terminate(), 0);
}

TEST_P(Outbox, ServeDeliversToo) {
  ServeProcess& gateway = start({.policy = "", .top = "", .rest = destination()});
  enqueue(1);
  EXPECT_TRUE(becomes(1, "done"));
  EXPECT_EQ(gateway.terminate(), 0);
}

TEST_P(Outbox, WhatWasPromisedBeforeTheWorkerCameIsDelivered) {
  start_worker(destination()).terminate();
  for (int i = 1; i <= 5; ++i) enqueue(i);
  start_worker(destination());
  for (int i = 1; i <= 5; ++i) EXPECT_TRUE(becomes(i, "done")) << i;
  EXPECT_EQ(provider.count(), 5U);
}

TEST_P(Outbox, TwoWorkersDeliverEachRowOnce) {
  constexpr int rows = 100;
  provider.behave(
      [this](const ReceivedRequest& request) { return charge(ledger, request, false); });
  ServeProcess& first = start_worker(destination("concurrency = 4"));
  ServeProcess& second = start_worker(destination("concurrency = 4"));
  for (int i = 1; i <= rows; ++i) enqueue(i);
  ASSERT_TRUE(until([&] {
    return sql("SELECT count(*) FROM pawl.outbox WHERE status = 'done'") == std::to_string(rows);
  }));
  EXPECT_EQ(ledger.all(), rows);
  EXPECT_EQ(provider.count(), static_cast<std::size_t>(rows));
  const std::string done = R"(pawl_outbox_total{destination="provider",result="done"})";
  EXPECT_EQ(metric(first, done) + metric(second, done), rows);
}

TEST_P(Outbox, NeverMoreCallsAtOnceThanADestinationMayHave) {
  const auto gate = std::make_shared<Gate>();
  provider.behave(
      [&](const ReceivedRequest& request) { return charge(ledger, request).after(gate); });
  start_worker(destination("concurrency = 2"));
  for (int i = 1; i <= 6; ++i) enqueue(i);
  provider.wait_for(2);
  // All six are due; the rest waits for the two that are held back.
  EXPECT_EQ(sql("SELECT count(*) FROM pawl.outbox WHERE status = 'sending'"), "2");
  EXPECT_EQ(sql("SELECT count(*) FROM pawl.outbox WHERE owner = ''"), "4");
  gate->release();
  for (int i = 1; i <= 6; ++i) EXPECT_TRUE(becomes(i, "done"));
}

TEST_P(Outbox, ARowForNobodyStaysAndIsSeen) {
  ServeProcess& worker = start_worker(destination());
  enqueue(1, "elsewhere");
  enqueue(2);
  EXPECT_TRUE(becomes(2, "done"));
  EXPECT_TRUE(until([&] {
    return metric(worker, R"(pawl_outbox_depth{destination="unconfigured",status="pending"})") == 1;
  }));
  EXPECT_TRUE(worker.wait_for_text("1 rows wait for destination \"elsewhere\""));
  EXPECT_EQ(status(1), "pending");
  worker.terminate();
  start_worker(destination() + "[[destination]]\nname = \"elsewhere\"\nurl = \"" + provider.url() +
               "/hooks\"\n");
  EXPECT_TRUE(becomes(1, "done"));
  EXPECT_EQ(provider.requests().back().target, "/hooks/charges");
}

TEST_P(Outbox, ADrainingWorkerFinishesWhatItHasSent) {
  const auto gate = std::make_shared<Gate>();
  provider.behave(
      [&](const ReceivedRequest& request) { return charge(ledger, request).after(gate); });
  ServeProcess& worker = start_worker(destination("concurrency = 1"));
  enqueue(1);
  provider.wait_for(1);
  enqueue(2);
  worker.ask_to_end();
  ASSERT_TRUE(worker.wait_for_text("draining"));
  gate->release();
  EXPECT_EQ(worker.wait(), 0);
  EXPECT_EQ(status(1), "done");
  EXPECT_EQ(status(2), "pending");
  EXPECT_EQ(provider.count(), 1U);
}

TEST_P(Outbox, ARowThatCannotBeARequestIsADeadLetterAndNothingIsSent) {
  start_worker(destination());
  enqueue(1, "provider", "/a b");
  EXPECT_TRUE(becomes(1, "dead"));
  EXPECT_THAT(column(1, "last_error"), HasSubstr("path"));
  EXPECT_EQ(provider.count(), 0U);
}

PAWL_ON_EVERY_STORE(Outbox);

class OutboxOnPostgres : public OutboxTest {};

// Through the public SQL functions, in one transaction with the business rows.
TEST_P(OutboxOnPostgres, WhatPawlEnqueuePromisesIsDeliveredAndANotificationIsHeard) {
  start_worker(destination());
  sql("CREATE TABLE orders (id int)");
  sql("DO $$ DECLARE f bigint; BEGIN"
      " SELECT fence INTO f FROM pawl.reserve('caller:a', '0123456789abcdef', 'fp', 'me');"
      " INSERT INTO orders VALUES (1);"
      " PERFORM pawl.enqueue('caller:a', '0123456789abcdef', f, 'provider', '{\"amount\":7}',"
      " '/charges', '{\"X-Order\": \"1\"}');"
      " PERFORM pawl.complete('caller:a', '0123456789abcdef', f, 201, '{}', '');"
      " NOTIFY pawl_outbox; END $$");
  provider.wait_for(1);
  const ReceivedRequest request = provider.requests().front();
  EXPECT_EQ(request.body, "{\"amount\":7}");
  EXPECT_EQ(request.header("X-Order"), "1");
  EXPECT_EQ(request.header("Idempotency-Key"), sql("SELECT derived_key FROM pawl.outbox"));
  EXPECT_TRUE(until([&] { return sql("SELECT status FROM pawl.outbox") == "done"; }));
}

INSTANTIATE_TEST_SUITE_P(All, OutboxOnPostgres, ::testing::Values(StoreKind::postgres), store_name);

}  // namespace
}  // namespace pawl::e2e
