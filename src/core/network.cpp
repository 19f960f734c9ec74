#include "src/core/network.hpp"

#include <algorithm>
#include <charconv>

#include <arpa/inet.h>

namespace pawl {
namespace {

constexpr int mapped_bits = 96;  // of ::ffff:0:0/96, in which IPv6 writes IPv4 addresses

// Where it is an IPv4 address after all.
void unmap(IpAddress& address) {
  constexpr std::array<unsigned char, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  if (!std::equal(mapped.begin(), mapped.end(), address.bytes.begin())) return;
  std::copy(address.bytes.begin() + 12, address.bytes.end(), address.bytes.begin());
  std::fill(address.bytes.begin() + 4, address.bytes.end(), 0);
  address.v4 = true;
}

std::optional<int> bits_in(std::string_view text, int most) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stopped != end || number < 0 || number > most) return std::nullopt;
  return number;
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view written) {
  const std::string text(written);
  IpAddress address;
  if (text.find('\0') != std::string::npos) return std::nullopt;  // inet_pton would stop there
  if (inet_pton(AF_INET, text.c_str(), address.bytes.data()) == 1) {
    address.v4 = address.written_v4 = true;
    return address;
  }
  if (inet_pton(AF_INET6, text.c_str(), address.bytes.data()) != 1) return std::nullopt;
  unmap(address);
  return address;
}

std::optional<IpAddress> IpAddress::of_bytes(std::string_view bytes) {
  IpAddress address;
  if (bytes.size() != 4 && bytes.size() != address.bytes.size()) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), address.bytes.begin());
  address.v4 = address.written_v4 = bytes.size() == 4;
  if (!address.v4) unmap(address);
  return address;
}

std::string to_text(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(address.v4 ? AF_INET : AF_INET6, address.bytes.data(), text.data(), text.size());
  return text.data();
}

std::optional<Network> Network::parse(std::string_view text) {
  Network network;
  network.unix_ = text == unix_peer;
  if (network.unix_) return network;
  const std::size_t slash = text.find('/');
  const std::optional<IpAddress> address = IpAddress::parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  const int most = address->written_v4 ? 32 : 128;
  std::optional<int> bits = most;
  if (slash != std::string_view::npos) bits = bits_in(text.substr(slash + 1), most);
  if (!bits) return std::nullopt;
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
  if (unix_) return address == unix_peer;
  const std::optional<IpAddress> other =
      IpAddress::parse(address.substr(0, address.find('%')));  // its zone
  if (!other || other->v4 != v4_) return false;
  for (int bit = 0; bit < bits_; bit += 8) {
    const auto at = static_cast<std::size_t>(bit) / 8;
    const unsigned mask = bits_ - bit >= 8 ? 0xFFU : (0xFF00U >> (bits_ - bit)) & 0xFFU;
    if (((bytes_[at] ^ other->bytes[at]) & mask) != 0) return false;
  }
  return true;
}

Networks networks_of(const std::vector<std::string>& texts) {
  Networks networks;
  for (const std::string& text : texts) {
    if (const std::optional<Network> network = Network::parse(text)) networks.push_back(*network);
  }
  return networks;
}

bool contains(const Networks& networks, std::string_view address) {
  return std::ranges::any_of(networks,
                             [&](const Network& network) { return network.contains(address); });
}

}  // namespace pawl
