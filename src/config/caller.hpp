// [caller]: who a request comes from, and with it whose keys it uses.
#pragma once

#include <string_view>
#include <vector>

#include "src/config/config.hpp"
#include "src/config/settings.hpp"

namespace pawl::config {

std::vector<std::string_view> caller_names();

// `table`: [caller], or nullptr. Keys that stand in `keys_file` are not read here.
Caller read_caller(const Node* table, Diagnostics& findings);

// The list [[caller.api_key]] of a document: the configuration's own, or keys_file's.
std::vector<ApiKey> read_api_keys(const Node& list, Diagnostics& findings);

// Can two requests have two scopes, as far as callers go?
bool tells_apart(const Caller& caller);

// The lines of [caller] and of its keys, as TOML.
std::string show_caller(const Caller& caller);

}  // namespace pawl::config
