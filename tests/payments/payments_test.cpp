// The payments API with nothing worse than a provider's bad day.
#include <thread>

#include "tests/payments/payments_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;

const std::string key = "payment-key-00000001";

class Payments : public PaymentsTest {};

TEST_P(Payments, AreMadeOnceAndAnsweredAlike) {
  const auto first = pay(key);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->status, 201) << first->body;
  EXPECT_EQ(at(first->body, "/status"), "captured");
  EXPECT_EQ(at(first->body, "/exponent"), "2");
  const auto again = pay(key);
  EXPECT_EQ(again->status, 201);
  EXPECT_EQ(again->body, first->body);
  EXPECT_EQ(again->value("Idempotent-Replayed"), "true");
  EXPECT_EQ(read(first->value("Location")).body, first->body);
  EXPECT_EQ(pay(key, 2000)->status, 422) << "another amount under the same key";
  EXPECT_EQ(balance("merchant:shop"), "1000");
  EXPECT_EQ(balance("customer:cus_1"), "-1000");
  expect_books(1);
}

TEST_P(Payments, ThatAreDeclinedHoldNothing) {
  faults(R"({"next":["decline"]})");
  const auto declined = pay(key);
  EXPECT_EQ(declined->status, 402) << declined->body;
  EXPECT_EQ(problem_of(*declined), "") << "the service's own problem, not the library's";
  EXPECT_EQ(at(declined->body, "/type"), "urn:pawl-payments:problem:payment-declined");
  EXPECT_EQ(pay(key)->body, declined->body) << "declined is an answer";
  EXPECT_EQ(query("SELECT status FROM payments"), "failed");
  EXPECT_EQ(balance("customer:cus_1"), "0");
  expect_books(0);
}

// Whatever the provider does, a client that insists gets its payment, once.
TEST_P(Payments, SurviveEveryFaultOfTheProvider) {
  int paid = 0;
  for (const char* fault :
       {"rate_limit", "error_before", "drop_before", "error_after", "drop_after"}) {
    faults(R"({"next":[")" + std::string(fault) + "\"]}");
    const std::string its_key = "fault-" + std::string(fault) + "-0001";
    const auto first = pay(its_key);
    ASSERT_TRUE(first) << fault;
    EXPECT_EQ(first->status, 503) << fault << first->body;
    EXPECT_EQ(problem_of(*first), "outcome-unknown") << fault;
    EXPECT_EQ(first->value("Pawl-Should-Retry"), "true");
    const HttpAnswer last = insist_on_paying(its_key);
    EXPECT_EQ(last.status, 201) << fault << last.body;
    expect_books(++paid);
  }
}

TEST_P(Payments, AreFinishedByTheCompleterWhereTheClientNeverComesBack) {
  start_api({"--complete-every-ms", "20"});
  faults(R"({"next":["drop_after"]})");
  EXPECT_EQ(pay(key)->status, 503);
  EXPECT_TRUE(until([&] { return query("SELECT status FROM payments") == "captured"; }));
  const HttpAnswer late = insist_on_paying(key);
  EXPECT_EQ(late.status, 201);
  EXPECT_EQ(late.value("Idempotent-Replayed"), "true");
  expect_books(1);
}

TEST_P(Payments, WithAProviderThatIsTooSlowAreFinishedLater) {
  start_api({"--provider-timeout-ms", "200"});
  faults(R"({"delay_ms":600000,"next":["delay_after"]})");
  const auto first = pay(key);
  EXPECT_EQ(first->status, 503) << first->body;
  EXPECT_EQ(first->value("Retry-After"), "1");
  EXPECT_EQ(insist_on_paying(key).status, 201);
  expect_books(1);
}

TEST_P(Payments, SentTwiceAtOnceAreAnsweredAlike) {
  faults(R"({"delay_ms":300,"next":["delay_after"]})");
  std::optional<HttpAnswer> first;
  std::thread slow([&] { first = pay(key); });
  EXPECT_TRUE(until([&] { return provider_ledger("/charges") == "1"; }));
  const auto second = pay(key);
  slow.join();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(second->status, 201) << second->body;
  EXPECT_EQ(second->body, first->body);
  expect_books(1);
}

// Behind a proxy that keeps answers a 409 would be kept for good.
TEST_P(Payments, UnderWayForTooLongAreNotFinishedRatherThanInConflict) {
  start_api({"--wait-ms", "1"});
  faults(R"({"delay_ms":1000,"next":["delay_after"]})");
  std::thread slow([&] { pay(key); });
  EXPECT_TRUE(until([&] { return provider_ledger("/charges") == "1"; }));
  const auto second = pay(key);
  slow.join();
  EXPECT_EQ(second->status, 503) << second->body;
  EXPECT_EQ(at(second->body, "/type"), "urn:pawl-payments:problem:not-finished");
  EXPECT_EQ(insist_on_paying(key).status, 201);
  expect_books(1);
}

TEST_P(Payments, WithBadFieldsAreRefusedFieldByField) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {R"({"amount":1,"currency":"EUR"})", "customer"},
      {R"({"customer":"","amount":1,"currency":"EUR"})", "customer"},
      {R"({"customer":7,"amount":1,"currency":"EUR"})", "customer"},
      {R"({"customer":"c","currency":"EUR"})", "amount"},
      {R"({"customer":"c","amount":0,"currency":"EUR"})", "amount"},
      {R"({"customer":"c","amount":-1,"currency":"EUR"})", "amount"},
      {R"({"customer":"c","amount":1.5,"currency":"EUR"})", "amount"},
      {R"({"customer":"c","amount":"1","currency":"EUR"})", "amount"},
      {R"({"customer":"c","amount":1000000001,"currency":"EUR"})", "amount"},
      {R"({"customer":"c","amount":1,"currency":"eur"})", "currency"},
      {R"({"customer":"c","amount":1})", "currency"},
      {R"({"customer":"c","amount":1,"currency":"EUR","amuont":2})", "amuont"},
  };
  int number = 0;
  for (const auto& [body, field] : bad) {
    const auto answer =
        send("/v1/payments", "bad-fields-" + std::to_string(100000 + ++number), body);
    EXPECT_EQ(answer->status, 422) << body;
    EXPECT_EQ(answer->value("Content-Type"), "application/problem+json");
    EXPECT_EQ(at(answer->body, "/errors"), "1 items") << answer->body;
    EXPECT_EQ(at(answer->body, "/errors/0/field"), field) << answer->body;
    EXPECT_EQ(at(answer->body, "/errors/0/pointer"), "/" + field);
  }
  const auto all = send("/v1/payments", "bad-fields-all-00001", "{}");
  EXPECT_EQ(at(all->body, "/errors"), "3 items") << all->body;
  EXPECT_EQ(send("/v1/payments", "bad-body-0000000001", "[]")->status, 400);
  EXPECT_EQ(problem_of(*send("/v1/payments", "bad-body-0000000002", "{")), "body-invalid");
  EXPECT_EQ(problem_of(*send("/v1/payments", "", body_of(1))), "key-missing");
  EXPECT_EQ(send("/v1/payments", "no-caller-000000001", body_of(1), "")->status, 401);
  EXPECT_EQ(query("SELECT count(*) FROM payments"), "0");
  expect_books(0);
}

TEST_P(Payments, BelongToTheirCaller) {
  const auto mine = pay(key);
  const std::string location = mine->value("Location");
  EXPECT_EQ(read(location, "another").status, 404);
  EXPECT_EQ(at(read("/v1/payments", "another").body, "/data"), "0 items");
  EXPECT_EQ(send(location + "/refunds", "refund-key-00000001", "{}", "another")->status, 404);
  const auto theirs = send("/v1/payments", key, body_of(1000), "another");
  EXPECT_EQ(theirs->status, 201) << "the same key of another caller is another key";
  EXPECT_NE(at(theirs->body, "/id"), at(mine->body, "/id"));
  expect_books(2);
}

// For a reconciler: what became of a request whose answer is lost?
TEST_P(Payments, AreFoundByTheKeyTheyWereAskedForWith) {
  const std::string by_key = "/v1/payments?idempotency_key=" + key;
  EXPECT_EQ(read(by_key).status, 404);
  const auto made = pay(key);
  EXPECT_EQ(read(by_key).body, made->body);
  EXPECT_EQ(read(by_key, "another").status, 404);
}

TEST_P(Payments, AreListedPageByPage) {
  std::string made;
  for (int i = 1; i <= 5; ++i) {
    made += at(pay("listed-payment-000" + std::to_string(i), i)->body, "/id");
  }
  std::string seen;
  std::string cursor;
  int pages = 0;
  for (bool more = true; more; ++pages) {
    const std::string page = read("/v1/payments?limit=2&after=" + cursor).body;
    for (const char* id : {"/data/0/id", "/data/1/id"}) {
      if (at(page, id) != "(none)") seen += at(page, id);
    }
    more = at(page, "/has_more") == "true";
    cursor = at(page, "/next");
  }
  EXPECT_EQ(seen, made);
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(read("/v1/payments?limit=0").status, 400);
  EXPECT_EQ(read("/v1/payments?limit=501").status, 400);
  EXPECT_EQ(read("/v1/payments?after=nonsense").status, 400);
  EXPECT_EQ(read("/v1/payments/pay_0").status, 404);
}

TEST_P(Payments, UnderWayAreAnsweredBeforeItEnds) {
  faults(R"({"delay_ms":300,"next":["delay_after"]})");
  std::optional<HttpAnswer> late;
  std::thread slow([&] { late = pay(key); });
  EXPECT_TRUE(until([&] { return provider_ledger("/charges") == "1"; }));
  EXPECT_EQ(api_->terminate(), 0) << api_->said();
  slow.join();
  ASSERT_TRUE(late);
  EXPECT_EQ(late->status, 201);
}

PAWL_ON_EVERY_STORE(Payments);

}  // namespace
}  // namespace pawl::e2e
