#include "cmd/pawl/operator_store.hpp"

#include <filesystem>
#include <iostream>

#include "src/config/files.hpp"
#include "src/config/secrets.hpp"
#include "src/config/tables.hpp"

namespace pawl::cmd {

Expected<std::unique_ptr<OperatorStore>, std::string> open_for_operator(const std::string& url,
                                                                        const KeyRing& encryption) {
  if (const std::string must = config::check_store(url); !must.empty()) {
    return Unexpected{"--store: " + must};
  }
  if (const std::optional<std::string> path = sqlite_path(url)) {
    std::error_code ignored;
    if (!std::filesystem::exists(*path, ignored)) {
      return Unexpected{"there is no file \"" + *path + "\""};
    }
  }
  OpenStoreOptions options;
  options.allow_lossy_store = true;  // decided by the operator of `pawl serve`
  options.when_old = OpenStoreOptions::WhenOld::refuse;
  options.create = false;
  options.encryption = encryption;
  Expected<OpenStore, std::string> open = open_store(url, options);
  if (!open) return Unexpected{open.error()};
  auto store = std::make_unique<OperatorStore>();
  store->open = std::move(*open);
  store->engine.emplace(*store->open.store, store->clock, store->entropy, store->metrics);
  return store;
}

Expected<std::unique_ptr<OperatorStore>, std::string> open_given(const std::string& store,
                                                                 const std::string& keys_file) {
  const Expected<std::string, std::string> url = config::expand_store(store);
  if (!url) return Unexpected{"--store: " + url.error()};
  if (keys_file.empty()) return open_for_operator(*url);
  const Expected<KeyRing, std::string> keys = config::read_key_ring(keys_file);
  if (!keys) return Unexpected{"--keys-file " + keys_file + ": " + keys.error()};
  return open_for_operator(*url, *keys);
}

int failed(const char* command, const std::string& sentence, int code) {
  std::cerr << command << ": " << sentence << '\n';
  return code;
}

int failed(const char* command, const Refusal& refusal) {
  const bool misused = refusal.kind == Refusal::Kind::malformed;
  return failed(command, refusal.sentence, misused ? exit_usage : exit_failed);
}

}  // namespace pawl::cmd
