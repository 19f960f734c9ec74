// docs/front-proxies.md: every configuration on it is run, by the proxy that it is for.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "tests/e2e/docs_page.hpp"
#include "tests/e2e/tls_fixture.hpp"
#include "tests/support/child_process.hpp"

namespace pawl::e2e {
namespace {

using testing::ChildProcess;
using ::testing::HasSubstr;
using testing::Wire;

const std::string client_address = "127.0.0.9";  // a proxy's connections are from 127.0.0.1

std::string page() { return docs_page("front-proxies.md"); }

std::string block(const std::string& heading, const std::string& language) {
  return block_in(page(), heading, language);
}

std::string without_line(std::string text, const std::string& opening) {
  const std::size_t at = text.find(opening);
  if (at == std::string::npos) throw std::runtime_error("the example has no " + opening);
  return text.erase(at, text.find('\n', at) + 1 - at);
}

// In Pawl's place: answers every GET, and resets the connection of every POST once it is there
// whole. Never does a connection live on.
class DyingGateway {
 public:
  explicit DyingGateway(bool proxy_header) : proxy_header_(proxy_header) {
    const testing::Listening listening = testing::listen_on_loopback(0, 16);
    port_ = listening.port;
    listener_ = listening.descriptor;
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~DyingGateway() {
    stopping_ = true;
    Wire::connect(port_).close();
    acceptor_.join();
    ::close(listener_);
    for (std::thread& connection : connections_) connection.join();
  }
  DyingGateway(const DyingGateway&) = delete;
  DyingGateway& operator=(const DyingGateway&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int posts() const { return posts_; }
  [[nodiscard]] int gets() const { return gets_; }

 private:
  void accept_all() {
    while (true) {
      const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (stopping_) {
        if (descriptor >= 0) ::close(descriptor);
        return;
      }
      connections_.emplace_back([this, descriptor] { serve(Wire(descriptor)); });
    }
  }
  void serve(Wire wire) {
    try {
      if (proxy_header_) {
        const std::string fixed = wire.read_exactly(16);
        wire.read_exactly(static_cast<unsigned char>(fixed[14]) * 256U +
                          static_cast<unsigned char>(fixed[15]));
      }
      while (const std::optional<std::string> head = wire.read_head()) {
        const auto length = testing::find_header(testing::headers_in(*head), "Content-Length");
        if (length) wire.read_exactly(std::stoul(*length));
        if (head->starts_with("POST ")) {
          ++posts_;
          return wire.reset();
        }
        ++gets_;
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      }
    } catch (const testing::WireError&) {  // the proxy has gone
    }
  }

  const bool proxy_header_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> posts_ = 0;
  std::atomic<int> gets_ = 0;
  std::vector<std::thread> connections_;
  std::thread acceptor_;
};

class FrontProxies : public TlsTest {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder() / name) << text;
    return folder() / name;
  }

  // Pawl by the example under that heading, with what every test has of its own.
  ServeProcess& start_pawl(const std::string& heading) {
    std::string top = block(heading, "toml");
    std::string rest;
    if (const std::size_t table = top.find("\n["); table != std::string::npos) {
      rest = top.substr(table + 1);
      top.erase(table + 1);
      replace(rest, "/etc/pawl/certificate.pem", file("server.pem"));
      replace(rest, "/etc/pawl/key.pem", file("server.key"));
    }
    Settings settings{"", without_line(without_line(top, "listen = "), "upstream = "), rest};
    if (top.find("listen = \"unix:") != std::string::npos) settings.socket = socket();
    return start(settings);
  }
  [[nodiscard]] std::string socket() const { return folder() / "pawl.sock"; }

  // The proxy by its example, in front of a gateway at that port.
  void start_proxy(const std::string& heading, const std::string& language, std::uint16_t gateway,
                   std::uint16_t admin = 0) {
    port_ = free_port();
    std::string text = block(heading, language);
    replace(text, language == "caddy" ? ":8000" : "127.0.0.1:8000",
            (language == "caddy" ? ":" : "127.0.0.1:") + std::to_string(port_));
    if (text.find("unix:/run/pawl/pawl.sock") != std::string::npos) {
      replace(text, "/run/pawl/pawl.sock", socket());
    } else {
      replace(text, "127.0.0.1:8080", "127.0.0.1:" + std::to_string(gateway));
    }
    if (text.find("port 9090") != std::string::npos) {
      replace(text, "port 9090", "port " + std::to_string(admin));
    }
    proxy_ = std::make_unique<ChildProcess>(command_of(language, text), folder() / "said",
                                            std::vector<std::string>{"HOME=" + folder().string()});
    const auto listens = [&] {
      try {
        return Wire::connect(port_).descriptor() >= 0;
      } catch (const testing::WireError&) {
        return false;
      }
    };
    ASSERT_TRUE(until(listens)) << proxy_->said();
  }

  std::vector<std::string> command_of(const std::string& language, const std::string& text) {
    if (language == "haproxy") {
      return {PAWL_HAPROXY, "-db", "-f", write("haproxy.cfg", text)};
    }
    if (language == "caddy") {
      return {PAWL_CADDY, "run", "--adapter", "caddyfile", "--config", write("Caddyfile", text)};
    }
    return {PAWL_NGINX, "-c", write("nginx.conf", nginx_with(text, folder()))};
  }

  RawClient client() { return RawClient(Wire::connect_from(client_address, port_)); }
  static HttpAnswer ask(RawClient& client, const std::string& bytes) {
    client.send(bytes);
    return client.read_answer();
  }
  static std::string get_of(const std::string& path) {
    return "GET " + path + " HTTP/1.1\r\nHost: api.example\r\n\r\n";
  }

  // One payment for two requests, logged with the client's address whatever the client says of
  // itself, and all requests of a client over one connection.
  void expect_serves(const ServeProcess& gateway) {
    RawClient one = client();
    Post claimed = payment;
    claimed.headers.emplace_back("X-Forwarded-For", "203.0.113.9");
    claimed.headers.emplace_back("Forwarded", "for=203.0.113.9");
    EXPECT_EQ(ask(one, to_bytes(claimed)).status, 201) << proxy_->said() << gateway.err();
    EXPECT_EQ(ask(one, to_bytes(claimed)).value("Idempotent-Replayed"), "true");
    EXPECT_EQ(upstream.effects(payment.key), 1U);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(one, get_of("/a")).status, 201);
    EXPECT_EQ(metric(gateway, "pawl_connections"), 1) << "connections are reused";
    ASSERT_TRUE(gateway.wait_for_text(" /a "));
    EXPECT_THAT(gateway.err(), HasSubstr("client=" + client_address));
    EXPECT_THAT(gateway.err(), ::testing::Not(HasSubstr("client=203.0.113.9")));
    EXPECT_THAT(gateway.err(), ::testing::Not(HasSubstr("client=127.0.0.1 ")));
  }
  // Straight to the gateway, from an address that is not trusted.
  static void expect_ignores_strangers(const ServeProcess& gateway) {
    RawClient stranger(Wire::connect_from("127.0.0.8", gateway.port()));
    stranger.send("GET /spoofed HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n");
    EXPECT_EQ(stranger.read_answer().status, 201);
    EXPECT_TRUE(gateway.wait_for_text("client=127.0.0.8")) << gateway.err();
  }
  // The gateway dies with a POST that it has read, on a connection that had served before.
  void expect_no_retry(const std::string& heading, const std::string& language, bool proxy_header) {
    dying_ = std::make_unique<DyingGateway>(proxy_header);
    DyingGateway& gateway = *dying_;
    start_proxy(heading, language, gateway.port(), upstream.port());  // which is healthy
    RawClient one = client();
    ASSERT_EQ(ask(one, get_of("/a")).status, 200) << proxy_->said();
    EXPECT_FALSE(succeeds(one, payment));
    EXPECT_EQ(gateway.posts(), 1);
    RawClient another = client();
    Post without_key = payment;
    without_key.key = "";
    EXPECT_FALSE(succeeds(another, without_key));
    EXPECT_EQ(gateway.posts(), 2);
  }
  // An error, or the end of the connection: HAProxy says no more where it had been used before.
  static bool succeeds(RawClient& client, const Post& post) {
    try {
      return ask(client, to_bytes(post)).status < 500;
    } catch (const testing::WireError&) {
      return false;
    }
  }

  std::uint16_t port_ = 0;
  std::unique_ptr<DyingGateway> dying_;  // outlives the proxy, which has connections to it
  std::unique_ptr<ChildProcess> proxy_;
};

TEST_F(FrontProxies, Nginx) {
  const ServeProcess& gateway = start_pawl("nginx");
  start_proxy("nginx", "nginx", gateway.port());
  expect_serves(gateway);
  expect_ignores_strangers(gateway);
}

TEST_F(FrontProxies, NginxSendsAPostOnce) { expect_no_retry("nginx", "nginx", false); }

TEST_F(FrontProxies, NginxOverAUnixSocket) {
  const ServeProcess& gateway = start_pawl("nginx over a Unix socket");
  start_proxy("nginx over a Unix socket", "nginx", 0);
  expect_serves(gateway);
}

TEST_F(FrontProxies, Haproxy) {
  const ServeProcess& gateway = start_pawl("HAProxy");
  start_proxy("HAProxy", "haproxy", gateway.port(), gateway.admin_port());
  expect_serves(gateway);
}

TEST_F(FrontProxies, HaproxySendsAPostOnce) { expect_no_retry("HAProxy", "haproxy", true); }

TEST_F(FrontProxies, HaproxyThatDoesNotReadHttp) {
  const std::string heading = "HAProxy that does not read HTTP";
  const ServeProcess& gateway = start_pawl(heading);
  start_proxy(heading, "haproxy", gateway.port());
  const testing::Finished paid = testing::run_program(
      {"/usr/bin/curl", "-sS", "--max-time", "20", "--cacert", file("ca.pem"), "--interface",
       client_address, "-w", " %{http_code}", "-H", "Idempotency-Key: " + payment.key, "-d", "{}",
       "-H", "Content-Type: application/json",
       "https://127.0.0.1:" + std::to_string(port_) + "/a"});
  EXPECT_THAT(paid.out, ::testing::EndsWith(" 201")) << paid.err << proxy_->said();
  EXPECT_TRUE(gateway.wait_for_text("client=" + client_address)) << gateway.err();
}

TEST_F(FrontProxies, Caddy) {
  const ServeProcess& gateway = start_pawl("Caddy");
  start_proxy("Caddy", "caddy", gateway.port());
  expect_serves(gateway);
  expect_ignores_strangers(gateway);
}

TEST_F(FrontProxies, CaddySendsAPostOnce) { expect_no_retry("Caddy", "caddy", false); }

TEST_F(FrontProxies, HasNoExampleThatIsNotRun) {
  const std::string text = page();
  EXPECT_EQ(count_of(text, "```toml\n"), 5U);
  EXPECT_EQ(count_of(text, "```nginx\n"), 2U);
  EXPECT_EQ(count_of(text, "```haproxy\n"), 2U);
  EXPECT_EQ(count_of(text, "```caddy\n"), 1U);
  EXPECT_EQ(count_of(text, "\n```"), 20U);
}

}  // namespace
}  // namespace pawl::e2e
