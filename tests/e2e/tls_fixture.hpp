// Gateways that speak TLS, with certificates of our own making and curl as the client.
#pragma once

#include <fstream>

#include "tests/e2e/gateway_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {

// How often it stands there.
inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

class TlsTest : public OnSqlite {
 protected:
  TlsTest() {
    make_authority("ca");
    make_certificate("server", "ca", "subjectAltName=DNS:localhost,IP:127.0.0.1");
  }

  [[nodiscard]] std::string file(const std::string& name) const { return folder() / name; }

  static void openssl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "/usr/bin/openssl");
    const testing::Finished made = testing::run_program(arguments);
    if (made.exit_code != 0) throw std::runtime_error(made.err);
  }

  void make_authority(const std::string& name) const {
    openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-days", "2", "-subj", "/CN=" + name, "-keyout", file(name + ".key"), "-out",
             file(name + ".pem")});
  }

  void make_certificate(const std::string& name, const std::string& authority,
                        const std::string& extension, const std::string& days = "2",
                        const std::string& subject = {}) const {
    openssl({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
             subject.empty() ? "/O=Acme Ltd/CN=" + name : subject, "-keyout", file(name + ".key"),
             "-out", file(name + ".csr")});
    std::ofstream(file(name + ".ext")) << extension << '\n';
    openssl({"x509", "-req", "-in", file(name + ".csr"), "-CA", file(authority + ".pem"), "-CAkey",
             file(authority + ".key"), "-CAcreateserial", "-days", days, "-extfile",
             file(name + ".ext"), "-out", file(name + ".pem")});
  }

  [[nodiscard]] std::string tls(const std::string& table = "tls",
                                const std::string& name = "server") const {
    return "[" + table + "]\ncertificate_file = \"" + file(name + ".pem") + "\"\nkey_file = \"" +
           file(name + ".key") + "\"\n";
  }

  // A payment, or what curl says of the connection.
  [[nodiscard]] testing::Finished curl(const ServeProcess& gateway,
                                       std::vector<std::string> more = {},
                                       const std::string& path = "/payments") const {
    std::vector<std::string> command{"/usr/bin/curl",
                                     "-sS",
                                     "--max-time",
                                     "20",
                                     "--cacert",
                                     file("ca.pem"),
                                     "-w",
                                     " %{http_code}",
                                     "-H",
                                     "Idempotency-Key: 0123456789abcdef",
                                     "-d",
                                     R"({"amount":100})",
                                     "-H",
                                     "Content-Type: application/json"};
    command.insert(command.end(), more.begin(), more.end());
    command.push_back("https://localhost:" + std::to_string(gateway.port()) + path);
    return testing::run_program(command);
  }

  // What `openssl s_client` saw of the certificate.
  [[nodiscard]] std::string served_subject(const ServeProcess& gateway) const {
    const testing::Finished seen = testing::run_program(
        {"/usr/bin/openssl", "s_client", "-connect", "127.0.0.1:" + std::to_string(gateway.port()),
         "-CAfile", file("ca.pem")});
    const std::size_t start = seen.out.find("subject=");
    return seen.out.substr(start, seen.out.find('\n', start) - start);
  }
};

}  // namespace pawl::e2e
