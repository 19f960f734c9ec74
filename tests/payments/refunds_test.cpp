// Refunds and cancellations: the state machine, seen from outside.
#include <thread>

#include "tests/payments/payments_fixture.hpp"

namespace pawl::e2e {
namespace {

class Refunds : public PaymentsTest {
 protected:
  Refunds() { payment_ = pay("the-payment-00000001")->value("Location"); }

  HttpAnswer refund(int number, const std::string& body) {
    return insist(payment_ + "/refunds", "refund-" + std::to_string(1000000000 + number), body);
  }
  HttpAnswer cancel(int number) {
    return insist(payment_ + "/cancel", "cancel-" + std::to_string(1000000000 + number), "{}");
  }
  std::string status() { return at(read(payment_).body, "/status"); }

  std::string payment_;
};

TEST_P(Refunds, GiveBackInPartsAndNeverMoreThanCame) {
  const HttpAnswer part = refund(1, R"({"amount":300})");
  EXPECT_EQ(part.status, 201) << part.body;
  EXPECT_EQ(refund(1, R"({"amount":300})").body, part.body);
  EXPECT_EQ(status(), "captured");
  const HttpAnswer too_much = refund(2, R"({"amount":701})");
  EXPECT_EQ(too_much.status, 422);
  EXPECT_EQ(at(too_much.body, "/type"), "urn:pawl-payments:problem:amount-too-large");
  EXPECT_EQ(status(), "captured") << "nothing of a refused refund is left behind";
  const HttpAnswer rest = refund(3, "{}");
  EXPECT_EQ(at(rest.body, "/amount"), "700");
  EXPECT_EQ(status(), "refunded");
  EXPECT_EQ(balance("customer:cus_1"), "0");
  expect_books(1, 2);
}

TEST_P(Refunds, OfWhatIsOverAreConflicts) {
  EXPECT_EQ(refund(1, "{}").status, 201);
  for (const HttpAnswer& answer : {refund(2, "{}"), cancel(1)}) {
    EXPECT_EQ(answer.status, 409);
    EXPECT_EQ(at(answer.body, "/type"), "urn:pawl-payments:problem:invalid-transition");
  }
  expect_books(1, 1);
}

TEST_P(Refunds, ACancellationGivesBackAllThatIsLeft) {
  refund(1, R"({"amount":300})");
  const HttpAnswer cancelled = cancel(1);
  EXPECT_EQ(cancelled.status, 200) << cancelled.body;
  EXPECT_EQ(at(cancelled.body, "/status"), "cancelled");
  EXPECT_EQ(at(cancelled.body, "/refunded"), "1000");
  EXPECT_EQ(cancel(1).body, cancelled.body);
  EXPECT_EQ(cancel(2).status, 409);
  EXPECT_EQ(refund(2, "{}").status, 409);
  expect_books(1, 2);
}

TEST_P(Refunds, OfADeclinedPaymentAreConflicts) {
  faults(R"({"next":["decline"]})");
  pay("declined-payment-001");
  const std::string id = query("SELECT id FROM payments WHERE status = 'failed'");
  EXPECT_EQ(send("/v1/payments/" + id + "/refunds", "refund-declined-0001", "{}")->status, 409);
  EXPECT_EQ(send("/v1/payments/" + id + "/cancel", "cancel-declined-0001", "{}")->status, 409);
  expect_books(1);
}

TEST_P(Refunds, WithBadFieldsAreRefused) {
  EXPECT_EQ(refund(1, R"({"amount":0})").status, 422);
  EXPECT_EQ(refund(2, R"({"amuont":5})").status, 422);
  EXPECT_EQ(refund(3, "[]").status, 400);
  EXPECT_EQ(send("/v1/payments/pay_0/refunds", "refund-nothing-00001", "{}")->status, 404);
  EXPECT_EQ(status(), "captured");
  expect_books(1);
}

TEST_P(Refunds, SurviveAProviderThatHangsUpAfterPayingBack) {
  faults(R"({"next":["drop_after","error_after"]})");
  EXPECT_EQ(refund(1, "{}").status, 201);
  EXPECT_EQ(status(), "refunded");
  expect_books(1, 1);
}

// All at once: each would be in order alone, together they are more than the payment.
TEST_P(Refunds, AtTheSameTimeNeverGiveBackMoreThanCame) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([this, i] { refund(10 + i, R"({"amount":400})"); });
  }
  for (std::thread& thread : threads) thread.join();
  const int refunds = std::stoi(provider_ledger("/refunds"));
  EXPECT_GE(refunds, 1);
  EXPECT_LE(refunds, 2);
  expect_books(1, refunds);
}

PAWL_ON_EVERY_STORE(Refunds);

}  // namespace
}  // namespace pawl::e2e
