#include "src/gateway/scope_rule.hpp"

#include <map>

namespace pawl::gateway {
namespace {

using Facts = std::map<std::string, std::string, std::less<>>;

Facts facts_of(std::string_view text) {
  Facts facts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = line.rfind('=');
    if (equals == std::string_view::npos) continue;
    facts.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return facts;
}

}  // namespace

std::string scope_rule(const config::Config& config) {
  const config::CallerFrom from = config.caller.from.value_or(config::CallerFrom::single);
  std::string rule = "from=";
  rule.append(to_text(from)).append("\n");
  if (from == config::CallerFrom::jwt) {
    rule.append("tenant_claim=");
    for (const std::string& claim : config.caller.tenant_claim) rule.append(claim).append(" ");
    rule.append("\n");
  }
  rule.append("default=").append(to_text(config.policy.key_scope)).append("\n");
  for (const config::Route& route : config.routes) {
    rule.append("route ").append(route.name).append("=");
    rule.append(to_text(route.policy.key_scope)).append("\n");
  }
  return rule;
}

std::optional<std::string> contradiction(std::string_view stored, std::string_view rule) {
  const Facts before = facts_of(stored);
  const Facts now = facts_of(rule);
  for (const auto& [name, value] : before) {
    const auto found = now.find(name);
    const bool is_route = name.starts_with("route ");
    if (found == now.end() ? is_route : found->second == value) continue;
    std::string why = name + " was " + value;
    why.append(found == now.end() ? std::string(" and is gone") : " and is now " + found->second);
    return why;
  }
  return std::nullopt;
}

}  // namespace pawl::gateway
