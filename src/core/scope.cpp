#include "src/core/scope.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "src/core/encoding.hpp"

namespace pawl {
namespace {

constexpr std::array kinds{ScopeKind::caller, ScopeKind::key_api, ScopeKind::library};
constexpr char separator = '|';
constexpr std::string_view route_opening = "|route:";

ScopeKind kind_in(std::string_view scope) {
  const auto* const found = std::ranges::find_if(
      kinds, [&](ScopeKind kind) { return scope.starts_with(prefix_of(kind)); });
  return found == kinds.end() ? ScopeKind::other : *found;
}

// '|' parts a caller from a route, so it stands for nothing else. What a header cannot carry as it
// is goes as %XX: a service gets its scope in one (Pawl-Scope).
std::string escaped(std::string_view text) {
  return percent_encoded(text, [](char c) { return c > ' ' && c <= '~' && c != '%' && c != '|'; });
}

Scope made_of(ScopeKind kind, std::string_view rest) {
  return Scope{std::string(prefix_of(kind)).append(rest)};
}

}  // namespace

ScopeKind kind_of(const Scope& scope) { return kind_in(scope.text); }

std::string_view prefix_of(ScopeKind kind) {
  switch (kind) {
    case ScopeKind::caller: return "caller:";
    case ScopeKind::key_api: return "api:";
    case ScopeKind::library: return "lib:";
    case ScopeKind::other: break;
  }
  return "";
}

Scope caller_scope(std::string_view caller) { return made_of(ScopeKind::caller, escaped(caller)); }

Scope caller_scope(std::string_view caller, std::string_view route) {
  Scope scope = caller_scope(caller);
  scope.text.append(route_opening).append(escaped(route));
  return scope;
}

Scope key_api_scope(std::string_view caller) {
  return made_of(ScopeKind::key_api, escaped(caller));
}

Scope library_scope(std::string_view caller) { return made_of(ScopeKind::library, caller); }

std::string_view caller_in(std::string_view scope) {
  const ScopeKind kind = kind_in(scope);
  const std::string_view name = scope.substr(prefix_of(kind).size());
  return kind == ScopeKind::caller ? name.substr(0, name.find(separator)) : name;
}

std::string_view binding_in(std::string_view scope) {
  if (kind_in(scope) != ScopeKind::caller) return {};
  return scope.substr(std::min(scope.find(separator), scope.size()));
}

std::string_view route_in(std::string_view binding) {
  return binding.substr(std::min(route_opening.size(), binding.size()));
}

}  // namespace pawl
