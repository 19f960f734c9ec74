#include "pawl/types/policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

struct ProfileRow {
  Profile profile;
  bool transactional;
  OnLeaseExpiry on_lease_expiry;
  OnServerError on_server_error;
  OnRefusal on_refusal;
  Duration retention;
  WhenExpired expired;
};

TEST(Policy, ProfilesAreTheNamedDefaultsOfTheDesign) {
  using enum Profile;
  const auto unknown = OnLeaseExpiry::unknown;
  const auto again = OnLeaseExpiry::retry;  // a transactional route can be retried in safety
  const auto store = OnServerError::store;
  const auto hold = OnServerError::hold;
  const auto free = OnRefusal::release;
  const std::vector<ProfileRow> table{
      {ietf, false, unknown, hold, free, 48h, WhenExpired::remove},
      {ietf, true, again, hold, free, 48h, WhenExpired::remove},
      {stripe, false, unknown, store, free, 24h, WhenExpired::remove},
      {stripe, true, again, store, free, 24h, WhenExpired::remove},
      {strict, false, unknown, hold, OnRefusal::hold, 48h, WhenExpired::tombstone},
      {strict, true, again, hold, OnRefusal::hold, 48h, WhenExpired::tombstone},
  };
  for (const ProfileRow& row : table) {
    Policy expected;
    expected.profile = row.profile;
    expected.transactional = row.transactional;
    expected.on_lease_expiry = row.on_lease_expiry;
    expected.on_server_error = row.on_server_error;
    expected.on_refusal = row.on_refusal;
    expected.retention = row.retention;
    expected.expired = row.expired;
    const Policy policy = default_policy(row.profile, row.transactional);
    const StoredPolicy& stored = policy;
    EXPECT_EQ(stored, expected) << to_text(row.profile) << row.transactional;
    EXPECT_EQ(policy.profile, row.profile);
    EXPECT_EQ(policy.key, KeyRequirement::required);
    EXPECT_EQ(policy.in_flight, WhenInFlight::conflict);
    EXPECT_EQ(policy.response_bytes_max, 1048576U);
  }
}

TEST(Policy, EveryChoiceHasAWordThatReadsBack) {
  const auto check = []<class Enum>(Enum) {
    for (const auto& [value, name] : Names<Enum>::table) {
      EXPECT_EQ(to_text(value), name);
      EXPECT_EQ(from_text<Enum>(name), value) << name;
    }
    EXPECT_EQ(from_text<Enum>("?"), std::nullopt);
    EXPECT_EQ(from_text<Enum>(""), std::nullopt);
  };
  check(Profile{});
  check(KeyRequirement{});
  check(WhenInFlight{});
  check(OnLeaseExpiry{});
  check(OnServerError{});
  check(OnRefusal{});
  check(RetentionFrom{});
  check(WhenExpired{});
  check(Mode{});
  check(ForwardKey{});
  check(KeySyntax{});
}

TEST(StoredPolicy, EveryCombinationSurvivesTheRoundTrip) {
  constexpr std::size_t count = std::size_t{3} * 2 * 3 * 3 * 2 * 2 * 2 * 4 * 4;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = i;
    const auto pick = [&rest](std::size_t size) {
      const std::size_t digit = rest % size;
      rest /= size;
      return digit;
    };
    StoredPolicy policy;
    policy.mode = static_cast<Mode>(pick(3));
    policy.transactional = pick(2) == 1;
    policy.on_lease_expiry = static_cast<OnLeaseExpiry>(pick(3));
    policy.on_server_error = static_cast<OnServerError>(pick(3));
    policy.on_refusal = static_cast<OnRefusal>(pick(2));
    policy.retention_from = static_cast<RetentionFrom>(pick(2));
    policy.expired = static_cast<WhenExpired>(pick(2));
    const std::size_t longer = pick(4);
    if (longer == 1) policy.lease = 1us;
    if (longer == 2) policy.upstream_timeout = 0us, policy.retention = 24h * 36500;
    if (longer == 3) policy.retention = 1h, policy.tombstone_for = 1us;
    const std::size_t rules = pick(4);
    if (rules & 1U) policy.fingerprint.include = {{{"a", "0", ""}}, {{}}, {{"~/\"\\\n\xC3\xA4"}}};
    if (rules & 2U) policy.fingerprint.exclude = {{{"client_sent_at"}}};
    const auto decoded = decode_policy(encode(policy));
    ASSERT_TRUE(decoded) << encode(policy) << ": " << decoded.error();
    ASSERT_EQ(*decoded, policy) << encode(policy);
  }
}

TEST(StoredPolicy, WhatAProviderWasSentAndWhoCanSayStayWithTheAttempt) {
  StoredPolicy policy;
  policy.sent_key = ForwardKey::derived;
  policy.source = "bank by derived key";
  EXPECT_EQ(decode_policy(encode(policy)).value(), policy);
  policy.sent_key = ForwardKey::same;
  EXPECT_EQ(decode_policy(encode(policy)).value(), policy) << "which is not the same as not known";
  EXPECT_FALSE(decode_policy(R"({"v":1,"sent_key":"other"})"));
  EXPECT_FALSE(decode_policy(R"({"v":1,"source":1})"));
}

// These two texts are in databases. If this test fails, the meaning of stored records has changed.
TEST(StoredPolicy, VersionOneIsFrozen) {
  StoredPolicy usual;
  usual.mode = Mode::sync;
  usual.transactional = false;
  usual.on_lease_expiry = OnLeaseExpiry::unknown;
  usual.on_server_error = OnServerError::retry;
  usual.on_refusal = OnRefusal::release;
  usual.lease = 30s;
  usual.upstream_timeout = 30s;
  usual.retention = 48h;
  usual.retention_from = RetentionFrom::completed;
  usual.expired = WhenExpired::remove;
  usual.tombstone_for = 720h;
  EXPECT_EQ(encode(usual), R"({"v":1})");
  EXPECT_EQ(*decode_policy(R"({"v":1})"), usual);

  const StoredPolicy unusual{
      .mode = Mode::async,
      .transactional = true,
      .on_lease_expiry = OnLeaseExpiry::retry,
      .on_server_error = OnServerError::hold,
      .on_refusal = OnRefusal::hold,
      .lease = 1s,
      .upstream_timeout = 2s,
      .retention = 3s,
      .retention_from = RetentionFrom::created,
      .expired = WhenExpired::tombstone,
      .tombstone_for = 4s,
      .fingerprint = {.include = {{{"a"}}, {{"b", "c"}}}, .exclude = {{{"d"}}}}};
  const char* text =
      R"({"v":1,"mode":"async","transactional":true,"on_lease_expiry":"retry",)"
      R"("on_server_error":"hold","on_refusal":"hold","lease_us":1000000,)"
      R"("upstream_timeout_us":2000000,"retention_us":3000000,"retention_from":"created",)"
      R"("expired":"tombstone","tombstone_for_us":4000000,)"
      R"("include":["/a","/b/c"],"exclude":["/d"]})";
  EXPECT_EQ(encode(unusual), text);
  EXPECT_EQ(*decode_policy(text), unusual);
}

struct Refused {
  const char* text;
  const char* why;
};

TEST(StoredPolicy, WhatIsNotUnderstoodIsRefused) {
  const std::vector<Refused> table{
      {"", "policy: "},
      {"{", "policy: "},
      {R"({"v":1}x)", "policy: "},
      {R"({"v":1,"v":1})", "duplicate"},
      {R"({"v":1,"mode":"sync","mode":"async"})", "duplicate"},
      {"{}", "no version"},
      {"[]", "no version"},
      {"1", "no version"},
      {R"({"v":"1"})", "no version"},
      {R"({"v":1.0})", "no version"},
      {R"({"v":null})", "no version"},
      {R"({"v":0})", "version 0 is not known"},
      {R"({"v":2})", "version 2 is not known"},
      {R"({"v":1,"colour":"red"})", R"(unknown name at "colour")"},
      {R"({"v":1,"profile":"ietf"})", R"(unknown name at "profile")"},
      {R"({"v":1,"mode":"batch"})", R"(unknown value at "mode")"},
      {R"({"v":1,"mode":1})", R"(unknown value at "mode")"},
      {R"({"v":1,"mode":null})", R"(unknown value at "mode")"},
      {R"({"v":1,"on_lease_expiry":"Retry"})", R"(unknown value at "on_lease_expiry")"},
      {R"({"v":1,"expired":"remove"})", R"(unknown value at "expired")"},
      {R"({"v":1,"transactional":"true"})", R"("transactional")"},
      {R"({"v":1,"transactional":1})", R"("transactional")"},
      {R"({"v":1,"lease_us":-1})", R"(unknown value at "lease_us")"},
      {R"({"v":1,"lease_us":1.5})", R"(unknown value at "lease_us")"},
      {R"({"v":1,"lease_us":1e3})", R"(unknown value at "lease_us")"},
      {R"({"v":1,"lease_us":"30s"})", R"(unknown value at "lease_us")"},
      {R"({"v":1,"retention_us":9223372036854775808})", R"(unknown value at "retention_us")"},
      {R"({"v":1,"retention_us":9223372036854775807})", R"(unknown value at "retention_us")"},
      {R"({"v":1,"include":"/a"})", R"(unknown value at "include")"},
      {R"({"v":1,"include":[1]})", R"(unknown value at "include")"},
      {R"({"v":1,"exclude":["a"]})", R"(unknown value at "exclude")"},
      {R"({"v":1,"exclude":["/~2"]})", R"(unknown value at "exclude")"},
  };
  for (const Refused& row : table) {
    const auto policy = decode_policy(row.text);
    ASSERT_FALSE(policy) << row.text;
    EXPECT_THAT(policy.error(), HasSubstr(row.why)) << row.text;
  }
}

TEST(StoredPolicy, OrderAndBlanksDoNotMatter) {
  const auto policy = decode_policy(" {\"mode\" : \"async\",\n \"v\" : 1 } ");
  ASSERT_TRUE(policy) << policy.error();
  EXPECT_EQ(policy->mode, Mode::async);
}

}  // namespace
}  // namespace pawl
