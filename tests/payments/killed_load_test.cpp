// A thousand payments through gateway and service, both killed again and again, with a provider
// that fails one request in ten, clients that hang up and send twice, and a receipt for each
// payment.
//
//   clients -> gateway -> payments API -> provider
//                             \-> outbox -> worker -> mailbox
//
// A request that was at the service when that died is unknown to the gateway; its source is the
// service itself, which is asked what became of the key.
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "pawl/types/json.hpp"
#include "tests/payments/payments_fixture.hpp"

namespace pawl::e2e {
namespace {

constexpr int payments = 1000;
constexpr int clients = 8;
constexpr int kills = 8;

class KilledLoad : public PaymentsTest {
 protected:
  KilledLoad() {
    mailbox.behave([this](const ReceivedRequest& request) { return take(request); });
  }

  // Fails one in ten, before or after it has taken it.
  Behaviour take(const ReceivedRequest& request) {
    const std::lock_guard lock(mutex_);
    const int number = ++deliveries_;
    if (number % 20 == 0) return Behaviour::answer(500);
    receipts_[at(request.body, "/payment/id")].insert(
        request.header("Idempotency-Key").value_or(""));
    return number % 20 == 10 ? Behaviour::reset() : Behaviour::answer(201, R"({"id":"rcpt"})");
  }

  [[nodiscard]] Settings settings() const {
    Settings made;
    made.upstream = api_->url();
    made.top = "sweep_interval = \"200ms\"";
    made.policy = "lease = \"1s\"\nupstream_timeout = \"5s\"\nreconcile = \"payments\"\n";
    made.rest = "[[source]]\nname = \"payments\"\nurl = \"" + api_->url() +
                "/v1/payments?idempotency_key={key}\"\ntimeout = \"2s\"\nmax_attempts = 1000\n"
                "backoff = \"100ms\"\nbackoff_max = \"500ms\"\nvisibility_window = \"1s\"\n"
                "[source.headers]\nAuthorization = \"Bearer shop\"\n"
                "[[source.rule]]\nstatus = 200\nwhere = { \"/status\" = \"captured\" }\n"
                "then = \"completed\"\nresponse_status = 201\n"
                "[[source.rule]]\nstatus = 404\nthen = \"absent\"\n";
    return made;
  }
  [[nodiscard]] std::string worker_tables() const {
    const Settings both = settings();  // it may have the gateway's store
    return both.top + "\n[policy]\n" + both.policy + both.rest +
           "[[destination]]\nname = \"receipts\"\nurl = \"" + mailbox.url() +
           "\"\nlease = \"1s\"\nbackoff_min = \"10ms\"\nbackoff_max = \"200ms\"\n"
           "timeout = \"20s\"\nmax_attempts = 10\nprovider_id = \"/id\"\n";
  }

  static Post request_of(int number) {
    Post request;
    request.key = "killed-payment-" + std::to_string(100000 + number);
    request.path = "/v1/payments";
    request.body = body_of(100 + number);
    request.headers.emplace_back("Authorization", "Bearer shop");
    return request;
  }

  // Sends it and does not wait for the answer.
  void hang_up(const Post& request) const {
    try {
      RawClient client(port_);
      client.send(to_bytes(request));
      client.hang_up();
    } catch (const std::exception&) {  // nobody is there just now
    }
  }

  // As clients do: again and again, with the same key.
  void insist_on(const Post& request) {
    HttpAnswer answer;
    const bool paid = until([&] {
      try {
        answer = post(port_, request);
      } catch (const std::exception&) {  // dead, or just being born again
        return false;
      }
      return answer.status == 201;
    });
    EXPECT_TRUE(paid) << request.key << ": " << answer.status << " " << answer.body;
    const std::lock_guard lock(mutex_);
    const auto [first, fresh] = ids_.emplace(request.key, at(answer.body, "/id"));
    EXPECT_EQ(at(answer.body, "/id"), first->second) << "two answers for one key";
  }

  void client(int number) {
    const Post request = request_of(number);
    if (number % 3 == 0) hang_up(request);
    std::thread twin;
    if (number % 5 == 0) twin = std::thread([&] { insist_on(request); });
    insist_on(request);
    if (twin.joinable()) twin.join();
    ++paid_;
  }

  std::size_t dead_keys() const {
    const testing::Finished listed = testing::run_program(
        {PAWL_BINARY, "keys", "list", "--status", "dead", "--json", "--store", store_url()});
    EXPECT_EQ(listed.exit_code, 0) << listed.err;
    const auto keys = json::read(listed.out);
    EXPECT_TRUE(keys && keys->kind == json::Kind::array) << listed.out;
    return keys ? keys->items.size() : 1;
  }

  std::mutex mutex_;
  std::map<std::string, std::string> ids_;                 // under mutex_, as are those below
  std::map<std::string, std::set<std::string>> receipts_;  // the keys under which each came
  int deliveries_ = 0;
  std::atomic<std::uint16_t> port_ = 0;
  std::atomic<int> paid_ = 0;
  UpstreamServer mailbox;  // last: it uses the others
};

TEST_P(KilledLoad, AThousandPaymentsMoveMoneyAThousandTimes) {
  const Lines flags{"--lease-ms", "1000", "--complete-every-ms", "100", "--receipts", "receipts"};
  start_api(flags);
  faults(R"({"rate_limit":0.02,"error_before":0.02,"drop_before":0.02,"error_after":0.02,)"
         R"("drop_after":0.02,"seed":43})");
  const Settings front = settings();
  ServeProcess* gateway = &start(front);
  port_ = gateway->port();
  start_worker(worker_tables());

  std::atomic<int> next = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back([&] {
      for (int number = next++; number < payments; number = next++) client(number);
    });
  }
  for (int kill = 1; kill <= kills; ++kill) {
    EXPECT_TRUE(until([&] { return paid_ >= kill * payments / (kills + 1); }));
    if (kill % 2 == 1) {
      api_->kill_hard();
      restart_api(flags);
    } else {
      gateway->kill_hard();
      gateway = &start(front);
      port_ = gateway->port();
    }
  }
  for (std::thread& thread : threads) thread.join();

  // Clients that hung up may still have something under way.
  EXPECT_TRUE(until(
      [&] { return query("SELECT count(*) FROM PAWL.keys WHERE status <> 'completed'") == "0"; }));
  EXPECT_EQ(ids_.size(), static_cast<std::size_t>(payments));
  EXPECT_EQ(query("SELECT count(*) FROM payments"), std::to_string(payments));
  EXPECT_EQ(query("SELECT count(*) FROM payments WHERE status = 'captured'"),
            std::to_string(payments));
  expect_books(payments);
  EXPECT_EQ(dead_keys(), 0U) << "no unknown outcome is left";
  EXPECT_TRUE(until([&] {
    return query("SELECT count(*) FROM PAWL.outbox WHERE status <> 'done'") == "0";
  })) << outbox({"list"}).out;
  EXPECT_EQ(query("SELECT count(*) FROM PAWL.outbox"), std::to_string(payments));
  const std::string struck = get(provider_.port(), "/_faults").body;
  for (const char* fault :
       {"rate_limit", "error_before", "drop_before", "error_after", "drop_after"}) {
    EXPECT_GT(std::stoi(at(struck, "/struck/" + std::string(fault))), 0) << struck;
  }
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(receipts_.size(), static_cast<std::size_t>(payments));
  for (const auto& [each, keys] : receipts_) EXPECT_EQ(keys.size(), 1U) << each;
}

PAWL_ON_EVERY_STORE(KilledLoad);

}  // namespace
}  // namespace pawl::e2e
