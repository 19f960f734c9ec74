#include "src/config/fixed_settings.hpp"

#include <gmock/gmock.h>

namespace pawl::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FixedSettings, WhatANodeIsMadeOfIsNamed) {
  Config next;
  next.listen.port = 1;
  next.admin.listen.port = 2;
  next.store = "sqlite:other.db";
  next.threads = 3;
  next.proxy_protocol = true;
  next.listen_mode = next.admin.listen_mode = 0660;
  EXPECT_THAT(changed_fixed_settings(Config{}, next),
              ElementsAre("listen", "listen_mode", "proxy_protocol", "store", "threads",
                          "[admin] listen", "[admin] listen_mode"));
}

TEST(FixedSettings, WhatRequestsAreServedByMayChange) {
  Config next;
  next.policy.body_limit = 1;
  next.routes.emplace_back();
  next.caller.from = CallerFrom::single;
  next.limits.connections = 1;
  next.hosts = {"api.example"};
  next.trusted_proxies = {"10.0.0.0/8"};
  next.log = LogFormat::json;
  next.log_level = LogLevel::error;
  next.destinations.emplace_back();
  next.sources.emplace_back();
  next.admin.token = "another";
  next.drain_timeout = std::chrono::seconds(1);
  EXPECT_THAT(changed_fixed_settings(Config{}, next), IsEmpty());
}

TEST(FixedSettings, ASecretThatStandsInAFileCountsWithItsSetting) {
  Config running;
  running.destinations.emplace_back().secret = "one";
  running.encryption.keys.keys = {{"2026", std::string(32, 'k')}};
  running.fingerprint_secrets = {{"a", "one"}};
  running.sources.emplace_back().sent_headers = {{"Authorization", "one"}};
  Config next = running;
  EXPECT_THAT(changed_fixed_settings(running, next), IsEmpty());
  EXPECT_FALSE(outbound_settings_differ(running, next));
  next.fingerprint_secrets.front().bytes = "two";
  next.encryption.keys.keys.front().bytes = std::string(32, 'l');
  EXPECT_THAT(changed_fixed_settings(running, next),
              ElementsAre("[[fingerprint_secret]]", "[encryption]"));
  EXPECT_FALSE(outbound_settings_differ(running, next));
  Config destination = running;
  destination.destinations.front().secret = "two";
  EXPECT_TRUE(outbound_settings_differ(running, destination));
  Config source = running;
  source.sources.front().sent_headers.front().value = "two";
  EXPECT_TRUE(outbound_settings_differ(running, source));
}

}  // namespace
}  // namespace pawl::config
