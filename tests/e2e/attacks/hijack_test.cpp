// Attackers and victims share a gateway and its upstream. Whatever the attackers send, every
// victim's payment is carried out as it was sent, once, and answered with its own answer.
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "tests/e2e/attacks/real_upstreams.hpp"
#include "tests/e2e/wire_fixture.hpp"

namespace pawl::e2e {
namespace {

constexpr int victims_count = 2000;
constexpr int victims_at_once = 4;

std::string with_length(const std::string& start, const std::string& body) {
  return start + "Host: api.example\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

std::string in_chunks(const std::string& start, const std::string& body) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx", body.size());
  return start + "Host: api.example\r\nTransfer-Encoding: chunked\r\n\r\n" + size + "\r\n" + body +
         "\r\n0\r\n\r\n";
}

// A whole request of the attacker's, and half of one that the next request's head completes.
std::vector<std::string> hidden_requests(const std::string& method) {
  const std::string start =
      "POST /v1/transfers?inside=" + method + " HTTP/1.1\r\nHost: api.example\r\n";
  return {start + "Content-Length: 2\r\n\r\n{}", start + "X-Rest: "};
}

std::string key_line(int number) {
  return "Idempotency-Key: attacker-" + std::to_string(100'000'000 + number) + "\r\n";
}

// A request inside the body of one that an upstream may not expect a body of.
std::string smuggling(int number) {
  static constexpr std::array starts{"GET /v1/health",     "HEAD /v1/health", "OPTIONS /v1/health",
                                     "DELETE /v1/carts/1", "POST /nowhere",   "PUT /nowhere",
                                     "PURGE /nowhere",     "POST /v1/cancel", "PUT /v1/cancel",
                                     "POST /v1/moved"};
  const auto turn = static_cast<std::size_t>(number);
  const std::string start = std::string(starts[turn % starts.size()]) + " HTTP/1.1\r\n";
  const std::string body =
      hidden_requests(start.substr(0, start.find(' ')))[turn / starts.size() % 2];
  const bool chunked = turn / starts.size() / 2 % 2 == 1;
  return chunked ? in_chunks(start + key_line(number), body)
                 : with_length(start + key_line(number), body);
}

// Asks for an answer that cannot have a body and has one all the same, a little later.
std::string desynchronising(int number) {
  static constexpr std::array starts{"GET /late/204", "GET /late/304",     "HEAD /late/200",
                                     "POST /v1/late", "OPTIONS /late/204", "HEAD /v1/x"};
  const std::string start = starts[static_cast<std::size_t>(number) % starts.size()];
  return with_length(start + " HTTP/1.1\r\n" + key_line(number), start.front() == 'P' ? "{}" : "");
}

class Hijack : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    upstream_ = start_upstream(GetParam());
    gateway_ = gateway_for(upstream_->url(), "[policy]\nupstream_timeout = \"3s\"\n");
  }

  using Attack = std::string (*)(int);

  // `victims_count` payments while two attackers do what they can; how many were tried.
  int pay_under(Attack attack) {
    std::atomic<bool> over = false;
    std::atomic<int> attacks = 0;
    std::vector<std::thread> attackers;
    for (int i = 0; i < 2; ++i) {
      attackers.emplace_back([&] {
        while (!over) try_once(attack(attacks++));
      });
    }
    std::vector<std::thread> victims;
    std::atomic<int> next = 0;
    for (int i = 0; i < victims_at_once; ++i) {
      victims.emplace_back([&] {
        for (int n = next++; n < victims_count; n = next++) pay(n);
      });
    }
    for (std::thread& victim : victims) victim.join();
    over = true;
    for (std::thread& attacker : attackers) attacker.join();
    return attacks;
  }

  void expect_each_victim_paid_once() {
    std::map<std::string, int> times;
    for (const Execution& execution : upstream_->executed()) {
      if (execution.key.starts_with("victim-")) ++times[execution.key];
      if (!execution.who.empty() || execution.key.starts_with("victim-")) {
        EXPECT_EQ(execution.target, "/v1/payments") << execution.who;
        continue;
      }
      if (execution.key.starts_with("attacker-")) continue;
      // What else was run came from an attacker, in the body of a POST or PUT that the service
      // answered without reading it: that much its own body may do.
      const bool own = execution.target.ends_with("=POST") || execution.target.ends_with("=PUT");
      EXPECT_TRUE(own) << execution.target;
    }
    EXPECT_EQ(times.size(), static_cast<std::size_t>(victims_count));
    for (const auto& [key, count] : times) EXPECT_EQ(count, 1) << key;
    EXPECT_EQ(hijacked_, 0) << "a victim was told something else: " << example_;
  }

 private:
  void try_once(const std::string& bytes) const {
    try {
      RawClient client(gateway_->port(), std::chrono::seconds(5));
      client.send(bytes);
      client.read_answer(bytes.starts_with("HEAD"));
    } catch (const testing::WireError&) {  // whatever it gets is fine
    }
  }

  void pay(int number) {
    const std::string name = "victim-" + std::to_string(100'000'000 + number);
    testing::Post payment{.key = name, .body = R"({"amount": 1})", .path = "/v1/payments"};
    payment.headers.emplace_back("Authorization", name);
    const HttpAnswer answer = testing::post(gateway_->port(), payment);
    const bool own = answer.status == 201 && text_in(answer.body, "target") == "/v1/payments" &&
                     text_in(answer.body, "who") == name && text_in(answer.body, "key") == name;
    if (own) return;
    const std::lock_guard lock(mutex_);
    ++hijacked_;
    example_ = std::to_string(answer.status) + " " + answer.body;
  }

  std::unique_ptr<RealUpstream> upstream_;
  std::unique_ptr<ServeProcess> gateway_;
  std::mutex mutex_;
  int hijacked_ = 0;
  std::string example_;
};

TEST_P(Hijack, ARequestInsideABodyReachesNoVictim) {
  EXPECT_GT(pay_under(smuggling), 100);
  expect_each_victim_paid_once();
}

TEST_P(Hijack, BytesAfterAnAnswerReachNoVictim) {
  EXPECT_GT(pay_under(desynchronising), 100);
  expect_each_victim_paid_once();
}

INSTANTIATE_TEST_SUITE_P(Behind, Hijack, ::testing::Values("Python", "Node", "Nginx", "Apache"),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace pawl::e2e
