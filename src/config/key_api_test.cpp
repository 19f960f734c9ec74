#include "src/config/key_api.hpp"

#include <gmock/gmock.h>

#include "src/config/files.hpp"
#include "src/config/read_for_tests.hpp"
#include "src/config/show.hpp"

namespace pawl::config {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string two_callers =
    "[caller]\nfrom = \"api-key\"\n[[caller.api_key]]\nscope = \"acme\"\nsha256 = \"" +
    std::string(64, 'a') + "\"\n[[caller.api_key]]\nscope = \"globex\"\nsha256 = \"" +
    std::string(64, 'b') + "\"\n";

TEST(KeyApi, IsOffUntilCallersAreListed) {
  EXPECT_THAT(Config{}.key_api.callers, IsEmpty());
  EXPECT_THAT(good("").key_api.callers, IsEmpty());
  EXPECT_THAT(show(Config{}), Not(HasSubstr("key_api")));
  EXPECT_THAT(errors_of("[key_api]\nlease = \"1m\"\n"), HasSubstr("[key_api] needs 'callers'"));
  EXPECT_THAT(errors_of("[key_api]\ncallers = []\n"),
              HasSubstr("it must name the callers that may use the key API"));
}

TEST(KeyApi, HasSettingsOfItsOwn) {
  const KeyApi api = good(two_callers +
                          "[policy]\nlease = \"5s\"\non_lease_expiry = \"retry\"\n[key_api]\n"
                          "callers = [\"acme\", \"globex\"]\nretention = \"7d\"\n"
                          "on_lease_expiry = \"resume\"\nmin_key_length = 8\n")
                         .key_api;
  EXPECT_THAT(api.callers, ElementsAre("acme", "globex"));
  EXPECT_EQ(api.policy.retention, 24h * 7);
  EXPECT_EQ(api.policy.on_lease_expiry, OnLeaseExpiry::resume);
  EXPECT_EQ(api.policy.key_rules.length_min, 8U);
  EXPECT_EQ(api.policy.lease, 30s) << "not that of [policy]: nothing is forwarded here";
  EXPECT_EQ(good(two_callers + "[policy]\non_lease_expiry = \"retry\"\n[key_api]\n"
                               "callers = [\"acme\"]\n")
                .key_api.policy.on_lease_expiry,
            OnLeaseExpiry::unknown);
}

TEST(KeyApi, WhatDoesNotBelongIsRefusedWithAHint) {
  EXPECT_THAT(errors_of("[key_api]\ncallers = [\"default\"]\nleese = \"1m\"\n"),
              HasSubstr("unknown setting 'leese' in [key_api]; did you mean 'lease'?"));
  EXPECT_THAT(errors_of("[key_api]\ncallers = [\"default\"]\nupstream_timeout = \"1m\"\n"),
              HasSubstr("unknown setting 'upstream_timeout' in [key_api]; it belongs in [policy]"));
  EXPECT_THAT(errors_of("[[key_api]]\ncallers = [\"default\"]\n"),
              HasSubstr("'key_api' must be a table"));
  EXPECT_THAT(errors_of("[key_ap]\n"), HasSubstr("did you mean [key_api]?"));
  EXPECT_THAT(errors_of("callers = [\"a\"]\n"), HasSubstr("it belongs in [key_api]"));
  EXPECT_THAT(errors_of("[key_api]\ncallers = \"default\"\n"), HasSubstr("'callers'"));
}

TEST(KeyApi, ACallerNobodyCanBeIsRefused) {
  EXPECT_THAT(
      errors_of("[key_api]\ncallers = [\"acme\"]\n"),
      HasSubstr("f:2:11: [key_api] callers names \"acme\", but callers are not distinguished "
                "([caller] from = \"single\"): all of them are \"default\""));
  EXPECT_EQ(errors_of("[key_api]\ncallers = [\"default\"]\n"), "");
  EXPECT_THAT(errors_of(two_callers + "[key_api]\ncallers = [\"acmee\"]\n"),
              HasSubstr("which no [[caller.api_key]] has for its 'scope'; did you mean \"acme\"?"));
  EXPECT_EQ(errors_of("[caller]\nfrom = \"jwt\"\nsecret_file = \"/s\"\n[key_api]\n"
                      "callers = [\"anybody\"]\n"),
            "")
      << "who callers are is only known when they come";
}

TEST(KeyApi, EverySettingSurvivesTheRoundTrip) {
  const std::string text = R"(
[key_api]
callers = ["acme"]
min_key_length = 3
refuse_pii_keys = false
on_lease_expiry = "resume"
lease = "2m"
retention = "3h"
retention_from = "created"
expired = "tombstone"
tombstone_for = "9d"
fingerprint = { include = ["/a"], exclude = ["/b"] }
body_limit = "5KiB"
response_limit = "6KiB"
new_keys_per_second = 7
lookups_per_second = 8
resource_type = "job"
resource_id = "/id"
reconcile = "bank"
)";
  const std::string source =
      "[[source]]\nname = \"bank\"\nurl = \"http://bank/{derived_key}\"\n[[source.rule]]\nstatus = "
      "404\n"
      "then = \"absent\"\n";
  const std::string shown = show(good(two_callers + text + source), Secrets::shown);
  EXPECT_THAT(shown, HasSubstr(text));
  EXPECT_EQ(show(good(shown), Secrets::shown), shown);
  for (const Setting<KeyApi>& setting : key_api_settings()) {
    EXPECT_THAT(text, HasSubstr("\n" + std::string(setting.name) + " = "));
  }
}

}  // namespace
}  // namespace pawl::config
