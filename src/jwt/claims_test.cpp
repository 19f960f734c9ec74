#include "src/jwt/claims.hpp"

#include <gtest/gtest.h>

namespace pawl::jwt {
namespace {

using namespace std::chrono_literals;

const Instant now{std::chrono::seconds(1'000'000)};

std::string refusal_of(const std::string& claims, const Rules& rules = {}) {
  const auto read = read_claims(claims, rules, now);
  return read ? "" : std::string(explain(read.error()));
}
std::string tenant_of(const std::string& claims, const Rules& rules = {}) {
  const auto read = read_claims(claims, rules, now);
  return read ? read->tenant : "refused: " + std::string(explain(read.error()));
}

TEST(Claims, NameTheTenant) {
  EXPECT_EQ(tenant_of(R"({"sub":"acme","exp":1000001})"), "acme");
  Rules rules;
  rules.tenant_claims = {"https://example.com/org"};
  EXPECT_EQ(tenant_of(R"({"https://example.com/org":"a/b%","exp":1000001})", rules), "a/b%");
  const auto read = read_claims(R"({"sub":"a","exp":1000001,"iat":999999.5})", {}, now);
  EXPECT_EQ(read.value().issued_at, now - 500ms);
}

TEST(Claims, SeveralNeverMakeTheSameName) {
  Rules rules;
  rules.tenant_claims = {"org", "sub"};
  EXPECT_EQ(tenant_of(R"({"org":"acme","sub":"ann@x.org","exp":1000001})", rules),
            "acme/ann@x.org");
  EXPECT_EQ(tenant_of(R"({"org":"a/b","sub":"c","exp":1000001})", rules), "a%2Fb/c");
  EXPECT_EQ(tenant_of(R"({"org":"a","sub":"b/c","exp":1000001})", rules), "a/b%2Fc");
  EXPECT_EQ(tenant_of(R"({"org":"a%2Fb","sub":"c","exp":1000001})", rules), "a%252Fb/c");
  EXPECT_EQ(refusal_of(R"({"org":"a","exp":1000001})", rules), explain(Refusal::no_tenant));
}

TEST(Claims, WithoutATenantAreRefused) {
  for (const char* claims :
       {R"({"exp":1000001})", R"({"sub":"","exp":1000001})", R"({"sub":7,"exp":1000001})",
        R"({"sub":null,"exp":1000001})", R"({"sub":["a"],"exp":1000001})"}) {
    EXPECT_EQ(refusal_of(claims), explain(Refusal::no_tenant)) << claims;
  }
  const std::string longest(tenant_bytes_max, 'a');
  EXPECT_EQ(tenant_of(R"({"exp":1000001,"sub":")" + longest + "\"}"), longest);
  EXPECT_EQ(refusal_of(R"({"exp":1000001,"sub":")" + longest + "a\"}"),
            explain(Refusal::no_tenant));
}

TEST(Claims, HaveTheirTime) {
  struct Row {
    const char* dates;
    Duration leeway;
    std::optional<Refusal> refusal;
  };
  for (const Row& row : {
           Row{R"("exp":1000001)", 0s, std::nullopt},
           Row{R"("exp":1000000)", 0s, Refusal::expired},
           Row{R"("exp":1000000.000001)", 0s, std::nullopt},
           Row{R"("exp":999991)", 10s, std::nullopt},
           Row{R"("exp":999990)", 10s, Refusal::expired},
           Row{R"("exp":-1)", 0s, Refusal::expired},
           Row{R"("exp":1e300)", 0s, Refusal::malformed},
           Row{R"("exp":"1000001")", 0s, Refusal::malformed},
           Row{R"("exp":null)", 0s, Refusal::malformed},
           Row{R"("iat":1000000)", 0s, Refusal::no_expiry},
           Row{R"("exp":1000001,"nbf":1000000)", 0s, std::nullopt},
           Row{R"("exp":1000002,"nbf":1000001)", 0s, Refusal::not_yet_valid},
           Row{R"("exp":1000020,"nbf":1000010)", 10s, std::nullopt},
           Row{R"("exp":1000020,"nbf":1000011)", 10s, Refusal::not_yet_valid},
           Row{R"("exp":1000001,"nbf":"0")", 0s, Refusal::malformed},
           Row{R"("exp":1000001,"iat":true)", 0s, Refusal::malformed},
       }) {
    Rules rules;
    rules.leeway = row.leeway;
    EXPECT_EQ(refusal_of(R"({"sub":"a",)" + std::string(row.dates) + "}", rules),
              row.refusal ? explain(*row.refusal) : "")
        << row.dates;
  }
}

TEST(Claims, AreOfTheIssuerAndForTheAudience) {
  Rules rules;
  rules.issuer = "https://id.example";
  rules.audience = "payments";
  const auto told = [&](const std::string& more) {
    return refusal_of(R"({"sub":"a","exp":1000001)" + more + "}", rules);
  };
  const std::string issuer = R"(,"iss":"https://id.example")";
  EXPECT_EQ(told(issuer + R"(,"aud":"payments")"), "");
  EXPECT_EQ(told(issuer + R"(,"aud":["x","payments"])"), "");
  for (const char* other : {"", R"(,"iss":"https://id.example/")", R"(,"iss":7)"}) {
    EXPECT_EQ(told(std::string(other) + R"(,"aud":"payments")"), explain(Refusal::wrong_issuer));
  }
  for (const char* other : {"", R"(,"aud":"payment")", R"(,"aud":[])", R"(,"aud":[["payments"]])",
                            R"(,"aud":{"payments":1})", R"(,"aud":"payments,x")"}) {
    EXPECT_EQ(told(issuer + other), explain(Refusal::wrong_audience)) << other;
  }
}

TEST(Claims, ThatAreNoObjectOrSayThingsTwiceAreRefused) {
  for (const char* claims : {"", "7", "[]", "{", R"({"sub":"a","sub":"b","exp":1000001})",
                             "{\"sub\":\"\xff\",\"exp\":1000001}"}) {
    EXPECT_EQ(refusal_of(claims), explain(Refusal::malformed)) << claims;
  }
}

}  // namespace
}  // namespace pawl::jwt
