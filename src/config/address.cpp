#include "src/config/address.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace pawl::config {
namespace {

bool is_ipv4(std::string_view text) {
  const std::optional<IpAddress> address = IpAddress::parse(text);
  return address && address->written_v4;
}

bool is_ipv6(std::string_view text) {
  const std::optional<IpAddress> address = IpAddress::parse(text);
  return address && !address->written_v4;
}

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

constexpr std::string_view socket_opening = "unix:";

// What follows "unix:".
Expected<std::string, std::string> parse_socket_path(std::string_view path) {
  constexpr std::size_t path_bytes_max = 107;  // of sockaddr_un
  if (!path.starts_with('/') || path.find('\0') != std::string_view::npos) {
    return Unexpected{
        std::string("a socket is named by its whole path, like \"unix:/run/api.sock\"")};
  }
  if (path.size() > path_bytes_max) {
    return Unexpected{std::string("the path of a socket must not be over 107 bytes")};
  }
  return std::string(path);
}

constexpr std::uint16_t default_port(bool tls) { return tls ? 443 : 80; }

}  // namespace

Expected<Address, std::string> parse_address(std::string_view text) {
  constexpr const char* form =
      "it must be an address and a port, like \"127.0.0.1:8080\" or \"[::1]:8080\", or a socket, "
      "like \"unix:/run/pawl.sock\"";
  if (text.starts_with(socket_opening)) {
    const auto path = parse_socket_path(text.substr(socket_opening.size()));
    if (!path) return Unexpected{path.error()};
    return Address{{}, 0, *path};
  }
  const std::optional<HostPort> parts = split(text);
  if (!parts || !parts->port) return Unexpected{std::string(form)};
  const std::optional<int> port = number_up_to(65'535, *parts->port);
  if (!port) return Unexpected{std::string("its port must be a number from 0 to 65535")};
  if (parts->host.empty()) {
    return Unexpected{
        std::string("it must say which address: \"0.0.0.0:") + std::string(*parts->port) +
        "\" is all of them, \"127.0.0.1:" + std::string(*parts->port) + "\" this machine only"};
  }
  Address address{parts->host, static_cast<std::uint16_t>(*port), {}};
  if (address.host == "localhost" && !parts->bracketed) address.host = "127.0.0.1";
  if (parts->bracketed ? is_ipv6(address.host) : is_ipv4(address.host)) return address;
  return Unexpected{std::string(form) + "; host names are not taken here"};
}

std::string to_text(const Address& address) {
  if (!address.socket.empty()) return std::string(socket_opening) + address.socket;
  return with_port(address.host, address.port);
}

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
  if (!text.starts_with(socket_opening)) return parse_upstream(text);
  const auto path = parse_socket_path(text.substr(socket_opening.size()));
  if (!path) return Unexpected{path.error()};
  UpstreamUrl url;
  url.host = "localhost";
  url.socket = *path;
  return url;
}

std::string to_text(const UpstreamUrl& url) {
  if (!url.socket.empty()) return "unix:" + url.socket;
  return (url.tls ? "https://" : "http://") + with_port(url.host, url.port);
}

bool is_loopback(const Address& address) {
  if (!address.socket.empty()) return true;
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

bool is_header_name(std::string_view text) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_alphanumeric(c) || marks.find(c) != std::string_view::npos;
  });
}

}  // namespace pawl::config
