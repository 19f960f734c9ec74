// Scope ids: how they are made and what kind each is of. The text begins with its kind and is
// stored with every key, so it never changes.
#pragma once

#include <string_view>

#include "pawl/types/key.hpp"

namespace pawl {

enum class ScopeKind {
  caller,   // "caller:NAME" or "caller:NAME|route:ROUTE": requests through the gateway
  key_api,  // "api:NAME": callers of the key API
  library,  // "lib:NAME": services with the library in them
  other,    // whatever a service calls its own keys in the SQL functions
};

ScopeKind kind_of(const Scope& scope);
// How all scopes of a kind begin, and no others. Empty for `other`.
std::string_view prefix_of(ScopeKind kind);

// Names are escaped, but for the library's: two callers, or two pairs of caller and route, never
// make the same text, and it is visible ASCII whatever they are made of.
Scope caller_scope(std::string_view caller);
Scope caller_scope(std::string_view caller, std::string_view route);
Scope key_api_scope(std::string_view caller);
Scope library_scope(std::string_view caller);

// The caller's name as it stands in the scope, escapes and all. The whole text of an `other`.
std::string_view caller_in(std::string_view scope);
// What binds the keys of a proxied caller to one route, "|route:ROUTE"; empty: nothing.
std::string_view binding_in(std::string_view scope);
// The route in it, as it stands there. Empty: none.
std::string_view route_in(std::string_view binding);

}  // namespace pawl
