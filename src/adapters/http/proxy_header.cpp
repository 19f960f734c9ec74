#include "src/adapters/http/proxy_header.hpp"

#include <algorithm>
#include <array>

#include "src/adapters/http/syntax.hpp"

namespace pawl::http {
namespace {

using Result = Expected<std::optional<ProxyHeader>, std::string>;

constexpr std::string_view line_opening = "PROXY ";
constexpr std::string_view signature{"\r\n\r\n\0\r\nQUIT\n", 12};
constexpr std::size_t fixed_bytes = 16;  // of version 2: signature, version, family, length

Result malformed(std::string_view why) {
  return Unexpected{"the PROXY header is malformed: " + std::string(why)};
}

// As far as it has come.
bool may_begin_with(std::string_view so_far, std::string_view opening) {
  const std::size_t common = std::min(so_far.size(), opening.size());
  return so_far.substr(0, common) == opening.substr(0, common);
}

bool is_plain_port(std::string_view text) {
  return is_port_number(text) && (text.size() == 1 || text.front() != '0');
}

// Up to the next blank, which there must be one of.
std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), word.size() + 1));
  return word;
}

// "TCP4 SOURCE DESTINATION PORT PORT"
Result read_line(std::string_view line, std::size_t bytes) {
  const std::string_view family = take_word(line);
  if (family == "UNKNOWN")
    return std::optional(ProxyHeader{bytes, std::nullopt});  // whatever follows
  if (family != "TCP4" && family != "TCP6") return malformed("neither TCP4, TCP6 nor UNKNOWN");
  std::array<std::optional<IpAddress>, 2> ends;
  for (std::optional<IpAddress>& end : ends) {
    end = IpAddress::parse(take_word(line));
    if (!end || end->written_v4 != (family == "TCP4")) {
      return malformed("an address is not of its family");
    }
  }
  const std::string_view from = take_word(line);
  if (!is_plain_port(from) || !is_plain_port(line))
    return malformed("a port is not a number up to 65535");
  return std::optional(ProxyHeader{bytes, ends.front()});
}

Result read_first_version(std::string_view so_far) {
  const std::string_view line = so_far.substr(0, proxy_line_bytes_max);
  const std::size_t end = line.find_first_of("\r\n");
  const bool ended = end != std::string_view::npos;
  if (ended && end + 1 < line.size()) {
    if (line.substr(end, 2) != "\r\n") return malformed("its line does not end with CRLF");
    return read_line(line.substr(line_opening.size(), end - line_opening.size()), end + 2);
  }
  if (ended && line[end] != '\r') return malformed("its line does not end with CRLF");
  if (line.size() == proxy_line_bytes_max) return malformed("its line is over 107 bytes");
  return std::optional<ProxyHeader>();
}

constexpr unsigned byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// What follows the addresses (extensions) is not interpreted.
Result read_second_version(std::string_view so_far) {
  constexpr unsigned version_local = 0x20;
  constexpr unsigned version_proxy = 0x21;
  constexpr unsigned unspecified = 0x00;
  constexpr unsigned tcp4 = 0x11;
  constexpr unsigned tcp6 = 0x21;
  constexpr unsigned unix_stream = 0x31;
  if (so_far.size() > 12) {
    const unsigned command = byte_at(so_far, 12);
    if (command != version_local && command != version_proxy) {
      return malformed("neither LOCAL nor PROXY of version 2");
    }
  }
  if (so_far.size() < fixed_bytes) return std::optional<ProxyHeader>();
  const std::size_t rest = byte_at(so_far, 14) << 8U | byte_at(so_far, 15);
  const std::size_t bytes = fixed_bytes + rest;
  if (bytes > proxy_header_bytes_max) return malformed("it is over 4096 bytes");
  const unsigned family = byte_at(so_far, 13);
  const bool is_local = byte_at(so_far, 12) == version_local;
  const std::size_t address_bytes = family == tcp4 ? 4 : 16;
  const bool has_address = !is_local && (family == tcp4 || family == tcp6);
  if (!is_local && !has_address && family != unspecified && family != unix_stream) {
    return malformed("its family is not one of streams");
  }
  if (has_address && rest < 2 * address_bytes + 4) return malformed("its addresses are cut off");
  if (so_far.size() < bytes) return std::optional<ProxyHeader>();
  ProxyHeader header{bytes, std::nullopt};
  if (has_address) header.source = IpAddress::of_bytes(so_far.substr(fixed_bytes, address_bytes));
  return std::optional(header);
}

}  // namespace

Result read_proxy_header(std::string_view so_far) {
  if (so_far.empty()) return std::optional<ProxyHeader>();
  if (may_begin_with(so_far, line_opening)) {
    if (so_far.size() < line_opening.size()) return std::optional<ProxyHeader>();
    return read_first_version(so_far);
  }
  if (!may_begin_with(so_far, signature))
    return Unexpected{std::string("there is no PROXY header")};
  if (so_far.size() < signature.size()) return std::optional<ProxyHeader>();
  return read_second_version(so_far);
}

}  // namespace pawl::http
