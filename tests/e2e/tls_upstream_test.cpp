// An https upstream: nginx with a certificate of our own making.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/e2e/gateway_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

// A port that was free a moment ago.
std::uint16_t free_port() { return UpstreamServer().port(); }

class TlsUpstream : public OnSqlite {
 protected:
  TlsUpstream() : port_(free_port()) {
    const testing::Finished made = testing::run_program(
        {"/usr/bin/openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", file("key.pem"),
         "-out", file("certificate.pem")});
    if (made.exit_code != 0) throw std::runtime_error(made.err);
    std::ofstream(file("nginx.conf"))
        << "daemon off; master_process off; pid " << file("pid") << "; error_log " << file("errors")
        << ";\nevents {}\nhttp { access_log off; client_body_temp_path " << file("b")
        << "; proxy_temp_path " << file("p") << "; fastcgi_temp_path " << file("f")
        << "; uwsgi_temp_path " << file("u") << "; scgi_temp_path " << file("s")
        << ";\nserver { listen 127.0.0.1:" << port_ << " ssl; ssl_certificate "
        << file("certificate.pem") << "; ssl_certificate_key " << file("key.pem")
        << ";\nlocation / { return 201 '{\"paid\":true}'; }\n"
           "location /ends { chunked_transfer_encoding off; gzip on; gzip_min_length 1; "
           "gzip_proxied any; gzip_types text/plain; default_type text/plain; "
           "keepalive_timeout 0; return 200 'paid, and no length named'; } } }\n";
    const std::string configuration = file("nginx.conf");
    server_ = ::fork();
    if (server_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::execl("/usr/sbin/nginx", "nginx", "-c", configuration.c_str(), nullptr);
      ::_exit(127);
    }
    const bool up = until([&] {
      try {
        RawClient probe(port_);
        return true;
      } catch (const std::exception&) {
        return false;
      }
    });
    if (!up) throw std::runtime_error("nginx did not start");
  }
  ~TlsUpstream() override {
    ::kill(server_, SIGKILL);
    ::waitpid(server_, nullptr, 0);
    ::unsetenv("SSL_CERT_FILE");
  }

  [[nodiscard]] std::string file(const std::string& name) const { return folder() / name; }
  ServeProcess& start_behind_tls() {
    Settings settings;
    settings.upstream = "https://localhost:" + std::to_string(port_);
    return start(settings);
  }

 private:
  std::uint16_t port_;
  pid_t server_ = -1;
};

TEST_F(TlsUpstream, ThatIsVerifiedIsUsedAndItsConnectionKept) {
  ::setenv("SSL_CERT_FILE", file("certificate.pem").c_str(), 1);
  ServeProcess& gateway = start_behind_tls();
  for (int i = 0; i < 3; ++i) {
    Post one = payment;
    one.key = "a-key-for-tls-" + std::to_string(i) + "xx";
    const HttpAnswer answer = post(gateway.port(), one);
    EXPECT_EQ(answer.status, 201);
    EXPECT_EQ(answer.body, R"({"paid":true})");
  }
  EXPECT_EQ(get(gateway.port(), "/any").status, 201);
}

// gzip leaves nginx without a length, and it ends TLS in order.
TEST_F(TlsUpstream, ThatEndsProperlyNeedsNoLength) {
  ::setenv("SSL_CERT_FILE", file("certificate.pem").c_str(), 1);
  ServeProcess& gateway = start_behind_tls();
  Post ends = payment;
  ends.path = "/ends";
  ends.headers.emplace_back("Accept-Encoding", "gzip");
  const HttpAnswer answer = post(gateway.port(), ends);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.value("Content-Encoding"), "gzip");
  EXPECT_EQ(status_of(gateway, payment.key), "completed");
}

TEST_F(TlsUpstream, ThatNobodyVouchesForIsSentNothing) {
  ServeProcess& gateway = start_behind_tls();
  const HttpAnswer answer = post(gateway.port(), payment);
  EXPECT_EQ(answer.status, 502);
  EXPECT_EQ(problem_of(answer), "upstream-unreachable");
  EXPECT_EQ(status_of(gateway, payment.key), "failed_retryable");
  EXPECT_TRUE(gateway.wait_for_text("certificate verify failed"));
}

}  // namespace
}  // namespace pawl::e2e
