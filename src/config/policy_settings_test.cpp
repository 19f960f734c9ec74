#include "src/config/policy_settings.hpp"

#include <gmock/gmock.h>

#include "src/config/read_for_tests.hpp"

namespace pawl::config {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

std::string policy(const std::string& line) { return "[policy]\n" + line; }

const RoutePolicy& first(const Config& config) { return config.routes.at(0).policy; }

TEST(PolicySettings, ReadsEverySetting) {
  const RoutePolicy read = good(policy(R"(
profile = "ietf"
key = "optional"
key_syntax = "bare"
min_key_length = 8
refuse_pii_keys = false
key_scope = "caller+route"
mode = "async"
transactional = true
in_flight = "wait"
wait_limit = "3s"
waiters = 4
on_lease_expiry = "unknown"
on_server_error = "hold"
on_refusal = "hold"
lease = "5s"
retention = "6h"
retention_from = "created"
expired = "tombstone"
tombstone_for = "7d"
forward_key = "derived"
near_duplicates = "off"
near_duplicate_window = "8s"
max_request_age = "9m"
request_time = "header:X-Sent-At"
fingerprint = { include = ["/a", "/b/0"], exclude = ["/c~1d"] }
body_limit = "10KiB"
response_limit = 11
new_keys_per_second = 12
lookups_per_second = 1.5
active_keys = 13
upstream_timeout = "14s"
upstream_connect_timeout = "15ms"
upstream_idle = "0s"
until_close = "accept"
delete_body = true
key_from = ["header:Idempotency-Key"]
methods = ["POST", "DELETE"]
resource_type = "payment"
resource_id = "/id"
)"))
                               .policy;
  EXPECT_EQ(read.key, KeyRequirement::optional);
  EXPECT_EQ(read.key_rules.syntax, KeySyntax::bare);
  EXPECT_EQ(read.key_rules.length_min, 8U);
  EXPECT_FALSE(read.key_rules.refuse_pii);
  EXPECT_EQ(read.key_scope, KeyScope::caller_route);
  EXPECT_EQ(read.mode, Mode::async);
  EXPECT_TRUE(read.transactional);
  EXPECT_EQ(read.in_flight, WhenInFlight::wait);
  EXPECT_EQ(read.wait_limit, 3s);
  EXPECT_EQ(read.waiters, 4U);
  EXPECT_EQ(read.on_lease_expiry, OnLeaseExpiry::unknown);
  EXPECT_EQ(read.on_server_error, OnServerError::hold);
  EXPECT_EQ(read.on_refusal, OnRefusal::hold);
  EXPECT_EQ(read.lease, 5s);
  EXPECT_EQ(read.retention, 6h);
  EXPECT_EQ(read.retention_from, RetentionFrom::created);
  EXPECT_EQ(read.expired, WhenExpired::tombstone);
  EXPECT_EQ(read.tombstone_for, 7 * 24h);
  EXPECT_EQ(read.forward_key, ForwardKey::derived);
  EXPECT_EQ(read.near_duplicates, WhenNearDuplicate::off);
  EXPECT_EQ(read.near_duplicate_window, 8s);
  EXPECT_EQ(read.max_request_age, 9min);
  EXPECT_EQ(read.request_time, "header:X-Sent-At");
  EXPECT_EQ(read.fingerprint.include.size(), 2U);
  EXPECT_EQ(read.fingerprint.exclude.at(0).tokens, std::vector<std::string>{"c/d"});
  EXPECT_EQ(read.body_limit, 10240U);
  EXPECT_EQ(read.response_bytes_max, 11U);
  EXPECT_EQ(read.new_keys_per_second, 12.0);
  EXPECT_EQ(read.lookups_per_second, 1.5);
  EXPECT_EQ(read.active_keys, 13U);
  EXPECT_EQ(read.upstream_timeout, 14s);
  EXPECT_EQ(read.upstream_connect_timeout, 15ms);
  EXPECT_EQ(read.upstream_idle, 0s);
  EXPECT_EQ(read.until_close, UntilClose::accept);
  EXPECT_TRUE(read.delete_body);
  EXPECT_EQ(read.key_from, std::vector<std::string>{"header:Idempotency-Key"});
  EXPECT_EQ(read.methods, (std::vector<std::string>{"POST", "DELETE"}));
  EXPECT_EQ(read.resource_type, "payment");
  EXPECT_EQ(read.resource_id, "/id");
}

TEST(PolicySettings, AProfileChoosesTheDefaultsAndSettingsApplyOverThem) {
  const RoutePolicy stripe = good(policy("profile = \"stripe\"")).policy;
  EXPECT_EQ(stripe.on_server_error, OnServerError::store);
  EXPECT_EQ(stripe.retention, 24h);
  const RoutePolicy strict = good(policy("profile = \"strict\"\non_refusal = \"release\"")).policy;
  EXPECT_EQ(strict.profile, Profile::strict);
  EXPECT_EQ(strict.on_server_error, OnServerError::hold);
  EXPECT_EQ(strict.expired, WhenExpired::tombstone);
  EXPECT_EQ(strict.on_refusal, OnRefusal::release);
}

TEST(PolicySettings, ARouteInheritsWhatPolicySetAndNotTheDefaultsOfItsProfile) {
  const Config config = good(R"(
[policy]
profile = "stripe"
lease = "10s"
[[route]]
match = "POST /a"
[[route]]
match = "POST /b"
profile = "strict"
lease = "20s"
)");
  EXPECT_EQ(first(config).profile, Profile::stripe);
  EXPECT_EQ(first(config).retention, 24h);
  EXPECT_EQ(first(config).lease, 10s);
  const RoutePolicy& other = config.routes.at(1).policy;
  EXPECT_EQ(other.retention, 48h) << "24h is the stripe profile's, not something [policy] said";
  EXPECT_EQ(other.on_server_error, OnServerError::hold);
  EXPECT_EQ(other.lease, 20s);
  EXPECT_EQ(config.policy.lease, 10s);
}

TEST(PolicySettings, ARouteTakesAwayWhatItInherited) {
  const Config config = good(R"(
[policy]
new_keys_per_second = 5
active_keys = 6
max_request_age = "5m"
request_time = "header:X-Sent-At"
fingerprint.exclude = ["/a"]
[[route]]
match = "POST /a"
new_keys_per_second = "off"
active_keys = "off"
max_request_age = "off"
request_time = ""
fingerprint = {}
)");
  EXPECT_EQ(config.policy.new_keys_per_second, 5.0);
  EXPECT_EQ(first(config).new_keys_per_second, std::nullopt);
  EXPECT_EQ(first(config).active_keys, std::nullopt);
  EXPECT_EQ(first(config).max_request_age, std::nullopt);
  EXPECT_EQ(first(config).request_time, "");
  EXPECT_EQ(first(config).fingerprint, FingerprintRules{});
}

TEST(PolicySettings, ATransactionalRouteIsRetriedUnlessSomebodySaidOtherwise) {
  struct Row {
    const char* policy;
    const char* route;
    OnLeaseExpiry expected;
  };
  for (const Row& row : {
           Row{"", "", OnLeaseExpiry::unknown},
           Row{"", "transactional = true", OnLeaseExpiry::retry},
           Row{"transactional = true", "", OnLeaseExpiry::retry},
           Row{"transactional = true", "transactional = false", OnLeaseExpiry::unknown},
           Row{"on_lease_expiry = \"unknown\"", "transactional = true", OnLeaseExpiry::unknown},
           Row{"", "transactional = true\non_lease_expiry = \"unknown\"", OnLeaseExpiry::unknown},
       }) {
    const Config config =
        good(policy(row.policy) + "\n[[route]]\nmatch = \"POST /a\"\n" + row.route);
    EXPECT_EQ(first(config).on_lease_expiry, row.expected) << row.policy << " / " << row.route;
  }
}

TEST(PolicySettings, WrongValuesAreRefusedInPolicyAndInARoute) {
  struct Row {
    const char* line;
    const char* message;
  };
  for (const Row& row : {
           Row{"lease = \"500ms\"", "'lease' is \"500ms\"; it must be from 1s to 24h"},
           Row{"upstream_timeout = \"0s\"", "it must be from 1ms to 24h"},
           Row{"upstream_connect_timeout = \"0s\"", "it must be from 1ms to 24h"},
           Row{"retention = \"0s\"", "it must be from 1s to 36500d"},
           Row{"near_duplicate_window = \"2h\"", "it must be from 1ms to 1h"},
           Row{"min_key_length = 0", "it must be from 1 to 255"},
           Row{"min_key_length = 256", "it must be from 1 to 255"},
           Row{"body_limit = \"2GiB\"", "it must be from 1B to 1GiB"},
           Row{"waiters = 0", "it must be from 1 to 1000000"},
           Row{"key_from = []", "it must list the places where a request may have its key"},
           Row{"key_from = [\"X-Key\"]",
               "it must list the places where a request may have its key"},
           Row{"key_from = [\"header:\"]", "it must list the places where a request may have"},
           Row{"key_from = [\"/a~2\"]", "it must list the places where a request may have its key"},
           Row{"methods = []", "it must list some of POST, PATCH, PUT and DELETE"},
           Row{"methods = [\"GET\"]", "it must list some of POST, PATCH, PUT and DELETE"},
           Row{"methods = [\"post\"]", "it must list some of POST, PATCH, PUT and DELETE"},
           Row{"key_from = [\"/key\"]\nkey = \"optional\"", "must be known before"},
           Row{"key_from = [\"/key\"]\nmode = \"observe\"", "does not wait for"},
           Row{"key_from = [\"header:X-Key\"]\nforward_key = \"derived\"",
               "the client's own key too"},
           Row{"new_keys_per_second = 0", "it must be a number over 0, or \"off\""},
           Row{"lookups_per_second = nan", "it must be a number over 0, or \"off\""},
           Row{"lookups_per_second = \"5\"", "it must be a number over 0, or \"off\""},
           Row{"active_keys = 0", "it must be from 1 to 1000000000"},
           Row{"max_request_age = \"never\"", "it must be a duration"},
           Row{"expired = \"remove\"", "one of \"delete\", \"tombstone\""},
           Row{"in_flight = \"conflct\"",
               "'in_flight' is \"conflct\"; it must be one of \"conflict\", \"accepted\", "
               "\"wait\"; "
               "did you mean \"conflict\"?"},
           Row{"key_scope = \"route\"", "one of \"caller\", \"caller+route\""},
           Row{"request_time = \"iat\"", "it must be \"jwt:iat\" or \"header:\""},
           Row{"request_time = \"header:\"", "it must be \"jwt:iat\" or \"header:\""},
           Row{"resource_id = \"id\"", "it must be a JSON pointer into the answer"},
           Row{"fingerprint = [\"/a\"]", "it must be a table, like { exclude"},
           Row{"fingerprint = { exclude = \"/a\" }", "'exclude' is \"/a\"; it must be a list"},
           Row{"fingerprint = { exclude = [\"/a\", \"b\"] }",
               "'exclude' is \"b\"; it must be a JSON pointer"},
           Row{"fingerprint = { exclude = [1] }", "'exclude' is 1; it must be a text in quotes"},
           Row{"on_lease_expiry = \"resume\"", "it must be \"unknown\" or \"retry\""},
           Row{"max_request_age = \"5m\"", "'max_request_age' needs 'request_time'"},
           Row{"max_request_age = \"25h\"\nrequest_time = \"header:X-At\"",
               "'max_request_age' is 25h, more than half of 'retention', which is 48h"},
           Row{"max_request_age = \"5m\"\nrequest_time = \"jwt:iat\"",
               "callers bring no token; set [caller] from = \"jwt\""},
           Row{"resource_type = \"payment\"", "'resource_type' and 'resource_id' go together"},
       }) {
    const std::string in_policy = errors_of(policy(row.line));
    EXPECT_THAT(in_policy, HasSubstr("f:2:")) << row.line;
    EXPECT_THAT(in_policy, HasSubstr(row.message)) << row.line;
    const std::string in_route =
        errors_of(std::string("[[route]]\nmatch = \"POST /\"\n") + row.line);
    EXPECT_THAT(in_route, HasSubstr("f:3:")) << row.line;
    EXPECT_THAT(in_route, HasSubstr(row.message)) << row.line;
  }
}

TEST(PolicySettings, ATroubleOfPolicyIsNotRepeatedForEveryRoute) {
  const std::string errors = errors_of(
      "[policy]\nmax_request_age = \"5m\"\nlease = 1\n[[route]]\nmatch = \"POST /a\"\n"
      "[[route]]\nmatch = \"POST /b\"\nlease = \"2s\"\n");
  EXPECT_EQ(std::ranges::count(errors, '\n'), 2) << errors;
}

TEST(PolicySettings, AShortRetentionIsAWarning) {
  EXPECT_THAT(warnings_of(policy("retention = \"59m\"")), HasSubstr("f:2:13: 'retention' is 59m"));
  EXPECT_EQ(warnings_of(policy("retention = \"1h\"")), "");
  EXPECT_THAT(warnings_of("[[route]]\nmatch = \"POST /\"\nretention = \"1m\""),
              HasSubstr("f:3:13: 'retention' is 1m"));
}

}  // namespace
}  // namespace pawl::config
