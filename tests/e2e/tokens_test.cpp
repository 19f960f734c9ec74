// from = "jwt".
#include "tests/e2e/callers_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;

class Tokens : public CallersTest {};

TEST_F(Tokens, OfEveryKeyOfAFileAreTaken) {
  const SigningKey rsa = SigningKey::rsa();
  const SigningKey p256 = SigningKey::p256();
  const SigningKey ed = SigningKey::ed25519();
  const SigningKey secret = SigningKey::shared(std::string(32, 's'));
  const std::string file = write("jwks.json", "{\"keys\":[" + rsa.jwk("r") + "," + p256.jwk("e") +
                                                  "," + ed.jwk("o") + "," + secret.jwk("s") + "]}");
  ServeProcess& gateway = start_with("from = \"jwt\"\njwks_file = \"" + file + "\"\n");
  const HttpAnswer first = post(gateway.port(), payment_by(rsa.token("RS256", claims())));
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(upstream.requests().at(0).header("Authorization").value_or("").substr(0, 7), "Bearer ")
      << "the service gets the credentials";
  for (const std::string& token :
       {rsa.token("PS256", claims(), R"(,"kid":"r")"), p256.token("ES256", claims()),
        ed.token("EdDSA", claims(R"(,"nbf":1)")), secret.token("HS256", claims())}) {
    const HttpAnswer again = post(gateway.port(), payment_by(token));
    EXPECT_EQ(again.value("Idempotent-Replayed"), "true") << "the same caller, by another token";
    EXPECT_EQ(again.body, first.body);
  }
  const HttpAnswer other =
      post(gateway.port(), payment_by(ed.token("EdDSA", claims("", "globex"))));
  EXPECT_FALSE(other.header("Idempotent-Replayed")) << "another tenant's key";
  EXPECT_EQ(upstream.effects(payment.key), 2U);
}

TEST_F(Tokens, ThatMustNotBeBelievedAreRefused) {
  const SigningKey rsa = SigningKey::rsa();
  const SigningKey p256 = SigningKey::p256();
  const std::string file =
      write("jwks.json", "{\"keys\":[" + rsa.jwk("r") + "," + p256.jwk("e") + "]}");
  ServeProcess& gateway =
      start_with("from = \"jwt\"\njwks_file = \"" + file +
                 "\"\nissuer = \"https://id.example/\"\naudience = \"payments\"\n");
  const std::string right = R"(,"iss":"https://id.example/","aud":["payments"])";
  const std::string good = claims(right);
  const std::string past = std::to_string(now() - 10);
  const std::string ahead = std::to_string(now() + 1000);
  const std::string signed_well = rsa.token("RS256", good);
  struct Row {
    const char* what;
    std::string token;
    const char* said;
  };
  const std::string body = signed_well.substr(0, signed_well.rfind('.') + 1);
  for (const Row& row : {
           Row{"none", rsa.token_with("RS256", R"({"alg":"none"})", good), "algorithm"},
           Row{"none without a signature", "eyJhbGciOiJub25lIn0.e30.", "algorithm"},
           Row{"the public key as a secret",
               SigningKey::shared(rsa.pem()).token("HS256", good, R"(,"kid":"r")"),
               "not its key's"},
           Row{"a key of another type", rsa.token("RS256", good, R"(,"kid":"e")"), "not its key's"},
           Row{"another key", SigningKey::rsa().token("RS256", good), "signature"},
           Row{"no signature", body, "signature"},
           Row{"an unknown kid", rsa.token("RS256", good, R"(,"kid":"x")"), "not known"},
           Row{"expired", rsa.token("RS256", R"({"sub":"a","exp":)" + past + right + "}"),
               "expired"},
           Row{"without expiry", rsa.token("RS256", R"({"sub":"a")" + right + "}"), "no expiry"},
           Row{"not yet valid", rsa.token("RS256", claims(right + R"(,"nbf":)" + ahead)),
               "not valid yet"},
           Row{"issuer", rsa.token("RS256", claims(R"(,"iss":"x","aud":"payments")")), "issuer"},
           Row{"audience", rsa.token("RS256", claims(R"(,"iss":"https://id.example/","aud":"x")")),
               "audience"},
           Row{"crit", rsa.token("RS256", good, R"(,"crit":["x"],"x":1)"), "critical"},
           Row{"no tenant", rsa.token("RS256", claims(right, "")), "does not name"},
           Row{"huge",
               rsa.token("RS256", claims(right + R"(,"x":")" + std::string(20'000, 'x') + '"')),
               "too long"},
           Row{"garbage", "garbage", "malformed"},
       }) {
    const HttpAnswer answer = post(gateway.port(), payment_by(row.token));
    expect_refused(answer, 401, "unauthenticated", row.what);
    EXPECT_THAT(answer.body, HasSubstr(row.said)) << row.what;
    EXPECT_THAT(answer.value("WWW-Authenticate"), HasSubstr("error=\"invalid_token\""));
  }
  expect_refused(post(gateway.port(), payment), 401, "unauthenticated", "no token");
  expect_refused(post(gateway.port(), payment_with({{"Authorization", "Basic YTpi"}})), 401,
                 "unauthenticated", "another scheme");
  expect_refused(post(gateway.port(), payment_with({{"Authorization", "Bearer " + signed_well},
                                                    {"Authorization", "Bearer x"}})),
                 400, "bad-request", "twice");
  const WireHeaders known{{"Authorization", "Bearer " + signed_well}};
  EXPECT_EQ(status_of(gateway, payment.key, known), "404") << "nothing was reserved";
  EXPECT_EQ(status_of(gateway, payment.key), "401");
  EXPECT_EQ(upstream.count(), 0U);
  EXPECT_EQ(post(gateway.port(), payment_by(signed_well)).status, 201);
}

TEST_F(Tokens, AFileIsReadAgainWhenItHasChanged) {
  const SigningKey first = SigningKey::ed25519();
  const SigningKey second = SigningKey::ed25519();
  const std::string file = write("jwks.json", first.jwks("1"));
  ServeProcess& gateway = start_with("from = \"jwt\"\njwks_file = \"" + file + "\"\n");
  const std::string by_second = second.token("EdDSA", claims());
  EXPECT_EQ(post(gateway.port(), payment_by(first.token("EdDSA", claims()))).status, 201);
  EXPECT_EQ(post(gateway.port(), payment_by(by_second)).status, 401);
  write("jwks.json", "{\"keys\":[" + second.jwk("2") + "," + second.jwk("3") + "]}");
  EXPECT_TRUE(until([&] { return post(gateway.port(), payment_by(by_second)).status == 201; }));
  EXPECT_EQ(post(gateway.port(), payment_by(first.token("EdDSA", claims()))).status, 401)
      << "a key that was taken out is out";
  write("jwks.json", "{");
  EXPECT_TRUE(until([&] {
    EXPECT_EQ(post(gateway.port(), payment_by(by_second)).status, 201);
    return gateway.err().find("stay in use") != std::string::npos ||
           gateway.out().find("stay in use") != std::string::npos;
  }));
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_F(Tokens, KeysAreFetchedOnceAgainForAnUnknownKidAndStayWhileTheEndpointIsDown) {
  const SigningKey first = SigningKey::ed25519();
  const SigningKey second = SigningKey::ed25519();
  UpstreamServer provider;
  provider.behave(Behaviour::answer(200, first.jwks("1")));
  ServeProcess& gateway =
      start_with("from = \"jwt\"\njwks_url = \"" + provider.url() + "/keys\"\n");
  const auto by = [&](const SigningKey& key, const std::string& kid) {
    return post(gateway.port(),
                payment_by(key.token("EdDSA", claims(), R"(,"kid":")" + kid + "\"")));
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(by(first, "1").status, 201);
  EXPECT_EQ(provider.count(), 1U);
  EXPECT_EQ(provider.requests().at(0).target, "/keys");
  provider.behave(
      Behaviour::answer(200, "{\"keys\":[" + first.jwk("1") + "," + second.jwk("2") + "]}"));
  EXPECT_EQ(by(second, "2").status, 201) << "rotated";
  EXPECT_EQ(provider.count(), 2U);
  provider.stop();
  for (int i = 0; i < 20; ++i) {
    const HttpAnswer answer = by(first, "made-up-" + std::to_string(i));
    EXPECT_EQ(answer.status, 401) << "the set is not older than the pause between two fetches";
  }
  EXPECT_EQ(by(first, "1").value("Idempotent-Replayed"), "true");
  EXPECT_EQ(by(second, "2").value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_F(Tokens, WithoutAnyKeysNobodyIsServedUntilThereAreSome) {
  const SigningKey key = SigningKey::ed25519();
  UpstreamServer provider;
  provider.behave(Behaviour::answer(500));
  ServeProcess& gateway = start_with("from = \"jwt\"\njwks_url = \"" + provider.url() + "\"\n");
  const Post one = payment_by(key.token("EdDSA", claims()));
  const HttpAnswer refused = post(gateway.port(), one);
  expect_refused(refused, 503, "auth-unavailable", "no keys");
  EXPECT_EQ(refused.value("Pawl-Should-Retry"), "true");
  EXPECT_TRUE(refused.header("Retry-After"));
  provider.behave(Behaviour::answer(200, key.jwks("1")));
  EXPECT_TRUE(until([&] { return post(gateway.port(), one).status == 201; }));
}

TEST_F(Tokens, OfTwoUsersOfATenantHaveTwoKeysWhereBothClaimsCount) {
  const SigningKey key = SigningKey::ed25519();
  const std::string file = write("jwks.json", key.jwks("1"));
  ServeProcess& gateway = start_with("from = \"jwt\"\njwks_file = \"" + file +
                                     "\"\ntenant_claim = [\"org\", \"sub\"]\n");
  const auto of = [&](const std::string& org, const std::string& sub) {
    return post(gateway.port(),
                payment_by(key.token("EdDSA", claims(R"(,"org":")" + org + "\"", sub))));
  };
  EXPECT_EQ(of("a/b", "c").status, 201);
  EXPECT_EQ(of("a/b", "c").value("Idempotent-Replayed"), "true");
  EXPECT_FALSE(of("a", "b/c").header("Idempotent-Replayed"));
  EXPECT_FALSE(of("a%2Fb", "c").header("Idempotent-Replayed"));
  EXPECT_EQ(upstream.effects(payment.key), 3U);
}

}  // namespace
}  // namespace pawl::e2e
