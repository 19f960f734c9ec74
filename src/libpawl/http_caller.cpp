#include "src/libpawl/http_caller.hpp"

#include <algorithm>
#include <charconv>

#include "src/adapters/http/forwarding.hpp"
#include "src/adapters/http/upstream_call.hpp"

namespace pawl {
namespace detail {
namespace {

class CallWriter final : public http::RequestWriter {
 public:
  CallWriter(const Call& call, std::string_view host) : call_(call), host_(host) {}

  std::string head(const Record&) override {
    const Outbound& request = call_.request;
    std::string out = request.method;
    out.append(" ").append(request.path).append(" HTTP/1.1\r\n");
    http::append_field(out, "Host", host_);
    for (const Header& header : request.headers) http::append_field(out, header.name, header.value);
    http::append_field(out, "Idempotency-Key", call_.key);
    http::append_field(out, "Content-Length", std::to_string(request.body.size()));
    out += "\r\n";
    return out;
  }
  [[nodiscard]] std::string_view body() const override { return call_.request.body; }

 private:
  const Call& call_;
  std::string_view host_;
};

bool has_control(std::string_view text, bool blanks_too) {
  return std::ranges::any_of(text, [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7f || (blanks_too && (c == ' ' || c == '\t'));
  });
}

// What would not be one request on the wire. Framing and the key are ours to say.
std::optional<std::string> trouble_with(const Outbound& request) {
  if (request.method.empty() || has_control(request.method, true)) return "the method is no token";
  if (!request.path.starts_with('/') || has_control(request.path, true)) {
    return "the path must start with '/' and have no blanks";
  }
  for (const Header& header : request.headers) {
    if (header.name.empty() || has_control(header.name, true) ||
        header.name.find(':') != std::string::npos || has_control(header.value, false)) {
      return "the header \"" + header.name + "\" is not a field";
    }
    for (const char* ours : {"Host", "Content-Length", "Transfer-Encoding", "Connection",
                             "Idempotency-Key", "Expect", "TE", "Upgrade", "Trailer"}) {
      if (same_field_name(header.name, ours)) {
        return std::string("the header ") + ours + " is set by pawl";
      }
    }
  }
  return std::nullopt;
}

[[noreturn]] void bad_url(const std::string& url) {
  throw std::invalid_argument("pawl::http_destination: \"" + url +
                              "\" must be http://HOST[:PORT] or https://HOST[:PORT]");
}

http::UpstreamAddress address_of(const std::string& url) {
  constexpr std::string_view plain = "http://";
  constexpr std::string_view secure = "https://";
  http::UpstreamAddress address;
  std::string_view rest = url;
  if (rest.starts_with(secure)) {
    address.tls = true;
    address.port = 443;
    rest.remove_prefix(secure.size());
  } else if (rest.starts_with(plain)) {
    rest.remove_prefix(plain.size());
  } else {
    bad_url(url);
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const std::size_t bracket = rest.find(']');
  const std::size_t colon = rest.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string_view host = rest.substr(0, colon);
  if (colon != std::string_view::npos) {
    const std::string_view port = rest.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (error != std::errc() || end != port.data() + port.size() || address.port == 0) bad_url(url);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.find_first_of("/?#@") != std::string_view::npos ||
      has_control(host, true)) {
    bad_url(url);
  }
  address.host = host;
  return address;
}

}  // namespace

Task<Outcome> HttpCaller::send(SendGate& gate, const Record& held, const Call& call) {
  pool_.prune();
  if (const std::optional<std::string> trouble = trouble_with(call.request)) {
    co_return NotSent{*trouble};
  }
  CallWriter writer(call, pool_.authority());
  http::UpstreamCall once(pool_, writer, http::CallOptions{});
  const BootTime deadline = node_.clock().now() + call.timeout;
  co_return co_await once.send(held, gate, deadline);
}

}  // namespace detail

Destination http_destination(const Node& node, const std::string& url) {
  Destination destination;
  auto caller = std::make_shared<detail::HttpCaller>(*node.core(), detail::address_of(url));
  // The node's thread uses it: it must not go before that thread does, so the node owns it.
  node.core()->keep(caller);
  destination.http = std::shared_ptr<detail::HttpCaller>(std::shared_ptr<void>(), caller.get());
  return destination;
}

}  // namespace pawl
