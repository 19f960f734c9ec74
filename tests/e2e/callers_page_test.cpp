// docs/callers.md: every example on it is run.
#include "tests/e2e/callers_fixture.hpp"
#include "tests/e2e/docs_page.hpp"
#include "tests/e2e/tls_fixture.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/service_process.hpp"

namespace pawl::e2e {
namespace {

using testing::ChildProcess;
using testing::ServiceProcess;

std::string page() { return docs_page("callers.md"); }

std::string block(const std::string& heading, const std::string& language, int nth = 0) {
  return block_in(page(), heading, language, nth);
}

// Without what every test has of its own: addresses and the store.
std::string tables_of(const std::string& example) { return example.substr(example.find("\n[")); }

class CallersPage : public CallersTest {
 protected:
  ServeProcess& start_example(const std::string& tables) {
    // The fixture has a [policy] table of its own.
    const std::size_t policy = tables.find("\n[policy]\n");
    if (policy == std::string::npos) return start({.policy = "", .top = "", .rest = tables});
    return start(
        {.policy = tables.substr(policy + 10), .top = "", .rest = tables.substr(0, policy)});
  }
  // Asked about ann, who is acme, about bob, who is refused, and about a stranger.
  void expect_example_answers(const ServeProcess& gateway) {
    expect_refused(post(gateway.port(), payment_by("key-of-nobody")), 401, "unauthenticated", "");
    expect_refused(post(gateway.port(), payment_by("key-of-bob")), 403, "forbidden", "");
    EXPECT_EQ(post(gateway.port(), payment_by("key-of-ann")).status, 201);
    EXPECT_EQ(post(gateway.port(), payment_by("key-of-ann")).value("Idempotent-Replayed"), "true");
    EXPECT_EQ(upstream.effects(payment.key), 1U);
  }
};

TEST_F(CallersPage, ApiKeys) {
  std::string tables = tables_of(block("API keys", "toml"));
  replace(tables, "/etc/pawl/keys.toml", write("keys.toml", block("API keys", "toml", 1)));
  ServeProcess& gateway = start_example(tables);
  EXPECT_EQ(post(gateway.port(), payment_with({{"X-Api-Key", "key"}})).status, 201);
  EXPECT_EQ(
      post(gateway.port(), payment_with({{"X-Api-Key", "key-2"}})).value("Idempotent-Replayed"),
      "true");
  const HttpAnswer refused = post(gateway.port(), payment_with({{"X-Api-Key", "key-3"}}));
  EXPECT_EQ(refused.status, 401);
  EXPECT_TRUE(refused.header("WWW-Authenticate"));
}

TEST_F(CallersPage, TokensOfAnIdentityProvider) {
  const SigningKey key = SigningKey::rsa();
  UpstreamServer provider;
  provider.behave(Behaviour::answer(200, key.jwks("2026-01")));
  std::string tables = tables_of(block("Tokens", "toml"));
  replace(tables, "https://id.example/.well-known", provider.url() + "/.well-known");
  ServeProcess& gateway = start_example(tables);
  const std::string told = R"(,"iss":"https://id.example/","aud":"payments","org_id":"acme")";
  const std::string token = key.token("RS256", claims(told), R"(,"kid":"2026-01","typ":"JWT")");
  expect_refused(post(gateway.port(), payment_by(key.token("RS256", claims()))), 401,
                 "unauthenticated", "no issuer");
  EXPECT_EQ(post(gateway.port(), payment_by(token)).status, 201);
  EXPECT_EQ(provider.requests().at(0).target, "/.well-known/jwks.json");
}

TEST_F(CallersPage, TokensOfAFileAndOfASecret) {
  const SigningKey key = SigningKey::p256();
  std::string tables = tables_of(block("Tokens", "toml", 1));
  replace(tables, "/etc/pawl/jwks.json", write("jwks.json", key.jwks("1")));
  const std::string token = key.token("ES256", claims(R"(,"org_id":"acme")", "ann"));
  ServeProcess& by_file = start_example(tables);
  EXPECT_EQ(post(by_file.port(), payment_by(token)).status, 201);
  EXPECT_TRUE(by_file.wait_for_text("caller:acme/ann"));
  EXPECT_EQ(by_file.terminate(), 0);
  const std::string secret(32, 's');
  tables = tables_of(block("Tokens", "toml", 2));
  replace(tables, "/etc/pawl/jwt.secret", write("jwt.secret", secret + "\n"));
  ServeProcess& by_secret =
      start({.policy = "", .top = "", .rest = tables, .flags = {"--new-scope-rule"}});
  EXPECT_EQ(post(by_secret.port(), payment_by(SigningKey::shared(secret).token("HS256", claims())))
                .status,
            201);
}

TEST_F(CallersPage, AHeader) {
  ServeProcess& gateway = start_example(tables_of(block("A header of a trusted proxy", "toml")));
  EXPECT_EQ(post(gateway.port(), payment).status, 401);
  EXPECT_EQ(post(gateway.port(), payment_with({{"X-Tenant", "acme"}})).status, 201);
}

class CallersPageWithTls : public TlsTest {};

TEST_F(CallersPageWithTls, AClientCertificate) {
  make_certificate("client", "ca", "subjectAltName=DNS:acme.example");
  make_certificate("nameless", "ca", "extendedKeyUsage=clientAuth");
  std::string tables = tables_of(block("A client certificate", "toml"));
  replace(tables, "/etc/pawl/server.pem", file("server.pem"));
  replace(tables, "/etc/pawl/server.key", file("server.key"));
  replace(tables, "/etc/pawl/clients.pem", file("ca.pem"));
  ServeProcess& gateway = start({.policy = "", .top = "", .rest = tables});
  const auto paid_by = [&](const std::string& name) {
    return curl(gateway, {"--cert", file(name + ".pem"), "--key", file(name + ".key")}).out;
  };
  EXPECT_TRUE(curl(gateway).out.ends_with(" 401")) << "no certificate";
  EXPECT_TRUE(paid_by("nameless").ends_with(" 401"));
  EXPECT_EQ(upstream.requests().size(), 0U);
  EXPECT_TRUE(paid_by("client").ends_with(" 201"));
  EXPECT_TRUE(gateway.wait_for_text("caller:acme.example"));
}

TEST_F(CallersPage, AnAuthEndpointOfNode) {
  std::string script = block("An auth endpoint", "js");
  replace(script, "listen(4000,", "listen(0,");
  ServiceProcess node({PAWL_NODE, write("auth.js", script)});
  std::string tables = tables_of(block("An auth endpoint", "toml"));
  replace(tables, "http://127.0.0.1:4000", node.url());
  ServeProcess& gateway = start_example(tables);
  expect_example_answers(gateway);
  node.kill_hard();
  EXPECT_EQ(post(gateway.port(), payment_by("key-of-carol")).status, 503);
}

TEST_F(CallersPage, AnAuthEndpointOfNginx) {
  const std::uint16_t port = free_port();
  std::string servers = block("An auth endpoint", "nginx");
  replace(servers, "127.0.0.1:4000", "127.0.0.1:" + std::to_string(port));
  const std::string configuration = nginx_with(servers, folder());
  ChildProcess nginx({PAWL_NGINX, "-c", write("nginx.conf", configuration)}, folder() / "said");
  ASSERT_TRUE(until([&] {
    try {
      return get(port, "/auth").status == 401;
    } catch (const std::exception&) {
      return false;
    }
  })) << nginx.said();
  std::string tables = tables_of(block("An auth endpoint", "toml"));
  replace(tables, "127.0.0.1:4000", "127.0.0.1:" + std::to_string(port));
  ServeProcess& gateway = start_example(tables);
  expect_example_answers(gateway);
  nginx.kill_hard();
  EXPECT_EQ(post(gateway.port(), payment_by("key-of-carol")).status, 503);
}

TEST_F(CallersPage, OldRequests) {
  ServeProcess& gateway = start_example(tables_of(block("Old requests", "toml")));
  expect_refused(post(gateway.port(), payment_with({{"X-Sent-At", "2020-01-01T00:00:00Z"}})), 400,
                 "stale-request", "");
  const Post fresh = payment_with({{"X-Sent-At", std::to_string(now())}});
  EXPECT_EQ(post(gateway.port(), fresh).status, 201);
}

TEST_F(CallersPage, HasNoExampleThatIsNotRun) {
  const std::string text = page();
  int blocks = 0;
  for (std::size_t at = 0; (at = text.find("\n```", at)) != std::string::npos; ++at) ++blocks;
  EXPECT_EQ(blocks / 2, 11);
}

}  // namespace
}  // namespace pawl::e2e
