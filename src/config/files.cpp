#include "src/config/files.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "src/config/caller.hpp"
#include "src/config/document.hpp"
#include "src/config/findings.hpp"
#include "src/config/sources.hpp"

namespace pawl::config {
namespace {

constexpr std::uintmax_t file_bytes_max = std::uintmax_t{64} << 20;

// A file that cannot be read, by the setting that names it.
void check_file(const std::string& setting, const std::string& path, Troubles& troubles) {
  if (path.empty()) return;
  const Expected<std::string, std::string> text = read_file(path);
  if (!text) troubles.push_back({path, 0, 0, text.error() + " (" + setting + ")"});
}

std::string secret_setting(const SecretFile& secret) {
  return "[[fingerprint_secret]] \"" + secret.id + "\"";
}

// A secret's bytes, without the line's end that editors leave; or what is wrong with it.
Expected<std::string, Trouble> secret_in(const std::string& file, const std::string& setting) {
  const Expected<std::string, std::string> text = read_file(file);
  if (!text) return Unexpected{Trouble{file, 0, 0, text.error() + " (" + setting + ")"}};
  std::string bytes = *text;
  if (bytes.ends_with('\n')) bytes.pop_back();
  if (bytes.ends_with('\r')) bytes.pop_back();
  if (bytes.size() >= secret_bytes_min) return bytes;
  return Unexpected{Trouble{file, 0, 0,
                            "holds " + std::to_string(bytes.size()) +
                                " bytes; a secret must have " + std::to_string(secret_bytes_min) +
                                " or more, like the output of `openssl rand -hex 32` (" + setting +
                                ")"}};
}

}  // namespace

Expected<std::string, std::string> read_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return Unexpected{std::string("cannot be read: it is a directory")};
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Unexpected{"cannot be read: " + std::generic_category().message(errno)};
  }
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > file_bytes_max) {
    return Unexpected{std::string("cannot be read: it is over 64MiB")};
  }
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) return Unexpected{std::string("cannot be read: an input error")};
  return std::move(text).str();
}

Expected<std::vector<ApiKey>, Troubles> read_keys_file(const std::string& path) {
  const Expected<std::string, std::string> text = read_file(path);
  if (!text) return Unexpected{Troubles{{path, 0, 0, text.error() + " ([caller] keys_file)"}}};
  const Expected<Node, Trouble> document = read_toml(*text, path);
  if (!document) return Unexpected{Troubles{document.error()}};
  Findings findings(path);
  const auto only = [&](const Node& table, std::string_view name) {
    for (const Member& member : table.members) {
      if (member.name == name) continue;
      findings.error(member.at, "unknown setting '" + member.name +
                                    "'; a keys_file has [[caller.api_key]] tables and nothing "
                                    "else");
    }
    return table.find(name);
  };
  const Node* caller = only(*document, "caller");
  const Node* list = caller != nullptr ? only(*caller, "api_key") : nullptr;
  if (list == nullptr) {
    findings.error({}, "has no keys; each is a [[caller.api_key]] with 'scope' and 'sha256'");
    return Unexpected{findings.errors()};
  }
  std::vector<ApiKey> keys = read_api_keys(*list, findings);
  if (findings.has_errors()) return Unexpected{findings.errors()};
  return keys;
}

Troubles load_secrets(Config& config) {
  Troubles troubles;
  FingerprintSecrets secrets;
  for (const SecretFile& named : config.fingerprint_secret_files) {
    const Expected<std::string, Trouble> bytes = secret_in(named.file, secret_setting(named));
    if (!bytes) troubles.push_back(bytes.error());
    if (bytes) secrets.push_back({named.id, *bytes});
  }
  config.fingerprint_secrets = troubles.empty() ? std::move(secrets) : FingerprintSecrets{};
  for (Destination& destination : config.destinations) {
    if (destination.secret_file.empty()) continue;
    const Expected<std::string, Trouble> bytes =
        secret_in(destination.secret_file, "[[destination]] \"" + destination.name + "\"");
    if (!bytes) troubles.push_back(bytes.error());
    if (bytes) destination.secret = *bytes;
  }
  for (Source& source : config.sources) load_source(source, troubles);
  return troubles;
}

Troubles check_files(const Config& config) {
  Troubles troubles;
  check_file("[admin] token_file", config.admin.token_file, troubles);
  check_file("[caller] keys_file", config.caller.keys_file, troubles);
  check_file("[caller] jwks_file", config.caller.jwks_file, troubles);
  check_file("[caller] secret_file", config.caller.secret_file, troubles);
  check_file("[caller] client_ca_file", config.caller.client_ca_file, troubles);
  Config scratch;
  scratch.fingerprint_secret_files = config.fingerprint_secret_files;
  scratch.destinations = config.destinations;
  scratch.sources = config.sources;
  for (Trouble& trouble : load_secrets(scratch)) troubles.push_back(std::move(trouble));
  return troubles;
}

}  // namespace pawl::config
