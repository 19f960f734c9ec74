#include "tests/e2e/gateway_fixture.hpp"

#include <chrono>
#include <thread>

#include "pawl/types/json.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

constexpr std::chrono::seconds patience{30};

// A database of its own, copied from one that `pawl migrate` made.
std::string new_database() {
  static int number = 0;
  static const bool migrated = [] {
    shared_postgres().create_database("migrated");
    const std::string url = shared_postgres().url("migrated");
    const testing::Finished finished =
        testing::run_program({PAWL_BINARY, "migrate", "--store", url});
    if (finished.exit_code != 0) throw std::runtime_error("pawl migrate: " + finished.err);
    return true;
  }();
  static_cast<void>(migrated);
  const std::string name = "test_" + std::to_string(++number);
  shared_postgres().create_database(name, "migrated");
  return name;
}

}  // namespace

testing::PostgresServer& shared_postgres() {
  static testing::PostgresServer server({.fsync = false, .configuration = ""});
  return server;
}

bool until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

std::string member_of(const std::string& document, const std::string& name) {
  const auto read = json::read(document);
  const json::Value* const member = read ? read->find(name) : nullptr;
  if (member == nullptr) return "(none)";
  return member->kind == json::Kind::null ? "null" : member->text;
}

std::string problem_of(const HttpAnswer& answer) {
  const auto read = json::read(answer.body);
  if (!read) return "";
  const std::string prefix = "urn:pawl:problem:";
  const std::string type = member_of(answer.body, "type");
  const std::string content_type = answer.value("Content-Type");
  const bool ours =
      type.starts_with(prefix) && answer.header("Pawl-Should-Retry") &&
      (content_type == "application/problem+json" || content_type == "application/json") &&
      member_of(answer.body, "status") == std::to_string(answer.status);
  if (!ours) return "";
  const std::string slug = type.substr(prefix.size());
  // Popular SDKs look for `error`: it is never missing, and says the same.
  const json::Value* const error = read->find("error");
  const json::Value* const code = error == nullptr ? nullptr : error->find("code");
  return code != nullptr && code->text == slug ? slug : "without an error of its own: " + slug;
}

double metric(const ServeProcess& gateway, const std::string& series) {
  const std::string text = "\n" + get(gateway.admin_port(), "/metrics").body;
  const std::size_t start = text.find("\n" + series + " ");
  if (start == std::string::npos) return -1;
  return std::stod(text.substr(start + series.size() + 2));
}

GatewayTest::GatewayTest(StoreKind kind) {
  if (kind == StoreKind::sqlite) {
    store_url_ = "sqlite:" + (folder_.path() / "pawl.db").string();
  } else {
    database_ = new_database();
    store_url_ = shared_postgres().tcp_url(database_);
  }
}

std::string GatewayTest::config_of(const Settings& settings) const {
  const std::string behind = settings.upstream.empty() ? upstream.url() : settings.upstream;
  const bool is_list = behind.starts_with('[');
  return "upstream = " + (is_list ? behind : "\"" + behind + "\"") + "\nstore = \"" + store_url_ +
         "\"\nallow_lossy_store = true\n" + settings.top + "\n[policy]\n" + settings.policy + "\n" +
         settings.rest;
}

ServeProcess& GatewayTest::start(const Settings& settings, bool worker) {
  const testing::ServeOptions options{.flags = settings.flags,
                                      .config = config_of(settings),
                                      .worker = worker,
                                      .port = settings.port,
                                      .socket = settings.socket,
                                      .admin_socket = settings.admin_socket};
  return gateways_.emplace_back(PAWL_BINARY, options);
}

std::string GatewayTest::status_of(const ServeProcess& gateway, const std::string& key,
                                   const WireHeaders& headers) {
  const HttpAnswer answer = get(gateway.port(), "/_pawl/v1/keys/" + key, headers);
  if (answer.status != 200) return std::to_string(answer.status);
  return member_of(answer.body, "key") == key ? member_of(answer.body, "status") : "another key";
}

bool GatewayTest::becomes(const ServeProcess& gateway, const std::string& key,
                          const std::string& status) {
  return until([&] { return status_of(gateway, key) == status; });
}

}  // namespace pawl::e2e
