// The effective configuration, every default written out.
#pragma once

#include <string>
#include <string_view>

#include "src/config/config.hpp"

namespace pawl::config {

enum class Secrets { masked, shown };

// TOML that reads back as the same configuration. A route shows what differs from [policy]. With
// secrets masked it is for people: key hashes are cut short and passwords are ***, and the reader
// refuses both, so that nobody starts a gateway with them by mistake.
std::string show(const Config& config, Secrets secrets = Secrets::masked);

// "postgres://pawl:***@db/pawl", "host=db password=***".
std::string mask_passwords(std::string_view store);

// "https://h/v1?key={key}&token=***": what may be a secret in its query, by its name or its length.
std::string mask_url(std::string_view url);

}  // namespace pawl::config
