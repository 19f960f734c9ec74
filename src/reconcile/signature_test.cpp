#include "src/reconcile/signature.hpp"

#include <gtest/gtest.h>

#include "src/core/sha256.hpp"

namespace pawl::reconcile {
namespace {

using namespace std::chrono_literals;

const Instant now{std::chrono::seconds(1'700'000'000)};
const std::string body = R"({"id":"evt_1"})";
const std::vector<std::string> secrets{"whsec_new_0123456789", "whsec_old_0123456789"};

std::string mac(const std::string& secret, const std::string& payload) {
  return hex(hmac_sha256(secret, payload));
}

std::string stripe(const std::string& t, const std::string& secret) {
  return "t=" + t + ",v1=" + mac(secret, t + "." + body);
}

std::string flaw(const std::string& header, const std::string& sent = body) {
  const auto found = check_signature({}, secrets, {{"stripe-signature", header}}, sent, now);
  return found ? std::string(to_text(*found)) : "none";
}

TEST(StripeSignature, IsRightUnderAnyOfTheSecrets) {
  EXPECT_EQ(flaw(stripe("1700000000", secrets[0])), "none");
  EXPECT_EQ(flaw(stripe("1700000000", secrets[1])), "none");
  EXPECT_EQ(flaw(stripe("1700000000", "whsec_nobody_012345")), "wrong");
  EXPECT_EQ(flaw(stripe("1700000000", "")), "wrong");
}

// The example of a provider that signs with two secrets while one is rotated.
TEST(StripeSignature, OneOfSeveralIsEnough) {
  const std::string good = mac(secrets[0], "1700000000." + body);
  EXPECT_EQ(flaw("t=1700000000,v1=" + std::string(64, '0') + ",v1=" + good), "none");
  EXPECT_EQ(flaw("t=1700000000, v1=" + good + ", v0=ignored"), "none");
  EXPECT_EQ(flaw("v1=" + good + ",t=1700000000"), "none");
  EXPECT_EQ(flaw("t=1700000000,v0=" + good), "malformed") << "another scheme is none of ours";
}

TEST(StripeSignature, EveryChangedByteIsWrong) {
  const std::string good = stripe("1700000000", secrets[0]);
  for (std::size_t i = 0; i < body.size(); ++i) {
    std::string changed = body;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(flaw(good, changed), "wrong") << i;
  }
  EXPECT_EQ(flaw(good, body + " "), "wrong");
  EXPECT_EQ(flaw(good, ""), "wrong");
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string changed = good;
    changed[i] = changed[i] == '7' ? '8' : '7';
    EXPECT_NE(flaw(changed), "none") << changed;
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(flaw(good.substr(0, size)), "none") << size;
  }
}

TEST(StripeSignature, IsGoodForATimeBothWays) {
  EXPECT_EQ(flaw(stripe("1699999700", secrets[0])), "none");
  EXPECT_EQ(flaw(stripe("1699999699", secrets[0])), "too-old");
  EXPECT_EQ(flaw(stripe("1700000300", secrets[0])), "none");
  EXPECT_EQ(flaw(stripe("1700000301", secrets[0])), "too-old");
  EXPECT_EQ(flaw(stripe("999999999999", secrets[0])), "too-old");
}

TEST(StripeSignature, WhatCannotBeReadIsMalformed) {
  for (const std::string header :
       {"", "t=", "v1=", "t=1700000000", "t=1700000000,v1", "garbage", ",,,", "t=-1,v1=00",
        "t=1700000000,t=1700000000,v1=00", "t=99999999999999999999,v1=00", "t=1e9,v1=00"}) {
    EXPECT_EQ(flaw(header), "malformed") << header;
  }
  std::string many = "t=1700000000";
  for (int i = 0; i < 100; ++i) many += ",v1=00";
  EXPECT_EQ(flaw(many), "malformed") << "nobody rotates that many";
}

TEST(Signature, IsMissingOrAmbiguous) {
  EXPECT_EQ(check_signature({}, secrets, {}, body, now), Flaw::missing);
  const std::string good = stripe("1700000000", secrets[0]);
  EXPECT_EQ(check_signature({}, secrets, {{"Stripe-Signature", good}, {"Stripe-Signature", good}},
                            body, now),
            Flaw::malformed);
  EXPECT_EQ(check_signature({}, {}, {{"Stripe-Signature", good}}, body, now), Flaw::wrong)
      << "no secret: nobody is believed";
}

SignatureRules hmac() {
  SignatureRules rules;
  rules.scheme = Scheme::hmac;
  rules.header = "X-Signature";
  return rules;
}

TEST(HmacSignature, IsOfTheBodyAlone) {
  const std::string good = mac(secrets[1], body);
  EXPECT_FALSE(check_signature(hmac(), secrets, {{"X-Signature", good}}, body, now));
  EXPECT_EQ(check_signature(hmac(), secrets, {{"X-Signature", good}}, body + "x", now),
            Flaw::wrong);
  SignatureRules prefixed = hmac();
  prefixed.prefix = "sha256=";
  EXPECT_FALSE(check_signature(prefixed, secrets, {{"X-Signature", "sha256=" + good}}, body, now));
  EXPECT_EQ(check_signature(prefixed, secrets, {{"X-Signature", good}}, body, now),
            Flaw::malformed);
  std::string upper = good;
  for (char& c : upper) c = static_cast<char>(c >= 'a' ? c - 32 : c);
  EXPECT_FALSE(check_signature(hmac(), secrets, {{"X-Signature", upper}}, body, now));
}

TEST(HmacSignature, MayBeDatedAndInBase64) {
  SignatureRules rules = hmac();
  rules.timestamp_header = "X-Time";
  const std::string good = mac(secrets[0], "1700000000." + body);
  const auto check = [&](const std::string& time) {
    return check_signature(rules, secrets, {{"X-Signature", good}, {"X-Time", time}}, body, now);
  };
  EXPECT_FALSE(check("1700000000"));
  EXPECT_EQ(check("1700000001"), Flaw::wrong);
  EXPECT_EQ(check("now"), Flaw::malformed);
  EXPECT_EQ(check_signature(rules, secrets, {{"X-Signature", good}}, body, now), Flaw::missing);
  // HMAC-SHA-256, key "key", as many libraries print it.
  SignatureRules base = hmac();
  base.encoding = Encoding::base64;
  EXPECT_FALSE(check_signature(base, {"key"},
                               {{"X-Signature", "97yD9DBThCSxMpjmqm+xQ+9NWaFJRhdZl0edvC0aPNg="}},
                               "The quick brown fox jumps over the lazy dog", now));
}

}  // namespace
}  // namespace pawl::reconcile
