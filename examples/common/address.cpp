#include "common/address.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <optional>
#include <string_view>

#include "common/request.hpp"

namespace pawl::example {
namespace {

bool is_host_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

// "host:port" or "[v6]:port"; `port_if_none` where no port is written. Nothing: it is neither.
std::optional<Address> host_and_port(std::string_view text, std::optional<int> port_if_none) {
  const bool bracketed = text.starts_with('[');
  const std::size_t end = bracketed ? text.find(']') : std::min(text.find(':'), text.size());
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view host = bracketed ? text.substr(1, end - 1) : text.substr(0, end);
  const std::string_view rest = text.substr(bracketed ? end + 1 : end);
  const bool good_host = bracketed ? host.find(':') != std::string_view::npos
                                   : std::ranges::all_of(host, is_host_letter);
  if (host.empty() || !good_host) return std::nullopt;
  std::optional<std::int64_t> port = port_if_none;
  if (!rest.empty()) port = rest.front() == ':' ? to_number(rest.substr(1)) : std::nullopt;
  if (!port || *port < 0 || *port > 65'535) return std::nullopt;
  return Address{std::string(host), static_cast<std::uint16_t>(*port)};
}

}  // namespace

Expected<Address, std::string> parse_address(const std::string& text) {
  std::optional<Address> address = host_and_port(text, std::nullopt);
  if (address && address->host == "localhost") address->host = "127.0.0.1";
  boost::system::error_code error;
  if (address) boost::asio::ip::make_address(address->host, error);
  if (address && !error) return std::move(*address);
  return Unexpected{"'" + text +
                    "' is no address: it must be an address and a port, like \"127.0.0.1:8080\" or "
                    "\"[::1]:8080\"; host names are not taken here"};
}

std::string to_text(const Address& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return (v6 ? '[' + address.host + ']' : address.host) + ':' + std::to_string(address.port);
}

Expected<Url, std::string> parse_url(const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    return Unexpected{"'" + text + "' is no URL: " + why};
  };
  Url url;
  url.tls = text.starts_with("https://");
  if (!url.tls && !text.starts_with("http://")) {
    return refuse("it must start with http:// or https://, like \"http://127.0.0.1:3000\"");
  }
  const std::string_view rest = std::string_view(text).substr(text.find("://") + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  const std::string_view target = rest.substr(authority.size());
  std::optional<Address> address = host_and_port(authority, url.tls ? 443 : 80);
  if (!address || address->port == 0) {
    return refuse("it must name a host, and a port if it is not the usual one");
  }
  const bool is_path = target.empty() || target.front() == '/';
  if (!is_path || !std::ranges::all_of(target, [](char c) { return c > ' ' && c < 127; })) {
    return refuse("what follows the host must be a path");
  }
  url.address = std::move(*address);
  url.target = target.empty() ? "/" : std::string(target.substr(0, target.find('#')));
  return url;
}

}  // namespace pawl::example
