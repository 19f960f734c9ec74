#include "src/config/files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "src/config/caller.hpp"
#include "src/config/diagnostics.hpp"
#include "src/config/document.hpp"
#include "src/config/secrets.hpp"
#include "src/config/sources.hpp"

namespace pawl::config {
namespace {

constexpr std::uintmax_t file_bytes_max = std::uintmax_t{64} << 20;

// A setting that names a file: by its path in the configuration, and as people write it.
struct Named {
  std::string path;
  std::string words;
};

Diagnostic trouble_in(const std::string& file, std::string what, const Named& setting) {
  const bool is_path = !has_reference(file);
  if (!is_path && !what.starts_with('{')) what = file + ": " + what;
  return {is_path ? file : "", 0, 0, what + " (" + setting.words + ")", setting.path};
}

// A file that cannot be read, or that anybody may write.
void check_file(const Named& setting, const std::string& where, Troubles& troubles) {
  if (where.empty()) return;
  const Expected<std::string, std::string> text = read_secret(where);
  if (!text) return troubles.push_back(trouble_in(where, text.error(), setting));
  const std::string loose = unsafe_secret(secret_path(where));
  if (!loose.empty()) troubles.push_back(trouble_in(secret_path(where), loose, setting));
}

Named named(const SecretFile& secret, std::size_t index) {
  return {"fingerprint_secret." + std::to_string(index) + ".file",
          "[[fingerprint_secret]] \"" + secret.id + "\""};
}

Named named(const Destination& destination, std::size_t index) {
  return {"destination." + std::to_string(index) + ".secret_file",
          "[[destination]] \"" + destination.name + "\""};
}

const Named encryption_keys{"encryption.keys_file", "[encryption] keys_file"};
const Named admin_token{"admin.token_file", "[admin] token_file"};

// A folder that is not there, a database that anybody may write.
void check_database(const Config& config, Troubles& troubles) {
  constexpr std::string_view sqlite = "sqlite:";
  if (!config.store.starts_with(sqlite) || has_reference(config.store)) return;
  const std::filesystem::path path = config.store.substr(sqlite.size());
  std::error_code error;
  const Named setting{"store", "store"};
  if (path.has_parent_path() && !std::filesystem::is_directory(path.parent_path(), error)) {
    troubles.push_back(trouble_in(path.parent_path(), "there is no such folder", setting));
  } else if (std::filesystem::is_directory(path, error)) {
    troubles.push_back(trouble_in(path, "it is a folder; name a file", setting));
  }
  const std::string loose = open_to_all(path);
  if (!loose.empty()) troubles.push_back(trouble_in(path, loose, setting));
}

// Whoever has it is this node.
void check_key_file(const Named& setting, const std::string& path, Troubles& troubles) {
  if (path.empty()) return;
  check_file(setting, path, troubles);
  const std::string unsafe = unsafe_secret(path);
  if (!unsafe.empty()) troubles.push_back(trouble_in(path, unsafe, setting));
}

void check_tls_files(const std::string& path, const std::string& words, const ListenerTls& files,
                     Troubles& troubles) {
  check_file({path + ".certificate_file", words + " certificate_file"}, files.certificate_file,
             troubles);
  check_key_file({path + ".key_file", words + " key_file"}, files.key_file, troubles);
  check_file({path + ".client_ca_file", words + " client_ca_file"}, files.client_ca_file, troubles);
}

}  // namespace

std::string open_to_all(const std::string& path) {
  struct stat found {};
  const bool loose = !path.empty() && ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
                     (found.st_mode & S_IWOTH) != 0;
  if (!loose) return {};
  char mode[8];
  std::snprintf(mode, sizeof mode, "%04o", found.st_mode & 07777U);
  return "may be changed by every user of this machine (mode " + std::string(mode) +
         "): run `chmod 600 " + path + "`";
}

std::string unsafe_secret(const std::string& path) {
  struct stat found {};
  const bool anothers = !path.empty() && ::stat(path.c_str(), &found) == 0 &&
                        S_ISREG(found.st_mode) && found.st_uid != 0 && found.st_uid != ::geteuid();
  if (!anothers) return open_to_all(path);
  return "belongs to another user of this machine (uid " + std::to_string(found.st_uid) +
         "), who could change it: run `chown " + std::to_string(::geteuid()) + " " + path + "`";
}

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
  if (!text) {
    return Unexpected{
        Troubles{trouble_in(path, text.error(), {"caller.keys_file", "[caller] keys_file"})}};
  }
  const Expected<Node, Diagnostic> document = read_toml(*text, path);
  if (!document) return Unexpected{Troubles{document.error()}};
  Diagnostics findings(path);
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

Expected<jwt::KeySet, std::string> read_jwks_file(const std::string& where) {
  const Expected<std::string, std::string> text = read_secret(where);
  if (!text) return Unexpected{text.error()};
  std::string loose = unsafe_secret(secret_path(where));
  if (!loose.empty()) return Unexpected{std::move(loose)};
  return jwt::read_jwks(*text);
}

void load_secret(const std::string& where, const std::string& setting, const std::string& words,
                 std::string& into, Troubles& troubles) {
  const Named name{setting, words};
  Expected<std::string, std::string> secret = read_secret(where);
  if (!secret) return troubles.push_back(trouble_in(where, secret.error(), name));
  const std::string loose = unsafe_secret(secret_path(where));
  if (!loose.empty()) return troubles.push_back(trouble_in(secret_path(where), loose, name));
  if (secret->size() < secret_bytes_min) {
    return troubles.push_back(trouble_in(where,
                                         "holds " + std::to_string(secret->size()) +
                                             " bytes; a secret must have " +
                                             std::to_string(secret_bytes_min) +
                                             " or more, like the output of `openssl rand -hex 32`",
                                         name));
  }
  into = std::move(*secret);
}

namespace {

void load_caller(Caller& caller, Troubles& troubles) {
  if (!caller.jwks_file.empty()) {
    const Expected<jwt::KeySet, std::string> keys = read_jwks_file(caller.jwks_file);
    // An empty set withdraws all keys of a node that runs; none begins with one.
    if (!keys || keys->keys.empty()) {
      const std::string path = secret_path(caller.jwks_file);
      const std::string why = keys ? "has no key that can be used" : keys.error();
      troubles.push_back(trouble_in(path.empty() ? caller.jwks_file : path, why,
                                    {"caller.jwks_file", "[caller] jwks_file"}));
    }
  }
  if (caller.secret_file.empty()) return;
  const Named setting{"caller.secret_file", "[caller] secret_file"};
  load_secret(caller.secret_file, setting.path, setting.words, caller.secret, troubles);
  if (caller.secret.empty()) return;
  const Expected<jwt::KeySet, std::string> key = jwt::secret_key(caller.secret);
  if (!key) troubles.push_back(trouble_in(caller.secret_file, key.error(), setting));
}

}  // namespace

Expected<KeyRing, std::string> read_key_ring(const std::string& where) {
  const Expected<std::string, std::string> text = read_secret(where);
  if (!text) return Unexpected{text.error()};
  if (const std::string loose = unsafe_secret(secret_path(where)); !loose.empty()) {
    return Unexpected{loose};
  }
  return parse_key_ring(*text);
}

Troubles load_secrets(Config& config) {
  Troubles troubles;
  FingerprintSecrets secrets;
  for (std::size_t i = 0; i < config.fingerprint_secret_files.size(); ++i) {
    const SecretFile& file = config.fingerprint_secret_files[i];
    const Named setting = named(file, i);
    secrets.push_back({file.id, ""});
    load_secret(file.file, setting.path, setting.words, secrets.back().bytes, troubles);
  }
  config.fingerprint_secrets = troubles.empty() ? std::move(secrets) : FingerprintSecrets{};
  for (std::size_t i = 0; i < config.destinations.size(); ++i) {
    Destination& destination = config.destinations[i];
    if (destination.secret_file.empty()) continue;
    const Named setting = named(destination, i);
    load_secret(destination.secret_file, setting.path, setting.words, destination.secret, troubles);
  }
  for (std::size_t i = 0; i < config.sources.size(); ++i) {
    load_source(config.sources[i], "source." + std::to_string(i), troubles);
  }
  if (!config.admin.token_file.empty()) {
    load_secret(config.admin.token_file, admin_token.path, admin_token.words, config.admin.token,
                troubles);
  }
  load_caller(config.caller, troubles);
  if (!config.encryption.keys_file.empty()) {
    Expected<KeyRing, std::string> keys = read_key_ring(config.encryption.keys_file);
    if (keys) config.encryption.keys = std::move(*keys);
    if (!keys) {
      troubles.push_back(trouble_in(config.encryption.keys_file, keys.error(), encryption_keys));
    }
  }
  return troubles;
}

Troubles check_files(const Config& config) {
  Troubles troubles;
  check_database(config, troubles);
  check_file({"caller.keys_file", "[caller] keys_file"}, config.caller.keys_file, troubles);
  check_file({"caller.client_ca_file", "[caller] client_ca_file"}, config.caller.client_ca_file,
             troubles);
  check_tls_files("tls", "[tls]", config.tls, troubles);
  check_tls_files("admin.tls", "[admin.tls]", config.admin.tls, troubles);
  const UpstreamTls& upstream = config.upstream_tls;
  check_file({"upstream_tls.ca_file", "[upstream_tls] ca_file"}, upstream.ca_file, troubles);
  check_file({"upstream_tls.certificate_file", "[upstream_tls] certificate_file"},
             upstream.certificate_file, troubles);
  check_key_file({"upstream_tls.key_file", "[upstream_tls] key_file"}, upstream.key_file, troubles);
  Config scratch;
  scratch.fingerprint_secret_files = config.fingerprint_secret_files;
  scratch.destinations = config.destinations;
  scratch.sources = config.sources;
  scratch.admin = config.admin;
  scratch.caller = config.caller;
  scratch.encryption = config.encryption;
  for (Diagnostic& trouble : load_secrets(scratch)) troubles.push_back(std::move(trouble));
  return troubles;
}

}  // namespace pawl::config
