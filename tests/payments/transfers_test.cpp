// Transfers, and the net under them that holds where every guard above it was forgotten.
#include <atomic>
#include <thread>

#include "tests/payments/payments_fixture.hpp"

namespace pawl::e2e {
namespace {

class Transfers : public PaymentsTest {
 protected:
  static std::string transfer(int amount) {
    return R"({"amount":)" + std::to_string(amount) +
           R"(,"source_currency":"EUR","target_currency":"JPY"})";
  }
  HttpAnswer make(const std::string& key, const std::string& body) {
    return insist("/v1/transfers", key, body);
  }
  static std::string insert(const std::string& id, const std::string& status,
                            const std::string& bucket) {
    return "INSERT INTO transfers (id, user_id, source_currency, target_currency, amount, "
           "target_amount, status, created_us, minute_bucket) VALUES ('" +
           id + "', 'shop', 'EUR', 'JPY', 777, 1, '" + status + "', 0, " + bucket + ")";
  }
};

TEST_P(Transfers, ExchangeOneCurrencyForAnother) {
  const HttpAnswer made = make("transfer-key-0000001", transfer(1000));
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(at(made.body, "/target_amount"), "1639");
  EXPECT_EQ(make("transfer-key-0000001", transfer(1000)).body, made.body);
  EXPECT_EQ(balance("wallet:shop", "EUR"), "-1000");
  EXPECT_EQ(balance("wallet:shop", "JPY"), "1639");
  EXPECT_EQ(balance("exchange", "EUR"), "1000");
  EXPECT_EQ(at(read("/v1/ledger").body, "/unbalanced"), "0");
}

TEST_P(Transfers, ThatMakeNoSenseAreRefused) {
  const auto refused = [&](const std::string& body) {
    static int number = 0;
    return make("nonsense-" + std::to_string(100000000 + ++number), body).status;
  };
  EXPECT_EQ(refused(R"({"amount":1,"source_currency":"EUR","target_currency":"EUR"})"), 422);
  EXPECT_EQ(refused(R"({"amount":1,"source_currency":"EUR","target_currency":"GBP"})"), 422);
  EXPECT_EQ(refused(R"({"amount":1,"source_currency":"EUR","target_currency":"XXX"})"), 422);
  EXPECT_EQ(refused(R"({"amount":1,"source_currency":"EUR"})"), 422);
  EXPECT_EQ(query("SELECT count(*) FROM transfers"), "0");
}

// A client that makes a new key for each retry: the keys cannot help, the index does.
TEST_P(Transfers, UnderNewKeysWithinOneMinuteAreOne) {
  constexpr int tries = 12;
  bool one_minute = false;
  for (int amount = 500; !one_minute; ++amount) {  // once more where a minute ended meanwhile
    std::atomic<int> made = 0;
    std::atomic<int> refused = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < tries; ++i) {
      threads.emplace_back([&, i] {
        const std::string key = "new-key-" + std::to_string(amount) + std::to_string(100000 + i);
        const HttpAnswer answer = make(key, transfer(amount));
        if (answer.status == 201) ++made;
        if (at(answer.body, "/type") == "urn:pawl-payments:problem:duplicate-transfer") ++refused;
      });
    }
    for (std::thread& thread : threads) thread.join();
    const std::string buckets =
        query("SELECT count(*) FROM transfers WHERE amount = " + std::to_string(amount));
    EXPECT_EQ(made + refused, tries);
    EXPECT_EQ(std::to_string(made), buckets);
    EXPECT_LE(made, 2);
    one_minute = made == 1;
  }
  EXPECT_EQ(at(read("/v1/ledger").body, "/unbalanced"), "0");
}

// No key, no library, no service: straight into the table.
TEST_P(Transfers, ArePreventedFromDoublingByTheIndexAlone) {
  query(insert("a", "completed", "1"));
  EXPECT_ANY_THROW(query(insert("b", "completed", "1"))) << "the same again in the same minute";
  EXPECT_NO_THROW(query(insert("c", "completed", "2"))) << "the next minute";
  EXPECT_NO_THROW(query(insert("d", "cancelled", "1"))) << "cancelled ones do not count";
  EXPECT_NO_THROW(query(insert("e", "failed", "1"))) << "nor do failed ones";
  EXPECT_ANY_THROW(query("UPDATE transfers SET status = 'completed' WHERE id = 'd'"));
  query("UPDATE transfers SET status = 'cancelled' WHERE id = 'a'");
  EXPECT_NO_THROW(query(insert("f", "completed", "1"))) << "once the first one is cancelled";
  EXPECT_EQ(query("SELECT count(*) FROM transfers WHERE status = 'completed'"), "2");
}

PAWL_ON_EVERY_STORE(Transfers);

}  // namespace
}  // namespace pawl::e2e
