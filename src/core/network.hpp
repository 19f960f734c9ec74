// IP addresses and networks of them: whom a listener trusts, and whose connection is counted.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

// An IPv4 address that is written as IPv6 (::ffff:10.0.0.1) is the IPv4 address.
struct IpAddress {
  std::array<unsigned char, 16> bytes{};  // 4 of IPv4
  bool v4 = false;
  bool written_v4 = false;

  // "192.0.2.7", "2001:db8::1". No port, no brackets, no zone.
  static std::optional<IpAddress> parse(std::string_view text);
  // 4 or 16 bytes in network order.
  static std::optional<IpAddress> of_bytes(std::string_view bytes);
};
// One text for one address.
std::string to_text(const IpAddress& address);

// What a peer's address is where it has none: it came over a Unix socket.
inline constexpr std::string_view unix_peer = "unix:";

// "10.0.0.0/8", "::1/128", or a single address; or "unix:", which is every peer of a Unix socket.
class Network {
 public:
  static std::optional<Network> parse(std::string_view text);
  [[nodiscard]] bool contains(std::string_view address) const;

 private:
  std::array<unsigned char, 16> bytes_{};  // 4 of IPv4
  bool unix_ = false;
  bool v4_ = false;
  int bits_ = 0;
};

using Networks = std::vector<Network>;

// What cannot be read is left out: it is not trusted.
Networks networks_of(const std::vector<std::string>& texts);
bool contains(const Networks& networks, std::string_view address);

}  // namespace pawl
