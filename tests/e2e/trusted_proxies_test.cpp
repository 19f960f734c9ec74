// Whose request it is where a proxy is in front: Forwarded, X-Forwarded-For, the PROXY protocol,
// and limits by that address. Proxies are 127.0.0.1, clients other addresses of this machine.
#include "tests/e2e/tls_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using testing::Wire;
using namespace std::string_literals;

const std::string proxies = "trusted_proxies = [\"127.0.0.1/32\"]\n";
const std::string stranger = "127.0.0.9";

std::string request(const std::string& path, const std::string& fields = {}) {
  return "GET " + path + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}

class TrustedProxies : public OnSqlite {
 protected:
  // The address that the log has of the request to that path.
  static std::string logged(const ServeProcess& gateway, const std::string& path) {
    const std::string named = " " + path + " ";
    if (!gateway.wait_for_text(named)) return "no line";
    const std::string text = gateway.err() + gateway.out();
    const std::size_t line = text.rfind('\n', text.find(named)) + 1;
    const std::size_t at = text.find("client=", line) + 7;
    return text.substr(at, text.find_first_of(" \n", at) - at);
  }
  static HttpAnswer ask(RawClient& client, const std::string& bytes) {
    client.send(bytes);
    return client.read_answer();
  }
  static HttpAnswer ask_from(const std::string& source, const ServeProcess& gateway,
                             const std::string& bytes) {
    RawClient client(Wire::connect_from(source, gateway.port()));
    return ask(client, bytes);
  }
};

TEST_F(TrustedProxies, SayWhoTheClientIsAndNoOneElseDoes) {
  ServeProcess& gateway = start({"", proxies, ""});
  EXPECT_EQ(get(gateway.port(), "/list", {{"X-Forwarded-For", "192.0.2.7"}}).status, 201);
  EXPECT_EQ(logged(gateway, "/list"), "192.0.2.7");
  EXPECT_EQ(get(gateway.port(), "/forwarded", {{"Forwarded", "for=\"[2001:db8::7]:1\""}}).status,
            201);
  EXPECT_EQ(logged(gateway, "/forwarded"), "2001:db8::7");
  EXPECT_EQ(get(gateway.port(), "/none").status, 201);
  EXPECT_EQ(logged(gateway, "/none"), "127.0.0.1");
  EXPECT_EQ(get(gateway.port(), "/malformed", {{"X-Forwarded-For", "192.0.2.7, x"}}).status, 201);
  EXPECT_EQ(logged(gateway, "/malformed"), "127.0.0.1");
  const std::string claims = "X-Forwarded-For: 192.0.2.7\r\nForwarded: for=192.0.2.7\r\n";
  EXPECT_EQ(ask_from(stranger, gateway, request("/stranger", claims)).status, 201);
  EXPECT_EQ(logged(gateway, "/stranger"), stranger);
}

TEST_F(TrustedProxies, AreNoneUnlessTheyAreNamed) {
  ServeProcess& gateway = start();
  EXPECT_EQ(get(gateway.port(), "/list", {{"X-Forwarded-For", "192.0.2.7"}}).status, 201);
  EXPECT_EQ(logged(gateway, "/list"), "127.0.0.1");
}

TEST_F(TrustedProxies, AreAddedToWhatTheUpstreamIsTold) {
  ServeProcess& gateway = start({"", proxies, ""});
  get(gateway.port(), "/a",
      {{"X-Forwarded-For", "192.0.2.7"}, {"Forwarded", "for=192.0.2.7;by=_edge"}});
  EXPECT_EQ(upstream.requests().back().header("X-Forwarded-For"), "192.0.2.7, 127.0.0.1");
  EXPECT_EQ(upstream.requests().back().header("Forwarded"),
            "for=192.0.2.7;by=_edge, for=127.0.0.1;proto=http");
  Post guarded = payment;
  guarded.headers.emplace_back("X-Forwarded-For", "192.0.2.7");
  EXPECT_EQ(post(gateway.port(), guarded).status, 201);
  EXPECT_EQ(upstream.requests().back().header("X-Forwarded-For"), "192.0.2.7, 127.0.0.1");
}

TEST_F(TrustedProxies, ChangeByAReloadForConnectionsThatAreOpen) {
  ServeProcess& gateway = start({"", proxies, ""});
  RawClient kept(gateway.port());
  const std::string claim = "X-Forwarded-For: 192.0.2.7\r\n";
  EXPECT_EQ(ask(kept, request("/before", claim)).status, 201);
  EXPECT_EQ(logged(gateway, "/before"), "192.0.2.7");
  gateway.rewrite_config(config_of({"", "trusted_proxies = [\"10.0.0.0/8\"]\n", ""}));
  gateway.ask_to_reload();
  ASSERT_TRUE(gateway.wait_for_text("the configuration was reloaded")) << gateway.err();
  EXPECT_EQ(ask(kept, request("/after", claim)).status, 201);
  EXPECT_EQ(logged(gateway, "/after"), "127.0.0.1");
}

// Who may name the caller is decided by the connection, not by an address that a header says.
TEST_F(TrustedProxies, AreNotWhoMayNameACaller) {
  const std::string by_header =
      "[caller]\nfrom = \"header\"\nheader = \"X-Tenant\"\ntrusted = [\"192.0.2.7/32\"]\n";
  ServeProcess& gateway = start({"", proxies, by_header});
  Post forged = payment;
  forged.headers.emplace_back("X-Forwarded-For", "192.0.2.7");
  forged.headers.emplace_back("X-Tenant", "acme");
  EXPECT_EQ(post(gateway.port(), forged).status, 401);
  EXPECT_EQ(upstream.count(), 0U);
  get(gateway.port(), "/a", {{"X-Forwarded-For", "192.0.2.7"}, {"X-Tenant", "acme"}});
  EXPECT_FALSE(upstream.requests().back().header("X-Tenant")) << "it is removed from what passes";
}

TEST_F(TrustedProxies, MayNameACallerWhereTheyAreListedForIt) {
  const std::string by_header =
      "[caller]\nfrom = \"header\"\nheader = \"X-Tenant\"\ntrusted = [\"127.0.0.1/32\"]\n";
  ServeProcess& gateway = start({"", proxies, by_header});
  Post named = payment;
  named.headers.emplace_back("X-Forwarded-For", "192.0.2.7");
  named.headers.emplace_back("X-Tenant", "acme");
  EXPECT_EQ(post(gateway.port(), named).status, 201);
  EXPECT_EQ(ask_from(stranger, gateway, to_bytes(named)).status, 401);
}

TEST_F(TrustedProxies, LimitsAreOfTheClientAndNotOfTheProxy) {
  ServeProcess& gateway = start({"", proxies + "connections_per_address = 1\n", ""});
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201).after(gate));
  RawClient first(gateway.port());
  first.send(request("/one", "X-Forwarded-For: 192.0.2.7\r\n"));
  upstream.wait_for(1);
  RawClient other(gateway.port());
  other.send(request("/other", "X-Forwarded-For: 192.0.2.8\r\n"));
  upstream.wait_for(2);
  RawClient again(gateway.port());
  const HttpAnswer refused = ask(again, request("/too-many", "X-Forwarded-For: 192.0.2.7\r\n"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(problem_of(refused), "overloaded");
  EXPECT_TRUE(refused.header("Retry-After"));
  EXPECT_EQ(logged(gateway, "/too-many"), "192.0.2.7");
  EXPECT_EQ(metric(gateway, "pawl_connections_refused_total{limit=\"address\"}"), 1);
  gate->release();
  EXPECT_EQ(first.read_answer().status, 201);
  EXPECT_EQ(other.read_answer().status, 201);
  EXPECT_EQ(ask(again, request("/later", "X-Forwarded-For: 192.0.2.7\r\n")).status, 201)
      << "the proxy's connection stayed";
}

TEST_F(TrustedProxies, SpeakTheProxyProtocol) {
  ServeProcess& gateway = start({"", proxies + "proxy_protocol = true\n", ""});
  RawClient line(gateway.port());
  EXPECT_EQ(ask(line, "PROXY TCP4 192.0.2.7 10.0.0.1 5000 443\r\n" +
                          request("/line", "X-Forwarded-For: 203.0.113.9\r\n"))
                .status,
            201);
  EXPECT_EQ(logged(gateway, "/line"), "192.0.2.7") << "a client's own header is not believed";
  EXPECT_EQ(upstream.requests().back().header("X-Forwarded-For"), "203.0.113.9, 192.0.2.7");
  EXPECT_EQ(ask(line, request("/kept")).status, 201);
  EXPECT_EQ(logged(gateway, "/kept"), "192.0.2.7");
  RawClient binary(gateway.port());
  const std::string opening = "\r\n\r\n\0\r\nQUIT\n"s;
  EXPECT_EQ(
      ask(binary, opening + "\x21\x11\x00\x0C\xC0\x00\x02\x08\x0A\x00\x00\x01\x10\x00\x01\xBB"s +
                      request("/binary"))
          .status,
      201);
  EXPECT_EQ(logged(gateway, "/binary"), "192.0.2.8");
  RawClient local(gateway.port());
  EXPECT_EQ(ask(local, opening + "\x20\x00\x00\x00"s + request("/local")).status, 201);
  EXPECT_EQ(logged(gateway, "/local"), "127.0.0.1");
  RawClient unknown(gateway.port());
  EXPECT_EQ(
      ask(unknown, "PROXY UNKNOWN\r\n" + request("/unknown", "X-Forwarded-For: 192.0.2.7\r\n"))
          .status,
      201);
  EXPECT_EQ(logged(gateway, "/unknown"), "127.0.0.1") << "whose header it is is not known";
}

TEST_F(TrustedProxies, WithoutAProxyHeaderNothingIsServed) {
  ServeProcess& gateway =
      start({"", proxies + "proxy_protocol = true\n", "[limits]\nheader_timeout = \"200ms\"\n"});
  RawClient none(gateway.port());
  none.send(request("/none"));
  EXPECT_TRUE(none.closed());
  EXPECT_TRUE(gateway.wait_for_text("there is no PROXY header, from 127.0.0.1")) << gateway.err();
  RawClient malformed(gateway.port());
  malformed.send("PROXY TCP4 x y 1 2\r\n" + request("/malformed"));
  EXPECT_TRUE(malformed.closed());
  EXPECT_TRUE(gateway.wait_for_text("the PROXY header is malformed")) << gateway.err();
  RawClient slow(gateway.port());
  slow.send("PROXY TCP4 ");
  EXPECT_TRUE(slow.closed());
  EXPECT_TRUE(gateway.wait_for_text("no whole PROXY header came")) << gateway.err();
  RawClient elsewhere(Wire::connect_from(stranger, gateway.port()));
  elsewhere.send("PROXY TCP4 192.0.2.7 10.0.0.1 5000 443\r\n" + request("/elsewhere"));
  EXPECT_TRUE(elsewhere.closed());
  EXPECT_TRUE(gateway.wait_for_text("not from one of trusted_proxies")) << gateway.err();
  EXPECT_THAT(gateway.err(), HasSubstr("from " + stranger));
  EXPECT_EQ(upstream.count(), 0U);
}

TEST_F(TrustedProxies, LimitConnectionsByTheProxyHeader) {
  ServeProcess& gateway =
      start({"", proxies + "proxy_protocol = true\nconnections_per_address = 1\n", ""});
  const auto by_proxy = [](const std::string& client, const std::string& path) {
    return "PROXY TCP4 " + client + " 10.0.0.1 5000 443\r\n" + request(path);
  };
  RawClient first(gateway.port());
  EXPECT_EQ(ask(first, by_proxy("192.0.2.7", "/first")).status, 201);
  RawClient other(gateway.port());
  EXPECT_EQ(ask(other, by_proxy("192.0.2.8", "/other")).status, 201);
  RawClient second(gateway.port());
  const HttpAnswer refused = ask(second, by_proxy("192.0.2.7", "/second"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(problem_of(refused), "overloaded");
  EXPECT_TRUE(second.closed());
}

class LimitedConnections : public TrustedProxies {
 protected:
  // One whose request was answered and that stays, and what the next one is told.
  void expect_told(const Settings& settings, const std::string& limit, const std::string& trouble) {
    ServeProcess& gateway = start(settings);
    RawClient first(gateway.port());
    EXPECT_EQ(ask(first, request("/first")).status, 201);
    const Post large{.key = payment.key, .body = std::string(100'000, 'x')};
    const HttpAnswer refused = post(gateway.port(), large);
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(problem_of(refused), "overloaded");
    EXPECT_EQ(refused.value("Connection"), "close");
    EXPECT_TRUE(refused.header("Retry-After"));
    EXPECT_TRUE(refused.header("Pawl-Request-Id"));
    EXPECT_EQ(logged(gateway, "/payments"), "127.0.0.1");
    EXPECT_TRUE(gateway.wait_for_text(trouble)) << gateway.err();
    EXPECT_EQ(metric(gateway, "pawl_connections_refused_total{limit=\"" + limit + "\"}"), 1);
    EXPECT_EQ(upstream.count(), 1U) << "nothing was sent on";
    EXPECT_EQ(ask(first, request("/still-there")).status, 201);
  }
};

TEST_F(LimitedConnections, InAllAreToldSo) {
  expect_told({"", "", "[limits]\nconnections = 1\n"}, "all", "[limits] connections");
}

TEST_F(LimitedConnections, OfAnAddressAreToldSo) {
  expect_told({"", "connections_per_address = 1\n", ""}, "address", "connections_per_address");
}

// What is told costs something: not without end.
TEST_F(LimitedConnections, AreClosedWhereTooManyWouldHaveToBeTold) {
  ServeProcess& gateway = start({"", "", "[limits]\nconnections = 1\n"});
  RawClient first(gateway.port());
  EXPECT_EQ(ask(first, request("/first")).status, 201);
  std::list<RawClient> silent;
  EXPECT_TRUE(until([&] {
    for (int i = 0; i < 40; ++i) silent.emplace_back(gateway.port());
    return gateway.err().find("closed without an answer") != std::string::npos;
  })) << gateway.err();
  EXPECT_GT(metric(gateway, "pawl_connections_refused_total{limit=\"all\"}"), 0);
  EXPECT_EQ(ask(first, request("/still-there")).status, 201);
}

class ProxiedTls : public TlsTest {};

TEST_F(ProxiedTls, TheHeaderComesBeforeTheHandshake) {
  ServeProcess& gateway = start({"", proxies + "proxy_protocol = true\n", tls()});
  const testing::Finished paid = curl(gateway, {"--haproxy-protocol"});
  EXPECT_THAT(paid.out, ::testing::EndsWith(" 201")) << paid.err << gateway.err();
  EXPECT_NE(curl(gateway).exit_code, 0) << "without one";
  EXPECT_TRUE(gateway.wait_for_text("there is no PROXY header")) << gateway.err();
}

TEST_F(ProxiedTls, AConnectionTooManyIsToldOverTls) {
  ServeProcess& gateway = start({"", "", "[limits]\nconnections = 1\n" + tls()});
  const Wire silent = Wire::connect(gateway.port());
  ASSERT_TRUE(until([&] { return metric(gateway, "pawl_connections") == 1; }));
  const testing::Finished refused = curl(gateway);
  EXPECT_THAT(refused.out, HasSubstr("urn:pawl:problem:overloaded")) << refused.err;
  EXPECT_THAT(refused.out, ::testing::EndsWith(" 503"));
}

}  // namespace
}  // namespace pawl::e2e
