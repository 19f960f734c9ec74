// The key of a request, wherever its route has it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/adapters/http/head.hpp"
#include "src/config/config.hpp"
#include "src/core/problem.hpp"

namespace pawl::gateway {

// In the header fields that `key_from` names: the first that is there, as it was sent. Two that say
// different keys are refused: a client that makes one of them anew for every try would be executed
// twice by it.
Expected<std::optional<std::string_view>, ProblemDetails> key_in_head(
    const http::RequestHead& head, const config::RoutePolicy& policy);

// In a body that is JSON, at the pointers of `key_from`.
Expected<std::optional<std::string>, ProblemDetails> key_in_body(std::string_view content_type,
                                                                 std::string_view body,
                                                                 const config::RoutePolicy& policy);

bool is_key_header(std::string_view name, const config::RoutePolicy& policy);
bool has_key_header(const http::RequestHead& head, const config::RoutePolicy& policy);

// Says where the route wants it.
ProblemDetails key_missing(const config::RoutePolicy& policy);
ProblemDetails two_keys();

}  // namespace pawl::gateway
