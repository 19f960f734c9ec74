// The request target and the authority: what a request is for.
#pragma once

#include <optional>
#include <string_view>

#include "src/adapters/http/head.hpp"

namespace pawl::http {

// A host (name, IPv4, [IPv6]) with an optional port; may be empty.
bool is_authority(std::string_view text);

// Origin-form and absolute-form (and "*" for OPTIONS) into path, query and host. Needs the method.
std::optional<Refusal> read_target(std::string_view target, RequestHead& head);

}  // namespace pawl::http
