#include "tests/provider/provider_fixture.hpp"

#include <thread>

#include "pawl/types/json.hpp"

namespace pawl::testing {

std::string at(const std::string& document, std::string_view pointer) {
  const auto read = json::read(document);
  if (!read) return "(no JSON)";
  const json::Value* const value = json::resolve(*read, *json::parse_pointer(pointer));
  if (value == nullptr) return "(none)";
  if (value->kind == json::Kind::boolean) return value->boolean ? "true" : "false";
  if (value->kind == json::Kind::array) return std::to_string(value->items.size()) + " items";
  return value->text;
}

bool until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

void ProviderTest::start(const Flags& flags) {
  std::vector<std::string> command{PAWL_PROVIDER, "--data", folder_.path() / "provider.db",
                                   "--listen", "127.0.0.1:0"};
  command.insert(command.end(), flags.begin(), flags.end());
  provider_.reset();
  provider_.emplace(command);
}

std::optional<HttpAnswer> ProviderTest::send(const std::string& path, const std::string& key,
                                             const std::string& body) const {
  Post request;
  request.key = key;
  request.path = path;
  request.body = body;
  try {
    return post(provider_->port(), request);
  } catch (const WireError&) {
    return std::nullopt;
  }
}

std::optional<HttpAnswer> ProviderTest::charge(const std::string& key, int amount) const {
  return send("/v1/charges", key,
              R"({"amount":)" + std::to_string(amount) +
                  R"(,"currency":"EUR","customer":"cus_1","reference":"order-)" + key + "\"}");
}

std::string ProviderTest::read(const std::string& target) const {
  return get(provider_->port(), target).body;
}

int ProviderTest::status(const std::string& target) const {
  return get(provider_->port(), target).status;
}

void ProviderTest::faults(const std::string& document) const {
  const auto answer = send("/_faults", "", document);
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->status, 200) << answer->body;
}

}  // namespace pawl::testing
