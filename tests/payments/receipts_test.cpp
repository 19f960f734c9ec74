// A receipt for each payment, promised with its capture and sent by a worker.
#include <map>
#include <mutex>
#include <set>

#include "tests/payments/payments_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Receipts : public PaymentsTest {
 protected:
  Receipts() {
    start_api({"--receipts", "receipts"});
    mailbox.behave([this](const ReceivedRequest& request) { return take(request); });
  }

  // Whatever has the poisoned amount in it is too much for this receiver.
  Behaviour take(const ReceivedRequest& request) {
    const std::lock_guard lock(mutex_);
    const std::string id = at(request.body, "/payment/id");
    ++tries_[id];
    const bool poison = at(request.body, "/payment/amount") == "666";
    if (poison && poisoned_) return Behaviour::answer(500);
    keys_[id].insert(request.header("Idempotency-Key").value_or(""));
    return Behaviour::answer(201, R"({"id":"rcpt_)" + id + R"("})");
  }

  [[nodiscard]] std::string destination() const {
    return "[[destination]]\nname = \"receipts\"\nurl = \"" + mailbox.url() +
           "\"\nlease = \"1s\"\nbackoff_min = \"10ms\"\nbackoff_max = \"50ms\"\n"
           "timeout = \"20s\"\nmax_attempts = 3\nprovider_id = \"/id\"\n";
  }
  std::string count(const std::string& status) {
    return query("SELECT count(*) FROM PAWL.outbox WHERE status = '" + status + "'");
  }
  int tries(const std::string& of_payment) {
    const std::lock_guard lock(mutex_);
    return tries_[of_payment];
  }
  void cure() {
    const std::lock_guard lock(mutex_);
    poisoned_ = false;
  }

  std::mutex mutex_;
  std::map<std::string, int> tries_;  // under mutex_, as are those below
  std::map<std::string, std::set<std::string>> keys_;
  bool poisoned_ = true;
  UpstreamServer mailbox;  // last: it uses the others
};

TEST_P(Receipts, APoisonOneIsRetriedParkedSeenRetriedByAnOperatorAndDone) {
  const HttpAnswer first = insist_on_paying("receipt-payment-0001", 100);
  const HttpAnswer poison = insist_on_paying("receipt-payment-0002", 666);
  const HttpAnswer last = insist_on_paying("receipt-payment-0003", 300);
  ASSERT_EQ(poison.status, 201) << "nobody waits for a receipt: " << poison.body;
  const std::string paid = at(poison.body, "/id");
  EXPECT_EQ(count("pending"), "3");
  start_worker(destination());

  ASSERT_TRUE(until([&] { return count("done") == "2" && count("dead") == "1"; }));
  EXPECT_EQ(tries(paid), 3) << "max_attempts";
  EXPECT_EQ(tries(at(first.body, "/id")), 1);
  EXPECT_EQ(tries(at(last.body, "/id")), 1) << "a poison item holds nobody up";
  const std::string id = query("SELECT id FROM PAWL.outbox WHERE status = 'dead'");
  const testing::Finished listed = outbox({"list", "--status", "dead"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr(id + "  dead  receipts  attempts=3"));
  EXPECT_THAT(listed.out, HasSubstr("out of attempts; answered 500"));
  expect_books(3);

  cure();
  const testing::Finished retried =
      outbox({"retry", id, "--reason", "their disk is empty again", "--actor", "ann"});
  EXPECT_EQ(retried.exit_code, 0) << retried.err;
  ASSERT_TRUE(until([&] { return count("done") == "3"; }));
  EXPECT_EQ(query("SELECT provider_id FROM PAWL.outbox WHERE id = '" + id + "'"), "rcpt_" + paid);
  EXPECT_THAT(outbox({"list", "--status", "dead"}).out, Not(HasSubstr(id)));
  const std::lock_guard lock(mutex_);
  for (const auto& [each, keys] : keys_) EXPECT_EQ(keys.size(), 1U) << each << ": two receipts";
}

// Declined, refused, replayed: no money, no receipt; one payment, one receipt.
TEST_P(Receipts, ThereIsOneForEachCaptureAndNoOther) {
  insist_on_paying("receipt-payment-0001", 100);
  insist_on_paying("receipt-payment-0001", 100);
  EXPECT_EQ(insist_on_paying("receipt-payment-0001", 200).status, 422);
  EXPECT_EQ(insist_on_paying("receipt-payment-0002", -1).status, 422);
  faults(R"({"next":["decline"]})");
  EXPECT_EQ(insist_on_paying("receipt-payment-0003", 100).status, 402);
  EXPECT_EQ(query("SELECT count(*) FROM PAWL.outbox"), "1");
}

PAWL_ON_EVERY_STORE(Receipts);

}  // namespace
}  // namespace pawl::e2e
