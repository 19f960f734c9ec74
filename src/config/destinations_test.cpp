#include "src/config/destinations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/config/read_for_tests.hpp"
#include "src/config/show.hpp"

namespace pawl::config {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const std::string named = "[[destination]]\nname = \"provider\"\n";
const std::string whole = named + "url = \"https://api.provider.example\"\n";

TEST(Destinations, DefaultsAreTheOnesThatCannotSendTwice) {
  const Config config = good(whole);
  ASSERT_EQ(config.destinations.size(), 1U);
  const Destination& one = config.destinations.front();
  EXPECT_EQ(one.name, "provider");
  EXPECT_TRUE(one.url.tls);
  EXPECT_EQ(one.url.host, "api.provider.example");
  EXPECT_EQ(one.url.port, 443);
  EXPECT_EQ(one.path, "");
  EXPECT_TRUE(one.rules.dedupes);
  EXPECT_EQ(one.rules.dedupe_window, 24h);
}

TEST(Destinations, EverySettingIsReadAndShown) {
  const Config config = good(named +
                             "url = \"http://127.0.0.1:9000/v1/\"\n"
                             "dedupes = false\ndedupe_window = \"2h\"\nmax_attempts = 4\n"
                             "backoff_min = \"10ms\"\nbackoff_max = \"20s\"\ntimeout = \"3s\"\n"
                             "connect_timeout = \"2s\"\nconcurrency = 5\nlease = \"7s\"\n"
                             "provider_id = \"header:Location\"\nsecret_file = \"/s\"\n");
  const Destination& one = config.destinations.front();
  EXPECT_EQ(one.path, "/v1");
  EXPECT_EQ(one.url.port, 9000);
  EXPECT_FALSE(one.rules.dedupes);
  EXPECT_EQ(one.rules.max_attempts, 4U);
  EXPECT_EQ(one.rules.backoff_min, 10ms);
  EXPECT_EQ(one.rules.timeout, 3s);
  EXPECT_EQ(one.concurrency, 5U);
  EXPECT_EQ(one.lease, 7s);
  const std::string shown = show(config, Secrets::masked);
  EXPECT_THAT(shown, HasSubstr("\n[[destination]]\nname = \"provider\"\n"
                               "url = \"http://127.0.0.1:9000/v1\"\ndedupes = false\n"
                               "dedupe_window = \"2h\"\n"));
  EXPECT_EQ(show(good(shown), Secrets::masked), shown);
}

TEST(Destinations, ASecretIsNeverShown) {
  Config config = good(whole + "secret_file = \"/etc/pawl/provider.secret\"\n");
  config.destinations.front().secret = "0123456789abcdef-hush";
  EXPECT_EQ(show(config, Secrets::shown).find("hush"), std::string::npos);
}

TEST(Destinations, WhatIsWrongIsNamedWithWhatWouldBeRight) {
  EXPECT_THAT(errors_of("[destination]\nname = \"a\"\n"), HasSubstr("with two brackets"));
  EXPECT_THAT(errors_of(named), HasSubstr("needs 'name', by which rows call it, and 'url'"));
  EXPECT_THAT(errors_of(whole + "dedupe = true\n"), HasSubstr("did you mean 'dedupes'?"));
  EXPECT_THAT(errors_of(whole + whole), HasSubstr("is called \"provider\" already"));
  EXPECT_THAT(errors_of(named + "url = \"ftp://x\"\n"), HasSubstr("http:// or https://"));
  EXPECT_THAT(errors_of(named + "url = \"http://u:p@x\"\n"), HasSubstr("user or password"));
  EXPECT_THAT(errors_of(named + "url = \"http://x/a?b=1\"\n"), HasSubstr("no query"));
  EXPECT_THAT(errors_of(whole + "backoff_min = \"1h\"\n"), HasSubstr("'backoff_max'"));
  EXPECT_THAT(errors_of(whole + "dedupe_window = \"30s\"\n"), HasSubstr("over 'timeout'"));
  EXPECT_THAT(errors_of(whole + "provider_id = \"id\"\n"), HasSubstr("JSON pointer"));
  EXPECT_THAT(errors_of(whole + "max_attempts = 0\n"), HasSubstr("max_attempts"));
}

TEST(Destinations, ADrainShorterThanACallIsWarnedAbout) {
  EXPECT_THAT(warnings_of(whole + "timeout = \"2m\"\n"),
              HasSubstr("[[destination]] \"provider\" may take 2m"));
}

}  // namespace
}  // namespace pawl::config
