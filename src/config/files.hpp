// The files that a configuration names.
#pragma once

#include <string>
#include <vector>

#include "pawl/types/expected.hpp"
#include "src/config/config.hpp"
#include "src/config/diagnostics.hpp"
#include "src/jwt/keys.hpp"

namespace pawl::config {

// A secret shorter than this can be guessed, and is refused.
inline constexpr std::size_t secret_bytes_min = 16;

// The whole of a file, or why not: "cannot be read: No such file or directory".
Expected<std::string, std::string> read_file(const std::string& path);

// The [[caller.api_key]] list of a keys_file.
Expected<std::vector<ApiKey>, Troubles> read_keys_file(const std::string& path);

// The keys of a jwks_file, or why they cannot be used: also because everybody may change them.
Expected<jwt::KeySet, std::string> read_jwks_file(const std::string& where);

// Why a secret or a database must not be like this: everybody may write it. With the command that
// mends it; empty where all is well.
std::string open_to_all(const std::string& path);
// The same of a secret, which must not belong to another user either, unless that is root.
std::string unsafe_secret(const std::string& path);

// One secret of a configuration: what `where` names (secrets.hpp), unless it is too short or
// everybody may write it. `setting` is its path in the configuration, `words` what people call it.
void load_secret(const std::string& where, const std::string& setting, const std::string& words,
                 std::string& into, Troubles& troubles);

// The keys of an [encryption] keys_file, or why there are none: it cannot be read, everybody may
// write it, or it is no such file.
Expected<KeyRing, std::string> read_key_ring(const std::string& where);

// Fills in every secret, and fingerprint_secrets from their files, without the line's end that
// editors leave. A secret that could not be read is a trouble and leaves the list empty: hashing
// under an older one would make honest retries look like misuse.
Troubles load_secrets(Config& config);

// Can every file be read that the configuration names, and is none open to everybody?
Troubles check_files(const Config& config);

}  // namespace pawl::config
