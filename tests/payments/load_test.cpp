// A thousand payments: clients that hang up and send twice, the gateway, the service, and a
// provider that fails one request in ten. Everybody's books agree in the end.
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "tests/payments/payments_fixture.hpp"

namespace pawl::e2e {
namespace {

constexpr int payments = 1000;
constexpr int clients = 8;

class Load : public PaymentsTest {
 protected:
  static Post request_of(int number) {
    Post request;
    request.key = "load-payment-" + std::to_string(100000 + number);
    request.path = "/v1/payments";
    request.body = body_of(100 + number);
    request.headers.emplace_back("Authorization", "Bearer shop");
    return request;
  }

  // Sends it and does not wait for the answer.
  static void hang_up(std::uint16_t port, const Post& request) {
    RawClient client(port);
    client.send(to_bytes(request));
    client.hang_up();
  }

  // Until it is paid. Every third client hangs up first, every fifth sends twice at once.
  void client(std::uint16_t port, int number) {
    const Post request = request_of(number);
    if (number % 3 == 0) hang_up(port, request);
    std::thread twin;
    if (number % 5 == 0) twin = std::thread([&] { insist_on(port, request); });
    insist_on(port, request);
    if (twin.joinable()) twin.join();
  }

  void insist_on(std::uint16_t port, const Post& request) {
    HttpAnswer answer;
    const bool paid = until([&] {
      answer = post(port, request);
      return answer.status == 201;
    });
    EXPECT_TRUE(paid) << request.key << ": " << answer.status << " " << answer.body;
    const std::lock_guard lock(mutex_);
    const auto [first, fresh] = ids_.emplace(request.key, at(answer.body, "/id"));
    EXPECT_EQ(at(answer.body, "/id"), first->second) << "two answers for one key";
  }

  std::mutex mutex_;
  std::map<std::string, std::string> ids_;
};

TEST_P(Load, AThousandPaymentsThroughGatewayAndApiMoveMoneyAThousandTimes) {
  start_api({"--complete-every-ms", "200"});
  faults(R"({"rate_limit":0.02,"error_before":0.02,"drop_before":0.02,"error_after":0.02,)"
         R"("drop_after":0.02,"seed":42})");
  Settings settings;
  settings.upstream = api_->url();
  const ServeProcess& gateway = start(settings);
  std::atomic<int> next = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back([&] {
      for (int number = next++; number < payments; number = next++) client(gateway.port(), number);
    });
  }
  for (std::thread& thread : threads) thread.join();

  // Clients that hung up may still have something under way.
  EXPECT_TRUE(until(
      [&] { return query("SELECT count(*) FROM PAWL.keys WHERE status <> 'completed'") == "0"; }));
  EXPECT_EQ(ids_.size(), static_cast<std::size_t>(payments));
  EXPECT_EQ(query("SELECT count(*) FROM payments WHERE status = 'captured'"),
            std::to_string(payments));
  EXPECT_EQ(query("SELECT count(*) FROM payments"), std::to_string(payments));
  expect_books(payments);
  const std::string faults_now = get(provider_.port(), "/_faults").body;
  for (const char* fault :
       {"rate_limit", "error_before", "drop_before", "error_after", "drop_after"}) {
    EXPECT_GT(std::stoi(at(faults_now, "/struck/" + std::string(fault))), 0) << faults_now;
  }
}

// The service is killed again and again while it works. Its clients do not give up.
TEST_P(Load, PaymentsSurviveAServiceThatIsKilledAgainAndAgain) {
  constexpr int several = 200;
  constexpr int kills = 6;
  const Lines flags{"--lease-ms", "500", "--complete-every-ms", "100"};
  start_api(flags);
  faults(R"({"drop_after":0.05,"error_after":0.05,"seed":7})");
  std::atomic<std::uint16_t> port = api_->port();
  std::atomic<int> next = 0;
  std::atomic<int> paid = 0;
  const auto client = [&] {
    for (int number = next++; number < several; number = next++) {
      const bool answered = until([&] {
        try {
          return post(port, request_of(number)).status == 201;
        } catch (const std::exception&) {  // dead, or just being born again
          return false;
        }
      });
      EXPECT_TRUE(answered) << number;
      ++paid;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) threads.emplace_back(client);
  for (int kill = 1; kill <= kills; ++kill) {
    EXPECT_TRUE(until([&] { return paid >= kill * several / (kills + 1); }));
    api_->kill_hard();
    start_api(flags);
    port = api_->port();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(query("SELECT count(*) FROM payments WHERE status = 'captured'"),
            std::to_string(several));
  expect_books(several);
}

PAWL_ON_EVERY_STORE(Load);

}  // namespace
}  // namespace pawl::e2e
