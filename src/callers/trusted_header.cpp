#include "src/callers/trusted_header.hpp"

namespace pawl::callers {

TrustedHeader::TrustedHeader(const config::Caller& config)
    : header_(config.header), trusted_(networks_of(config.trusted)) {}

bool TrustedHeader::trusts(std::string_view peer) const { return contains(trusted_, peer); }

std::optional<Identified> TrustedHeader::identify(const ClientView& client, BootTime /*now*/) {
  const std::string challenge = "Pawl from=\"header\"";
  if (!trusts(client.peer)) {
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
