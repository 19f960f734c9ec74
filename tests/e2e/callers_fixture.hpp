// Gateways that know their callers, and who vouches for those.
#pragma once

#include <chrono>
#include <fstream>
#include <string>

#include "tests/e2e/gateway_fixture.hpp"
#include "tests/support/signing_key.hpp"

namespace pawl::e2e {

using testing::SigningKey;

class CallersTest : public OnSqlite {
 protected:
  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  // {"sub":"acme","exp":<in an hour>} and `more`.
  static std::string claims(const std::string& more = {}, const std::string& sub = "acme") {
    return R"({"sub":")" + sub + R"(","exp":)" + std::to_string(now() + 3600) + more + "}";
  }
  [[nodiscard]] Post payment_with(const WireHeaders& headers, const std::string& key = {}) const {
    Post one = payment;
    if (!key.empty()) one.key = key;
    one.headers.insert(one.headers.end(), headers.begin(), headers.end());
    return one;
  }
  [[nodiscard]] Post payment_by(const std::string& token, const std::string& key = {}) const {
    return payment_with({{"Authorization", "Bearer " + token}}, key);
  }
  std::string write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder() / name;
    const std::filesystem::path next = folder() / (name + ".new");
    std::ofstream(next) << text;
    std::filesystem::rename(next, path);
    return path.string();
  }
  ServeProcess& start_with(const std::string& caller, const std::string& policy = {}) {
    return start({.policy = policy, .top = "", .rest = "[caller]\n" + caller});
  }
  // Refused, with nothing reserved or forwarded.
  void expect_refused(const HttpAnswer& answer, int status, const std::string& problem,
                      const std::string& what) {
    EXPECT_EQ(answer.status, status) << what;
    EXPECT_EQ(problem_of(answer), problem) << what;
    EXPECT_EQ(upstream.effects(payment.key), 0U) << what;
    EXPECT_EQ(answer.header("WWW-Authenticate").has_value(), status == 401) << what;
  }
};

}  // namespace pawl::e2e
