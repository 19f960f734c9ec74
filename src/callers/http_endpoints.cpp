#include "src/callers/http_endpoints.hpp"

#include "src/adapters/http/forwarding.hpp"

namespace pawl::callers {
namespace {

constexpr std::size_t answer_bytes_max = std::size_t{1} << 20;
constexpr std::size_t pools_max = 8;  // addresses change with the configuration

class Inquiry final : public http::RequestWriter {
 public:
  Inquiry(const std::string& target, std::string_view authority, const Headers& headers) {
    head_ = "GET " + target + " HTTP/1.1\r\n";
    http::append_field(head_, "Host", authority);
    http::append_field(head_, "User-Agent", "pawl");
    for (const Header& header : headers) http::append_field(head_, header.name, header.value);
    head_ += "\r\n";
  }
  std::string head(const Record& /*attempt*/) override { return head_; }
  [[nodiscard]] std::string_view body() const override { return {}; }

 private:
  std::string head_;
};

// Asking changes nothing, so it may always be done.
class AnyTime final : public SendGate {
 public:
  Task<bool> may_send() override { co_return true; }
};

}  // namespace

std::shared_ptr<http::UpstreamPool> HttpEndpoints::pool_of(const config::UpstreamUrl& address) {
  const std::string name = config::to_text(address);
  if (pools_.size() >= pools_max && !pools_.contains(name)) pools_.clear();
  std::shared_ptr<http::UpstreamPool>& pool = pools_[name];
  if (!pool) {
    http::UpstreamAddress where{address.host, address.port, address.tls};
    pool = std::make_shared<http::UpstreamPool>(std::move(where), deadlines_);
  }
  return pool;
}

Task<Expected<Response, std::string>> HttpEndpoints::get(config::Endpoint endpoint, Headers headers,
                                                         Duration timeout, AnswerEnd end) {
  const std::shared_ptr<http::UpstreamPool> pool = pool_of(endpoint.address);
  Inquiry inquiry(endpoint.target, pool->authority(), headers);
  http::CallOptions options;
  options.connect_timeout = timeout;
  options.held_bytes_max = answer_bytes_max;
  options.until_close =
      end == AnswerEnd::by_closing ? http::UntilClose::accept : http::UntilClose::verify;
  http::UpstreamCall call(*pool, inquiry, options);
  AnyTime gate;
  const Record nothing;
  Outcome outcome = co_await call.send(nothing, gate, clock_.now() + timeout);
  if (auto* none = std::get_if<NotSent>(&outcome)) co_return Unexpected{std::move(none->why)};
  if (auto* lost = std::get_if<Lost>(&outcome)) {
    co_return Unexpected{"no answer: " + std::move(lost->why)};
  }
  co_return std::move(std::get<Answered>(outcome).response);
}

void HttpEndpoints::prune() {
  for (const auto& [name, pool] : pools_) pool->prune();
}

}  // namespace pawl::callers
