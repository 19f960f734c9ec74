#include "examples/common/client.hpp"

#include "src/adapters/http/forwarding.hpp"
#include "src/adapters/http/upstream_call.hpp"
#include "src/config/address.hpp"

namespace pawl::example {
namespace {

class Writer final : public http::RequestWriter {
 public:
  Writer(const Outgoing& request, std::string host) : request_(request), host_(std::move(host)) {}

  std::string head(const Record&) override {
    std::string out = request_.method + " " + request_.target + " HTTP/1.1\r\n";
    http::append_field(out, "Host", host_);
    for (const Header& header : request_.headers) {
      http::append_field(out, header.name, header.value);
    }
    http::append_field(out, "Content-Length", std::to_string(request_.body.size()));
    return out + "\r\n";
  }
  [[nodiscard]] std::string_view body() const override { return request_.body; }

 private:
  const Outgoing& request_;
  std::string host_;
};

class OpenGate final : public SendGate {
 public:
  Task<bool> may_send() override { co_return true; }
};

}  // namespace

Expected<Url, std::string> parse_url(const std::string& text) {
  const std::size_t scheme = text.find("://");
  const std::size_t path = scheme == std::string::npos ? scheme : text.find('/', scheme + 3);
  const auto origin = config::parse_upstream(text.substr(0, path));
  if (!origin) return Unexpected{"'" + text + "' is no URL: " + origin.error()};
  Url url;
  url.address = http::UpstreamAddress{origin->host, origin->port, origin->tls};
  url.target = path == std::string::npos ? "/" : text.substr(path);
  return url;
}

Task<Outcome> send(http::UpstreamPool& pool, const Outgoing& request, Duration timeout) {
  Writer writer(request, pool.authority());
  OpenGate gate;
  const Record nobody;
  http::UpstreamCall call(pool, writer, http::CallOptions{});
  co_return co_await call.send(nobody, gate, pool.deadlines().now() + timeout);
}

}  // namespace pawl::example
