// Whose keys a scope holds, told by how it begins.
#pragma once

#include <string_view>

#include "pawl/types/key.hpp"

namespace pawl {

inline constexpr std::string_view library_scopes = "lib:";  // services with the library in them
inline constexpr std::string_view key_api_scopes = "api:";  // callers of the key API

inline bool is_of_library(const Scope& scope) { return scope.text.starts_with(library_scopes); }
inline bool is_of_key_api(const Scope& scope) { return scope.text.starts_with(key_api_scopes); }

}  // namespace pawl
