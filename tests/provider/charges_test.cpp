// What the processor promises when nothing goes wrong.
#include "tests/provider/provider_fixture.hpp"

namespace pawl::testing {
namespace {

using ::testing::HasSubstr;

class Charges : public ProviderTest {
 protected:
  Charges() { start(); }
};

TEST_F(Charges, AreMadeOncePerKey) {
  const auto first = charge("key-1");
  const auto again = charge("key-1");
  ASSERT_TRUE(first && again);
  EXPECT_EQ(first->status, 201);
  EXPECT_EQ(first->value("Idempotent-Replayed"), "");
  EXPECT_EQ(at(first->body, "/status"), "succeeded");
  EXPECT_EQ(again->status, 201);
  EXPECT_EQ(again->value("Idempotent-Replayed"), "true");
  EXPECT_EQ(again->body, first->body);
  EXPECT_EQ(ledger("/charges"), "1");
  EXPECT_EQ(ledger("/sums/0/net"), "1000");
}

TEST_F(Charges, TheQuotedFormOfAKeyIsTheSameKey) {
  const std::string body = R"({"amount":10,"currency":"EUR"})";
  const std::string quoted = send("/v1/charges", "\"key-1\"", body)->body;
  EXPECT_EQ(send("/v1/charges", "key-1", body)->body, quoted);
  EXPECT_EQ(ledger("/charges"), "1");
}

TEST_F(Charges, OtherParametersUnderAUsedKeyAreRefused) {
  charge("key-1", 1000);
  const auto other = charge("key-1", 2000);
  EXPECT_EQ(other->status, 400);
  EXPECT_EQ(at(other->body, "/error/type"), "idempotency_error");
  EXPECT_EQ(ledger("/sums/0/charged"), "1000");
}

TEST_F(Charges, WithoutAKeyEveryRequestCharges) {
  charge("");
  charge("");
  EXPECT_EQ(ledger("/charges"), "2");
  EXPECT_EQ(ledger("/references_charged_twice"), "1");
  EXPECT_EQ(ledger("/keys_charged_twice"), "0");
}

// That a key is honoured for a while only is what the witness must not hide.
TEST_F(Charges, PastTheKeyWindowTheSameKeyChargesAgain) {
  charge("key-1");
  start({"--key-window", "0"});
  EXPECT_EQ(charge("key-1")->status, 201);
  EXPECT_EQ(ledger("/charges"), "2");
  EXPECT_EQ(ledger("/keys_charged_twice"), "1");
}

TEST_F(Charges, BadParametersAreRefusedAndBindNoKey) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"", "no JSON"},
      {R"({"currency":"EUR"})", "amount"},
      {R"({"amount":0,"currency":"EUR"})", "amount"},
      {R"({"amount":-5,"currency":"EUR"})", "amount"},
      {R"({"amount":10.5,"currency":"EUR"})", "amount"},
      {R"({"amount":"10","currency":"EUR"})", "amount"},
      {R"({"amount":1000000000001,"currency":"EUR"})", "amount"},
      {R"({"amount":10})", "currency"},
      {R"({"amount":10,"currency":"euro"})", "currency"},
      {R"({"amount":10,"currency":"EUR","customer":")" + std::string(256, 'x') + "\"}", "customer"},
  };
  for (const auto& [body, word] : bad) {
    const auto answer = send("/v1/charges", "key-1", body);
    ASSERT_TRUE(answer) << body;
    EXPECT_EQ(answer->status, 400) << body;
    EXPECT_THAT(answer->body, HasSubstr(word));
  }
  EXPECT_EQ(ledger("/charges"), "0");
  EXPECT_EQ(charge("key-1")->status, 201);
}

TEST_F(Charges, AreFoundByIdAndByKey) {
  const std::string made = charge("key/1 &é=")->body;
  EXPECT_EQ(at(made, "/error/code"), "parameter_invalid") << "no key is anything but ASCII";
  const std::string charge_1 = charge("key/1 &=")->body;
  EXPECT_EQ(read("/v1/charges/" + at(charge_1, "/id")), charge_1);
  EXPECT_EQ(read("/v1/charges?idempotency_key=key%2F1%20%26%3D"), charge_1);
  EXPECT_EQ(status("/v1/charges/ch_0000000002"), 404);
  EXPECT_EQ(status("/v1/charges/nonsense"), 404);
  EXPECT_EQ(status("/v1/charges?idempotency_key=another"), 404);
  EXPECT_EQ(status("/v1/nonsense"), 404);
}

TEST_F(Charges, AreListedInOrderPageByPage) {
  for (int i = 1; i <= 5; ++i) charge("key-" + std::to_string(i), i);
  std::string seen;
  std::string cursor = "ch_0";
  int pages = 0;
  for (bool more = true; more; ++pages) {
    const std::string page = read("/v1/charges?limit=2&after=" + cursor);
    for (const char* item : {"/data/0/amount", "/data/1/amount"}) {
      if (at(page, item) != "(none)") seen += at(page, item);
    }
    more = at(page, "/has_more") == "true";
    cursor = at(page, "/next");
  }
  EXPECT_EQ(seen, "12345");
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(at(read("/v1/charges"), "/data"), "5 items");
  EXPECT_EQ(status("/v1/charges?limit=0"), 400);
  EXPECT_EQ(status("/v1/charges?after=x"), 400);
}

TEST_F(Charges, AreRefundedInPartsAndNeverMore) {
  const std::string id = at(charge("key-1", 1000)->body, "/id");
  const auto refund = [&](const std::string& key, const std::string& amount) {
    return *send("/v1/refunds", key, R"({"charge":")" + id + "\"" + amount + "}");
  };
  const HttpAnswer part = refund("refund-1", R"(,"amount":300)");
  EXPECT_EQ(part.status, 201);
  EXPECT_EQ(refund("refund-1", R"(,"amount":300)").body, part.body) << "once per key";
  EXPECT_EQ(refund("refund-2", R"(,"amount":701)").status, 422);
  EXPECT_EQ(at(refund("refund-3", "").body, "/amount"), "700") << "all that is left";
  EXPECT_EQ(refund("refund-4", "").status, 422);
  EXPECT_EQ(at(read("/v1/charges/" + id), "/amount_refunded"), "1000");
  EXPECT_EQ(read("/v1/refunds?idempotency_key=refund-1"), part.body);
  EXPECT_EQ(read("/v1/refunds/" + at(part.body, "/id")), part.body);
  EXPECT_EQ(send("/v1/refunds", "refund-5", R"({"charge":"ch_9"})")->status, 404);
  EXPECT_EQ(ledger("/refunds"), "2");
  EXPECT_EQ(ledger("/sums/0/net"), "0");
}

TEST_F(Charges, SurviveARestart) {
  const std::string made = charge("key-1")->body;
  EXPECT_EQ(provider_->terminate(), 0);
  start();
  EXPECT_EQ(charge("key-1")->body, made);
  EXPECT_EQ(ledger("/charges"), "1");
}

}  // namespace
}  // namespace pawl::testing
