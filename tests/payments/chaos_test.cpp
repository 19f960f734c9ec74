// Unknown is not a place to stay: payments through a gateway that is killed again and again, before
// a provider that charges and then hangs up one time in five and shows late what it has done.
//
//   clients -> payments API -> gateway (and a worker beside it) -> provider
//
// The provider forgets keys at once, so that whoever sends a charge twice charges twice, and its
// ledger says so. PAWL_CHAOS_PAYMENTS says how many payments are made.
#include <atomic>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iostream>
#include <mutex>
#include <thread>

#include "tests/payments/payments_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr int clients = 12;
constexpr auto between_kills = 1s;
constexpr auto patience = 300s;
constexpr const char* secret = "whsec_0123456789abcdef";
constexpr const char* of_gateway = " FROM PAWL.keys WHERE scope_id = 'caller:default'";

int payment_count() {
  const char* const wanted = std::getenv("PAWL_CHAOS_PAYMENTS");
  return wanted == nullptr ? 400 : std::max(std::atoi(wanted), 1);
}

class Chaos : public PaymentsTest {
 protected:
  Chaos() : PaymentsTest({"--key-window", "0"}) { std::ofstream(folder() / "secret") << secret; }

  struct Knows {
    bool polling = false;
    bool webhooks = false;
  };

  [[nodiscard]] std::string source(Knows knows) const {
    std::string text =
        "[[source]]\nname = \"provider\"\nbackoff = \"200ms\"\nbackoff_max = \"1s\"\n";
    // In vain for a while where only events tell; an absence counts only after the window.
    text += knows.polling ? "max_attempts = 200\n" : "max_attempts = 10\n";
    text += "visibility_window = \"2s\"\nabsent_confirmations = 2\ntimeout = \"1s\"\n";
    if (knows.polling) {
      text += "url = \"" + provider_.url() +
              "/v1/charges?idempotency_key={key}\"\n[[source.rule]]\nstatus = 200\n"
              "where = { \"/status\" = \"succeeded\" }\nthen = \"completed\"\n"
              "response_status = 201\n[[source.rule]]\nstatus = 404\nthen = \"absent\"\n";
    }
    if (knows.webhooks) {
      text += "[source.webhook]\nheader = \"Provider-Signature\"\nsecret_files = [\"" +
              (folder() / "secret").string() +
              "\"]\nevent_id = \"/id\"\nkey = \"/data/object/idempotency_key\"\n"
              "scope = \"caller:default\"\n[[source.webhook.rule]]\n"
              "where = { \"/type\" = \"charge.succeeded\" }\nthen = \"completed\"\n"
              "response_status = 201\nresponse_body = \"{/data/object}\"\n"
              "[[source.webhook.rule]]\nwhere = { \"/type\" = \"charge.pending\" }\n"
              "then = \"pending\"\n";
    }
    return text;
  }

  [[nodiscard]] Settings settings(Knows knows) const {
    const bool any = knows.polling || knows.webhooks;
    Settings made;
    made.policy = std::string("lease = \"1s\"\nupstream_timeout = \"2s\"\n") +
                  (any ? "reconcile = \"provider\"\n" : "");
    made.top = "sweep_interval = \"200ms\"\n";
    made.rest = any ? source(knows) : "";
    made.upstream = provider_.url();
    return made;
  }

  void begin(Knows knows) {
    settings_ = settings(knows);
    gateway_ = &start(settings_);
    settings_.port = gateway_->port();
    worker_ = &start(settings_, /*worker=*/true);
    if (knows.webhooks) {
      Post endpoint;
      endpoint.path = "/_webhooks";
      endpoint.body = R"({"url":"http://127.0.0.1:)" + std::to_string(settings_.port) +
                      R"(/_pawl/v1/webhooks/provider","secret":")" + secret + R"("})";
      ASSERT_EQ(post(provider_.port(), endpoint).status, 200);
    }
    faults(R"({"drop_after":0.2,"visibility_delay_ms":500,"webhook_delay":0.2,)"
           R"("webhook_delay_ms":300,"webhook_duplicate":0.1,"webhook_retry_ms":100,"seed":8})");
    provider_url_ = "http://127.0.0.1:" + std::to_string(settings_.port);
    start_api({"--lease-ms", "1000", "--complete-every-ms", "200"});
  }

  // One or the other dies and is born again, where it was.
  void kill_one() {
    if (++kills_ % 2 == 1) {
      gateway_->kill_hard();
      gateway_ = &start(settings_);
    } else {
      worker_->kill_hard();
      worker_ = &start(settings_, /*worker=*/true);
    }
  }

  [[nodiscard]] int of(const std::string& status) const {
    return std::stoi(gateway_query(std::string("SELECT count(*)") + of_gateway + " AND status = '" +
                                   status + "'"));
  }
  // Listed as dead letters by the program itself.
  [[nodiscard]] int dead_letters() const {
    const testing::Finished listed =
        testing::run_program({PAWL_BINARY, "keys", "list", "--status", "dead", "--json", "--limit",
                              std::to_string(payments_ + 1), "--store", store_url()});
    EXPECT_EQ(listed.exit_code, 0) << listed.err;
    int count = 0;
    for (auto at = listed.out.find("\"caller:default\""); at != std::string::npos;
         at = listed.out.find("\"caller:default\"", at + 1)) {
      ++count;
    }
    return count;
  }

  // A client: takes a payment, asks for a while, and comes back to it later if it must.
  void pay_what_is_left() {
    for (std::optional<int> number = take(); number; number = take()) {
      const std::string key = "chaos-payment-" + std::to_string(100000 + *number);
      const auto give_way = steady_clock::now() + 1s;
      bool paid = false;
      while (!paid && !over_ && steady_clock::now() < give_way) {
        const std::optional<HttpAnswer> answer = pay(key, 100 + *number);
        paid = answer && answer->status == 201;
        if (!paid) std::this_thread::sleep_for(20ms);
      }
      const std::lock_guard lock(mutex_);
      paid ? static_cast<void>(++paid_) : left_.push_back(*number);
    }
  }
  // Nothing: all are paid, or nobody waits any more.
  std::optional<int> take() {
    while (!over_ && paid_ < payments_) {
      {
        const std::lock_guard lock(mutex_);
        if (!left_.empty()) {
          const int number = left_.front();
          left_.pop_front();
          return number;
        }
      }
      std::this_thread::sleep_for(10ms);
    }
    return std::nullopt;
  }

  // Everybody pays and things die, until each payment is made or among the dead letters.
  void run(Knows knows) {
    begin(knows);
    for (int number = 0; number < payments_; ++number) left_.push_back(number);
    std::vector<std::thread> threads;
    for (int i = 0; i < clients; ++i) threads.emplace_back([this] { pay_what_is_left(); });
    const auto began = steady_clock::now();
    auto kill_at = began + between_kills;
    bool done = false;
    while (!done && steady_clock::now() < began + patience) {
      std::this_thread::sleep_for(100ms);
      if (steady_clock::now() >= kill_at) {
        kill_one();
        kill_at = steady_clock::now() + between_kills;
      }
      done = paid_ == payments_ || (of("unknown") > 0 && paid_ + dead_letters() == payments_);
    }
    over_ = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(done) << paid_ << " paid, " << of("unknown") << " unknown, " << dead_letters()
                      << " dead letters of " << payments_;
    const auto took = std::chrono::duration_cast<std::chrono::seconds>(steady_clock::now() - began);
    std::cout << payments_ << " payments in " << took.count() << " s, " << kills_ << " kills, "
              << get(provider_.port(), "/_faults").body << "\n"
              << paid_ << " paid, " << dead_letters() << " dead letters, resolved by "
              << gateway_query("SELECT count(*) FROM PAWL.audit WHERE action = 'resolve'")
              << " findings\n";
  }

  // Whatever happened: nothing was executed twice, nothing is forgotten, nobody did it by hand.
  void expect_nothing_twice() {
    EXPECT_GE(kills_, 2);
    EXPECT_GT(std::stoi(at(get(provider_.port(), "/_faults").body, "/struck/drop_after")), 0);
    EXPECT_EQ(provider_ledger("/keys_charged_twice"), "0");
    EXPECT_EQ(provider_ledger("/references_charged_twice"), "0");
    EXPECT_EQ(of("in_progress"), 0);
    EXPECT_EQ(of("unknown"), dead_letters());
    EXPECT_EQ(query("SELECT count(*) FROM payments WHERE status = 'captured'"),
              std::to_string(paid_));
    EXPECT_EQ(gateway_query("SELECT count(*) FROM PAWL.audit WHERE actor <> 'reconciler'"
                            " AND action = 'resolve'"),
              "0");
  }
  void expect_all_paid() {
    expect_nothing_twice();
    EXPECT_EQ(paid_, payments_);
    EXPECT_EQ(of("unknown"), 0);
    EXPECT_EQ(of("completed"), payments_);
    expect_books(payments_);
  }

  const int payments_ = payment_count();
  Settings settings_;
  ServeProcess* gateway_ = nullptr;
  ServeProcess* worker_ = nullptr;
  int kills_ = 0;
  std::mutex mutex_;
  std::deque<int> left_;  // under mutex_
  std::atomic<int> paid_ = 0;
  std::atomic<bool> over_ = false;
};

TEST_P(Chaos, PollingAndWebhooksFindOutEverything) {
  run({.polling = true, .webhooks = true});
  expect_all_paid();
}

TEST_P(Chaos, PollingAloneFindsOutEverything) {
  run({.polling = true, .webhooks = false});
  expect_all_paid();
}

// What a gateway reserved and died before sending no event will ever tell of: it is listed.
TEST_P(Chaos, WebhooksAloneFindOutEverythingThatHappened) {
  run({.polling = false, .webhooks = true});
  expect_nothing_twice();
  EXPECT_EQ(provider_ledger("/charges"), std::to_string(paid_));
  EXPECT_EQ(paid_ + of("unknown"), payments_);
}

TEST_P(Chaos, WithoutEitherWhatIsUnknownIsListedAndNeverExecutedAgain) {
  run({.polling = false, .webhooks = false});
  expect_nothing_twice();
  EXPECT_GT(of("unknown"), 0);
  EXPECT_EQ(paid_ + of("unknown"), payments_);
  EXPECT_GE(std::stoi(provider_ledger("/charges")), paid_.load());
  EXPECT_LE(std::stoi(provider_ledger("/charges")), payments_);
}

PAWL_ON_EVERY_STORE(Chaos);

}  // namespace
}  // namespace pawl::e2e
