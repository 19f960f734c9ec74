// What an attempt is stored with besides the rules of its route: under which key its provider is
// sent it, and who can say what became of it. Both are the configuration's of that moment, so that
// no other one reads the silence of a source that has never heard of it as "not executed".
#pragma once

#include <optional>
#include <string>

#include "src/config/config.hpp"

namespace pawl::config {

// The same configuration, every policy with its `sent_key` and `source`.
Config with_attempt_terms(Config config);

// A source's name with the key that it is asked by: "bank", "bank by derived key". A provider that
// was sent the other key has never seen this one. No name has a blank in it.
std::string asked_as(const Source& source);

// None: by neither, or by both.
std::optional<ForwardKey> asked_by(const Source& source);

}  // namespace pawl::config
