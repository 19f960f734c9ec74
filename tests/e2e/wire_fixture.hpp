// A gateway and its upstream, for tests that mind bytes. What a test does to a key is found under
// /_pawl/v1/keys/.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/support/bad_requests.hpp"
#include "tests/support/raw_client.hpp"
#include "tests/support/serve_process.hpp"
#include "tests/support/upstream_server.hpp"

namespace pawl::e2e {

using testing::Behaviour;
using testing::HttpAnswer;
using testing::RawClient;
using testing::RawRequest;
using testing::ServeProcess;
using testing::UpstreamServer;
using testing::Wire;

// "status" of the key's document, or the HTTP status as text where there is none.
inline std::string state_of(const ServeProcess& gateway, const std::string& key) {
  const HttpAnswer answer = testing::get(gateway.port(), "/_pawl/v1/keys/" + key);
  const std::string name = R"("status":")";
  const std::size_t at = answer.body.find(name);
  if (answer.status != 200 || at == std::string::npos) return std::to_string(answer.status);
  const std::size_t begin = at + name.size();
  return answer.body.substr(begin, answer.body.find('"', begin) - begin);
}

inline std::unique_ptr<ServeProcess> gateway_for(const std::string& upstream_url,
                                                 const std::string& config = {}) {
  return std::make_unique<ServeProcess>(
      PAWL_BINARY, testing::ServeOptions{.flags = {"--upstream", upstream_url}, .config = config});
}

// One gateway and one upstream for a whole suite; rows have a key each.
class SharedGateway : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    upstream_ = std::make_unique<UpstreamServer>();
    gateway_ = gateway_for(upstream_->url());
  }
  static void TearDownTestSuite() {
    gateway_.reset();
    upstream_.reset();
  }
  static ServeProcess& gateway() { return *gateway_; }
  static UpstreamServer& upstream() { return *upstream_; }

 private:
  inline static std::unique_ptr<UpstreamServer> upstream_;
  inline static std::unique_ptr<ServeProcess> gateway_;
};

// A gateway of its own, in front of an upstream of its own.
class OwnGateway : public ::testing::Test {
 protected:
  ServeProcess& start(const std::string& config = {}) {
    gateway_ = gateway_for(upstream.url(), config);
    return *gateway_;
  }
  ServeProcess& gateway() { return *gateway_; }

  UpstreamServer upstream;

 private:
  std::unique_ptr<ServeProcess> gateway_;
};

// Says so itself, and does so.
inline void expect_closing(const HttpAnswer& answer, RawClient& client) {
  EXPECT_EQ(answer.value("Connection"), "close") << answer.head;
  EXPECT_TRUE(client.closed());
}

inline std::string row_name(const ::testing::TestParamInfo<RawRequest>& row) {
  return row.param.row;
}

}  // namespace pawl::e2e
