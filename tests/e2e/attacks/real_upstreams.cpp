#include "tests/e2e/attacks/real_upstreams.hpp"

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "tests/support/raw_client.hpp"

namespace pawl::e2e {
namespace {

using testing::Behaviour;
using testing::ReceivedRequest;

// A script of ours on an unmodified server of the language's own.
class Script final : public RealUpstream {
 public:
  Script(const std::string& interpreter, const std::string& file)
      : service_({interpreter, std::string(PAWL_SOURCE_DIR) + "/tests/e2e/attacks/" + file}) {}

  [[nodiscard]] std::string url() const override { return service_.url(); }

  [[nodiscard]] std::vector<Execution> executed() const override {
    const std::string all = testing::get(service_.port(), "/executed").body;
    std::vector<Execution> list;
    for (std::size_t at = all.find('{'); at != std::string::npos; at = all.find('{', at + 1)) {
      const std::string one = all.substr(at, all.find('}', at) - at + 1);
      list.push_back({text_in(one, "target"), text_in(one, "who"), text_in(one, "key")});
    }
    return list;
  }

 private:
  testing::ServiceProcess service_;
};

Behaviour answer_strictly(const ReceivedRequest& request) {
  if (request.method != "POST") return Behaviour::answer(200);
  return Behaviour::answer(201, R"({"target": ")" + request.target + R"(", "who": ")" +
                                    request.header("Authorization").value_or("") +
                                    R"(", "key": ")" +
                                    request.header("Idempotency-Key").value_or("") + R"("})");
}

// A reverse proxy between us and the service: it is the one that reads what we send.
class Proxy final : public RealUpstream {
 public:
  explicit Proxy(const std::string& kind) : service_(answer_strictly) {
    const bool nginx = kind == "Nginx";
    std::ofstream(file("configuration"))
        << (nginx ? nginx_configuration() : apache_configuration());
    const std::vector<std::string> command =
        nginx ? std::vector<std::string>{PAWL_NGINX, "-c", file("configuration")}
              : std::vector<std::string>{PAWL_APACHE, "-D", "FOREGROUND", "-f",
                                         file("configuration")};
    child_ = std::make_unique<testing::ChildProcess>(command, folder_.path() / "said");
    wait_until_it_listens();
  }

  [[nodiscard]] std::string url() const override {
    return "http://127.0.0.1:" + std::to_string(port_);
  }

  [[nodiscard]] std::vector<Execution> executed() const override {
    std::vector<Execution> list;
    for (const ReceivedRequest& request : service_.requests()) {
      if (request.method != "POST") continue;
      list.push_back({request.target, request.header("Authorization").value_or(""),
                      request.header("Idempotency-Key").value_or("")});
    }
    return list;
  }

 private:
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.path() / name; }

  [[nodiscard]] std::string nginx_configuration() const {
    return "daemon off; master_process off; pid " + file("pid") + "; error_log " + file("errors") +
           ";\nevents {}\nhttp { access_log off; client_body_temp_path " + file("b") +
           "; proxy_temp_path " + file("p") + "; fastcgi_temp_path " + file("f") +
           "; uwsgi_temp_path " + file("u") + "; scgi_temp_path " + file("s") +
           ";\nupstream service { server 127.0.0.1:" + std::to_string(service_.port()) +
           "; keepalive 16; }\nserver { listen 127.0.0.1:" + std::to_string(port_) +
           "; location / { proxy_pass http://service; proxy_http_version 1.1; "
           "proxy_set_header Connection \"\"; } } }\n";
  }

  [[nodiscard]] std::string apache_configuration() const {
    const std::string modules = "/usr/lib/apache2/modules/";
    std::string text;
    for (const std::string name : {"mpm_event", "authz_core", "proxy", "proxy_http"}) {
      text += "LoadModule " + name + "_module " + modules + "mod_" + name + ".so\n";
    }
    return text + "ServerName localhost\nListen 127.0.0.1:" + std::to_string(port_) +
           "\nDefaultRuntimeDir " + file("") + "\nPidFile " + file("pid") + "\nErrorLog " +
           file("errors") +
           "\nKeepAlive On\nMaxKeepAliveRequests 0\nProxyPass / http://127.0.0.1:" +
           std::to_string(service_.port()) + "/\n";
  }

  void wait_until_it_listens() {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < give_up && child_->running()) {
      try {
        testing::Wire::connect(port_);
        return;
      } catch (const std::exception&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    }
    throw std::runtime_error("the proxy did not start: " + child_->said());
  }

  testing::UpstreamServer service_;
  const std::uint16_t port_ = testing::UpstreamServer().port();  // free a moment ago
  testing::TemporaryFolder folder_;
  std::unique_ptr<testing::ChildProcess> child_;
};

}  // namespace

std::unique_ptr<RealUpstream> start_upstream(const std::string& kind) {
  if (kind == "Python") return std::make_unique<Script>(PAWL_PYTHON, "service.py");
  if (kind == "Node") return std::make_unique<Script>(PAWL_NODE, "service.js");
  return std::make_unique<Proxy>(kind);
}

std::string text_in(const std::string& document, const std::string& member) {
  for (const char* colon : {"\": \"", "\":\""}) {
    const std::string name = "\"" + member + colon;
    const std::size_t at = document.find(name);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + name.size();
    return document.substr(begin, document.find('"', begin) - begin);
  }
  return {};
}

}  // namespace pawl::e2e
