// kill -9: no charge that was answered is lost, and none is made twice under its key.
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "tests/provider/provider_fixture.hpp"

namespace pawl::testing {
namespace {

constexpr int killed = 128 + 9;

class Crashes : public ProviderTest {
 protected:
  Crashes() { start(); }
};

TEST_F(Crashes, AtEveryPointOfAChargeTheRetryChargesOnce) {
  const std::vector<std::pair<std::string, std::string>> points{
      {"crash_before", "0"}, {"crash_inside", "0"}, {"crash_after", "1"}};
  int done = 0;
  for (const auto& [point, charged] : points) {
    faults(R"({"next":[")" + point + "\"]}");
    EXPECT_FALSE(charge(point)) << "nobody was left to answer";
    EXPECT_EQ(provider_->wait(), killed) << point;
    start();
    EXPECT_EQ(ledger("/charges"), std::to_string(done + std::stoi(charged))) << point;
    EXPECT_EQ(charge(point)->status, 201) << point;
    EXPECT_EQ(ledger("/charges"), std::to_string(++done)) << point;
    EXPECT_EQ(ledger("/keys_charged_twice"), "0");
  }
}

TEST_F(Crashes, UnderLoadNothingAnsweredIsLostAndNothingIsDoubled) {
  constexpr int clients = 4;
  constexpr int charges_each = 25;
  constexpr int kills = 6;
  std::atomic<std::uint16_t> port = provider_->port();
  std::mutex mutex;
  std::map<std::string, std::string> answers;
  std::atomic<int> answered = 0;
  const auto client = [&](int number) {
    for (int i = 0; i < charges_each; ++i) {
      const std::string key = std::to_string(number) + "-" + std::to_string(i);
      Post request;
      request.key = key;
      request.path = "/v1/charges";
      request.body = R"({"amount":100,"currency":"EUR","reference":")" + key + "\"}";
      for (bool done = false; !done;) {
        try {
          const HttpAnswer answer = post(port, request);
          ASSERT_EQ(answer.status, 201) << answer.body;
          const std::lock_guard lock(mutex);
          answers[key] = answer.body;
          done = true;
        } catch (const std::exception&) {  // dead, or just being born again
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
      }
      ++answered;
    }
  };
  std::vector<std::thread> threads;
  for (int number = 0; number < clients; ++number) threads.emplace_back(client, number);
  for (int kill = 1; kill <= kills; ++kill) {
    const int enough = kill * clients * charges_each / (kills + 1);
    EXPECT_TRUE(until([&] { return answered >= enough; }));
    provider_->kill_hard();
    start();
    port = provider_->port();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ledger("/charges"), std::to_string(clients * charges_each));
  EXPECT_EQ(ledger("/keys_charged_twice"), "0");
  for (const auto& [key, body] : answers) {
    EXPECT_EQ(read("/v1/charges?idempotency_key=" + key), body);
  }
}

TEST_F(Crashes, OnSigtermWhatIsUnderWayIsAnswered) {
  faults(R"({"delay_ms":200,"next":["delay_after"]})");
  std::optional<HttpAnswer> late;
  std::thread slow([&] { late = charge("key-1"); });
  EXPECT_TRUE(until([&] { return ledger("/charges") == "1"; }));
  EXPECT_EQ(provider_->terminate(), 0);
  slow.join();
  ASSERT_TRUE(late);
  EXPECT_EQ(late->status, 201);
}

TEST_F(Crashes, AFileThatIsNoDatabaseIsExplained) {
  try {
    const ServiceProcess never({PAWL_PROVIDER, "--data", "/dev/null/provider.db"});
    FAIL() << "it started";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("/dev/null/provider.db"));
  }
}

}  // namespace
}  // namespace pawl::testing
