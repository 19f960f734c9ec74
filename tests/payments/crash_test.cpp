// kill -9 at every point of every flow, then a retry or the completer. In the end the provider has
// moved the money once, our ledger says the same, and the client has its answer.
#include <algorithm>
#include <sstream>

#include "tests/payments/payments_fixture.hpp"

namespace pawl::e2e {
namespace {

constexpr int killed = 128 + 9;

// A request, and what it does to the books.
struct Act {
  std::string path;
  std::string body;
  int status = 201;
  int charges = 0;
  int refunds = 0;
};

class Crash : public PaymentsTest {
 protected:
  // Whatever finishes it, the completer does not: it never runs here.
  void start_quiet(const Lines& environment = {}) {
    start_api({"--complete-every-ms", "0"}, environment);
  }

  // The points that a request passes, in their order.
  Lines points_of(const Act& act) {
    start_quiet({"PAYMENTS_TELL_POINTS=1"});
    EXPECT_EQ(insist(act.path, "list-of-points-00001", act.body).status, act.status);
    charges_ += act.charges;
    refunds_ += act.refunds;
    std::istringstream said(api_->said());
    Lines points;
    for (std::string line; std::getline(said, line);) {
      if (line.starts_with("point ")) points.push_back(line.substr(6));
    }
    return points;
  }

  void die_at(const std::string& point, const std::string& key, const Act& act) {
    start_quiet({"PAYMENTS_CRASH_AT=" + point});
    EXPECT_FALSE(send(act.path, key, act.body)) << point << ": it was answered";
    EXPECT_EQ(api_->wait(), killed) << point << "\n" << api_->said();
    end_leases();
  }

  // It is done, once, and a retry is told what was told before.
  void expect_done(const std::string& point, const std::string& key, const Act& act) {
    SCOPED_TRACE(point);
    charges_ += act.charges;
    refunds_ += act.refunds;
    const HttpAnswer first = insist(act.path, key, act.body);
    EXPECT_EQ(first.status, act.status) << first.body;
    const HttpAnswer second = insist(act.path, key, act.body);
    EXPECT_EQ(second.status, act.status);
    EXPECT_EQ(second.body, first.body);
    EXPECT_EQ(second.value("Idempotent-Replayed"), "true");
    expect_books(charges_, refunds_);
  }

  static std::string key_of(const std::string& what, const std::string& point) {
    std::string key = what + "-" + point;
    std::ranges::replace(key, ':', '-');
    return key + "-0000000";
  }

  void retry_after_dying_everywhere(const std::function<Act()>& next_act) {
    for (const std::string& point : points_of(next_act())) {
      const Act act = next_act();
      const std::string key = key_of("retry", point);
      die_at(point, key, act);
      start_quiet();
      expect_done(point, key, act);
    }
  }

  void complete_after_dying_everywhere(const std::function<Act()>& next_act) {
    for (const std::string& point : points_of(next_act())) {
      if (point == "reserve:before") continue;  // nothing is on record, nothing can be completed
      const Act act = next_act();
      const std::string key = key_of("complete", point);
      die_at(point, key, act);
      start_api({"--complete-every-ms", "10"});
      const bool completed = until([&] {
        return query("SELECT status FROM PAWL.keys WHERE idempotency_key = '" + key + "'") ==
               "completed";
      });
      EXPECT_TRUE(completed) << point << "\n" << api_->said();
      expect_done(point, key, act);
    }
  }

  static Act payment() {
    return Act{.path = "/v1/payments", .body = body_of(1000), .status = 201, .charges = 1};
  }
  // A payment is made for it first.
  Act giving_back(const std::string& how, int status) {
    start_quiet();
    const HttpAnswer paid = insist_on_paying("to-give-back-" + std::to_string(1000000 + ++paid_));
    EXPECT_EQ(paid.status, 201) << paid.body;
    ++charges_;
    return Act{.path = paid.value("Location") + how, .body = "{}", .status = status, .refunds = 1};
  }
  Act transfer() {
    return Act{.path = "/v1/transfers",
               .body = R"({"amount":)" + std::to_string(1000 + ++transfers_) +
                       R"(,"source_currency":"EUR","target_currency":"USD"})",
               .status = 201};
  }

  int charges_ = 0;
  int refunds_ = 0;
  int paid_ = 0;
  int transfers_ = 0;
};

// A point before and after each write and each call. One that is new must be seen here.
TEST_P(Crash, EveryWriteAndEveryCallOfAPaymentHasItsPoints) {
  const Lines expected{
      "reserve:before",        "reserve:after",
      "create:begin",          "payment:inserted",
      "ledger:posted-hold",    "create:before-commit",
      "create:after-commit",   "charge:before-mark",
      "charge:after-mark",     "charge:before-send",
      "charge:after-send",     "charge:begin",
      "charge:before-commit",  "charge:after-commit",
      "capture:begin",         "payment:saved-as-captured",
      "ledger:posted-capture", "capture:before-commit",
      "capture:after-commit",
  };
  EXPECT_EQ(points_of(payment()), expected);
}

TEST_P(Crash, ARetryFinishesAPaymentThatDiedAnywhere) {
  retry_after_dying_everywhere([] { return payment(); });
}

TEST_P(Crash, TheCompleterFinishesAPaymentThatDiedAnywhere) {
  complete_after_dying_everywhere([] { return payment(); });
}

// The provider charges and hangs up; then the service dies with the loss in its hands.
TEST_P(Crash, AChargeWhoseAnswerWasLostAndWhoseOwnerDiedIsMadeOnce) {
  for (const std::string point : {"charge:after-send", "charge:before-send"}) {
    const std::string key = key_of("dropped", point);
    faults(R"({"next":["drop_after"]})");
    if (point == "charge:before-send") {  // lost once, and killed in the second try
      start_quiet();
      EXPECT_EQ(pay(key)->status, 503);
    }
    die_at(point, key, payment());
    start_quiet();
    expect_done(point, key, payment());
  }
}

// One after the other dies on the same payment, each a little further on.
TEST_P(Crash, APaymentThatKillsEveryOwnerIsStillMadeOnce) {
  const std::string key = "killed-again-and-again-1";
  for (const std::string& point : points_of(payment())) {
    if (point == "reserve:before") continue;
    start_quiet({"PAYMENTS_CRASH_AT=" + point});
    const auto answer = pay(key);
    if (!answer) {
      EXPECT_EQ(api_->wait(), killed) << point;
    }
    end_leases();
  }
  start_quiet();
  expect_done("all of them", key, payment());
}

TEST_P(Crash, ARetryFinishesARefundThatDiedAnywhere) {
  retry_after_dying_everywhere([this] { return giving_back("/refunds", 201); });
}

TEST_P(Crash, TheCompleterFinishesACancellationThatDiedAnywhere) {
  complete_after_dying_everywhere([this] { return giving_back("/cancel", 200); });
}

TEST_P(Crash, ATransferThatDiedAnywhereIsMadeOnce) {
  retry_after_dying_everywhere([this] { return transfer(); });
  EXPECT_EQ(query("SELECT count(*) FROM transfers"),
            query("SELECT count(*) FROM postings WHERE kind = 'transfer'"));
}

PAWL_ON_EVERY_STORE(Crash);

}  // namespace
}  // namespace pawl::e2e
