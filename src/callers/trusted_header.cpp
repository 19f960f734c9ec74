#include "src/callers/trusted_header.hpp"

#include <algorithm>

namespace pawl::callers {

TrustedHeader::TrustedHeader(const config::Caller& config) : header_(config.header) {
  for (const std::string& network : config.trusted) {
    const std::optional<config::Network> parsed = config::Network::parse(network);
    if (parsed) trusted_.push_back(*parsed);  // what cannot be read is not trusted
  }
}

bool TrustedHeader::trusts(std::string_view address) const {
  return std::ranges::any_of(
      trusted_, [&](const config::Network& network) { return network.contains(address); });
}

std::optional<Identified> TrustedHeader::identify(const ClientView& client, BootTime /*now*/) {
  const std::string challenge = "Pawl from=\"header\"";
  if (!trusts(client.address)) {
    return unauthenticated(challenge, "Requests are taken from trusted proxies alone.");
  }
  const auto name = credential_in(client.head, header_);
  if (!name) return Identified(Unexpected{name.error()});
  if (!*name || !may_be_name(**name)) {
    return unauthenticated(challenge, "The proxy has not named the caller in " + header_ + ".");
  }
  return Identified(KnownCaller{std::string(**name), std::nullopt});
}

}  // namespace pawl::callers
