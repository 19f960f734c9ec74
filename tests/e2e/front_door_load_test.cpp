// Reloads and renewed certificates under load: no request fails.
#include <csignal>
#include <fstream>

#include "tests/e2e/tls_fixture.hpp"
#include "tests/support/child_process.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class UnderLoad : public TlsTest {
 protected:
  // Payments with a new key each, for as long as it is let.
  [[nodiscard]] testing::ChildProcess load(const ServeProcess& gateway, const std::string& name,
                                           const std::string& connection) const {
    std::ofstream(file(name + ".lua"))
        << "local n = 0\nrequest = function()\n  n = n + 1\n  return wrk.format('POST', "
           "'/payments', {['Content-Type'] = 'application/json', ['Connection'] = '"
        << connection << "', ['Idempotency-Key'] = 'a-payment-of-" << name
        << "-' .. n}, '{\"amount\":1}')\nend\n";
    return testing::ChildProcess(
        {"/usr/bin/wrk", "-t1", "-c4", "-d600s", "--timeout", "30s", "-s", file(name + ".lua"),
         "https://localhost:" + std::to_string(gateway.port())},
        file(name + ".log"));
  }

  // What wrk says at its end.
  static std::string end_of(testing::ChildProcess& load) {
    load.signal(SIGINT);
    load.wait();
    return load.said();
  }
};

TEST_F(UnderLoad, AHundredReloadsAndTwentyCertificatesFailNoRequest) {
  constexpr int reloads = 100;
  constexpr int reloads_per_certificate = 5;
  std::ofstream(file("token")) << "0123456789abcdef";
  const std::string admin = "[admin]\ntoken_file = \"" + file("token") + "\"\n";
  const Post order{.key = "",
                   .body = "",
                   .path = "/api/v1/reload",
                   .headers = {{"Authorization", "Bearer 0123456789abcdef"}}};
  ServeProcess& gateway = start({"", "", admin + tls()});
  testing::ChildProcess kept = load(gateway, "kept", "keep-alive");
  testing::ChildProcess fresh = load(gateway, "fresh", "close");
  ASSERT_TRUE(until([&] { return upstream.requests().size() > 10; }));
  for (int i = 1; i <= reloads; ++i) {
    const std::string name = "server-" + std::to_string((i - 1) / reloads_per_certificate);
    const bool renews = (i - 1) % reloads_per_certificate == 0;
    if (renews) make_certificate(name, "ca", "subjectAltName=DNS:localhost");
    gateway.rewrite_config(config_of(
        {"upstream_timeout = \"" + std::to_string(30 + i % 10) + "s\"", "",
         admin + tls("tls", name) + "[limits]\nconnections = " + std::to_string(1000 + i) + "\n"}));
    ASSERT_EQ(post(gateway.admin_port(), order).body, "{\"reloaded\":true}\n");
    if (!renews) continue;
    EXPECT_THAT(served_subject(gateway), HasSubstr("CN = " + name));
  }
  for (testing::ChildProcess* each : {&kept, &fresh}) {
    const std::string said = end_of(*each);
    EXPECT_THAT(said, HasSubstr("Requests/sec"));
    EXPECT_THAT(said, Not(HasSubstr("Non-2xx"))) << said;
    EXPECT_THAT(said, Not(HasSubstr("Socket errors"))) << said;
  }
  EXPECT_EQ(gateway.terminate(), 0);
}

}  // namespace
}  // namespace pawl::e2e
