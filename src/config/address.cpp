#include "src/config/address.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <arpa/inet.h>

namespace pawl::config {
namespace {

// TOML can write a NUL, and inet_pton would stop there.
bool is_ip(int family, const std::string& text) {
  std::array<unsigned char, 16> bytes;
  return text.find('\0') == std::string::npos && inet_pton(family, text.c_str(), bytes.data()) == 1;
}

bool is_ipv4(const std::string& text) { return is_ip(AF_INET, text); }
bool is_ipv6(const std::string& text) { return is_ip(AF_INET6, text); }

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_host_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && text.front() != '.' && text.front() != '-' &&
         std::ranges::all_of(
             text, [](char c) { return is_alphanumeric(c) || c == '.' || c == '-' || c == '_'; });
}

std::optional<int> number_up_to(int most, std::string_view text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stopped != end || number < 0 || number > most) return std::nullopt;
  return number;
}

constexpr int mapped_bits = 96;  // of ::ffff:0:0/96, in which IPv6 writes IPv4 addresses

struct IpAddress {
  std::array<unsigned char, 16> bytes{};  // 4 of IPv4
  bool v4 = false;
  bool written_v4 = false;
};

std::optional<IpAddress> ip_in(std::string_view written) {
  const std::string text(written);
  IpAddress address;
  if (text.find('\0') != std::string::npos) return std::nullopt;
  if (inet_pton(AF_INET, text.c_str(), address.bytes.data()) == 1) {
    address.v4 = address.written_v4 = true;
    return address;
  }
  if (inet_pton(AF_INET6, text.c_str(), address.bytes.data()) != 1) return std::nullopt;
  constexpr std::array<unsigned char, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  if (!std::equal(mapped.begin(), mapped.end(), address.bytes.begin())) return address;
  std::copy(address.bytes.begin() + 12, address.bytes.end(), address.bytes.begin());
  address.v4 = true;
  return address;
}

struct HostPort {
  std::string host;  // without brackets
  bool bracketed = false;
  std::optional<std::string_view> port;
};

// "[v6]:port" or "host:port", the port optional. Nothing where the brackets do not match.
std::optional<HostPort> split(std::string_view text) {
  HostPort parts;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    parts.host = text.substr(1, close - 1);
    parts.bracketed = true;
    text.remove_prefix(close + 1);
    if (!text.empty() && text.front() != ':') return std::nullopt;
  } else {
    const std::size_t colon = text.rfind(':');
    parts.host = text.substr(0, colon);
    text.remove_prefix(parts.host.size());
  }
  if (!text.empty()) parts.port = text.substr(1);
  return parts;
}

std::string with_port(const std::string& host, std::uint16_t port) {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

constexpr std::uint16_t default_port(bool tls) { return tls ? 443 : 80; }

}  // namespace

Expected<Address, std::string> parse_address(std::string_view text) {
  constexpr const char* form =
      "it must be an address and a port, like \"127.0.0.1:8080\" or \"[::1]:8080\"";
  const std::optional<HostPort> parts = split(text);
  if (!parts || !parts->port) return Unexpected{std::string(form)};
  const std::optional<int> port = number_up_to(65'535, *parts->port);
  if (!port) return Unexpected{std::string("its port must be a number from 0 to 65535")};
  if (parts->host.empty()) {
    return Unexpected{
        std::string("it must say which address: \"0.0.0.0:") + std::string(*parts->port) +
        "\" is all of them, \"127.0.0.1:" + std::string(*parts->port) + "\" this machine only"};
  }
  Address address{parts->host, static_cast<std::uint16_t>(*port)};
  if (address.host == "localhost" && !parts->bracketed) address.host = "127.0.0.1";
  if (parts->bracketed ? is_ipv6(address.host) : is_ipv4(address.host)) return address;
  return Unexpected{std::string(form) + "; host names are not taken here"};
}

std::string to_text(const Address& address) { return with_port(address.host, address.port); }

Expected<UpstreamUrl, std::string> parse_upstream(std::string_view text) {
  UpstreamUrl url;
  const auto refuse = [](std::string why) { return Unexpected{std::move(why)}; };
  if (text.starts_with("https://")) {
    url.tls = true;
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    text.remove_prefix(7);
  } else {
    return refuse("it must start with http:// or https://, like \"http://127.0.0.1:3000\"");
  }
  if (text.find('@') != std::string_view::npos) {
    return refuse("it must not carry a user or password: requests keep the headers they came with");
  }
  const std::string_view authority = text.substr(0, text.find_first_of("/?#"));
  const std::string_view rest = text.substr(authority.size());
  if (!rest.empty() && rest != "/") {
    return refuse(
        "it must end after the port: Pawl is a proxy and does not rewrite paths; what a client "
        "asks for is what the upstream is asked for");
  }
  const std::optional<HostPort> parts = split(authority);
  const bool good_host =
      parts && (parts->bracketed ? is_ipv6(parts->host) : is_host_name(parts->host));
  if (!good_host) return refuse("it must name a host, like \"http://127.0.0.1:3000\"");
  const std::optional<int> port =
      parts->port ? number_up_to(65'535, *parts->port) : default_port(url.tls);
  if (!port || *port == 0) return refuse("its port must be a number from 1 to 65535");
  url.host = parts->host;
  url.port = static_cast<std::uint16_t>(*port);
  return url;
}

Expected<UpstreamUrl, std::string> parse_upstream_or_socket(std::string_view text) {
  constexpr std::string_view opening = "unix:";
  constexpr std::size_t path_bytes_max = 107;  // of sockaddr_un
  if (!text.starts_with(opening)) return parse_upstream(text);
  text.remove_prefix(opening.size());
  if (!text.starts_with('/') || text.find('\0') != std::string_view::npos) {
    return Unexpected{
        std::string("a socket is named by its whole path, like \"unix:/run/api.sock\"")};
  }
  if (text.size() > path_bytes_max) {
    return Unexpected{std::string("the path of a socket must not be over 107 bytes")};
  }
  UpstreamUrl url;
  url.host = "localhost";
  url.socket = std::string(text);
  return url;
}

std::string to_text(const UpstreamUrl& url) {
  if (!url.socket.empty()) return "unix:" + url.socket;
  return (url.tls ? "https://" : "http://") + with_port(url.host, url.port);
}

bool is_loopback(const Address& address) {
  return address.host == "::1" || (address.host.starts_with("127.") && is_ipv4(address.host));
}

Expected<Endpoint, std::string> parse_endpoint(std::string_view text) {
  constexpr const char* form =
      "it must be a URL without a password, like \"http://127.0.0.1:4000/auth\"";
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return Unexpected{std::string(form)};
  const std::size_t end = std::min(text.find_first_of("/?#", scheme + 3), text.size());
  Expected<UpstreamUrl, std::string> address = parse_upstream(text.substr(0, end));
  if (!address) return Unexpected{std::string(form)};
  std::string target(text.substr(end));
  if (!target.starts_with('/')) target.insert(0, "/");
  const bool bad =
      std::ranges::any_of(target, [](char c) { return c <= ' ' || c > '~' || c == '#'; });
  if (bad) return Unexpected{std::string("it must have neither blanks nor '#' in it")};
  return Endpoint{std::move(*address), std::move(target)};
}

std::optional<Network> Network::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::optional<IpAddress> address = ip_in(text.substr(0, slash));
  if (!address) return std::nullopt;
  const int most = address->written_v4 ? 32 : 128;
  std::optional<int> bits = most;
  if (slash != std::string_view::npos) bits = number_up_to(most, text.substr(slash + 1));
  if (!bits) return std::nullopt;
  Network network;
  network.bytes_ = address->bytes;
  network.v4_ = address->v4;
  network.bits_ = *bits;
  if (address->v4 && !address->written_v4) {  // ::ffff:10.0.0.0/104
    if (*bits < mapped_bits) return std::nullopt;
    network.bits_ -= mapped_bits;
  }
  return network;
}

bool Network::contains(std::string_view address) const {
  const std::optional<IpAddress> other = ip_in(address.substr(0, address.find('%')));  // its zone
  if (!other || other->v4 != v4_) return false;
  for (int bit = 0; bit < bits_; bit += 8) {
    const auto at = static_cast<std::size_t>(bit) / 8;
    const unsigned mask = bits_ - bit >= 8 ? 0xFFU : (0xFF00U >> (bits_ - bit)) & 0xFFU;
    if (((bytes_[at] ^ other->bytes[at]) & mask) != 0) return false;
  }
  return true;
}

bool is_header_name(std::string_view text) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_alphanumeric(c) || marks.find(c) != std::string_view::npos;
  });
}

}  // namespace pawl::config
