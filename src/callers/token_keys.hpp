// Where the keys come from that tokens are verified with.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "src/callers/caller_rule.hpp"
#include "src/config/config.hpp"
#include "src/jwt/keys.hpp"
#include "src/ports/log.hpp"

namespace pawl::callers {

class TokenKeys {
 public:
  virtual ~TokenKeys() = default;

  // Null: none are known.
  virtual std::shared_ptr<const jwt::KeySet> known(BootTime now) = 0;
  // Should they be fetched before a token is judged? `unknown_key`: it names one that is not there.
  virtual bool want_fetch(BootTime /*now*/, bool /*unknown_key*/) { return false; }
  virtual Task<void> fetch(Endpoints& endpoints, bool unknown_key);
  // The last attempt to read them failed: there may be others by now.
  [[nodiscard]] virtual bool out_of_date() const { return false; }
  // To be fetched again when the next token comes; those that are known stay in use until then.
  virtual void refresh() {}
};

// A shared secret, for as long as the process runs.
class FixedKeys final : public TokenKeys {
 public:
  explicit FixedKeys(jwt::KeySet keys)
      : keys_(std::make_shared<const jwt::KeySet>(std::move(keys))) {}
  std::shared_ptr<const jwt::KeySet> known(BootTime /*now*/) override { return keys_; }

 private:
  const std::shared_ptr<const jwt::KeySet> keys_;
};

// jwks_file: read again when it has changed. What cannot be read changes nothing, and is said.
class KeysInFile final : public TokenKeys {
 public:
  KeysInFile(std::string where, Log& log);
  std::shared_ptr<const jwt::KeySet> known(BootTime now) override;

 private:
  struct Version {
    std::filesystem::file_time_type at;
    std::uintmax_t bytes = 0;
    friend bool operator==(const Version&, const Version&) = default;
  };
  [[nodiscard]] std::optional<Version> version() const;
  void read();

  const std::string where_;
  const std::string path_;  // empty: it is no file
  Log& log_;
  std::mutex mutex_;
  std::shared_ptr<const jwt::KeySet> keys_;
  std::optional<Version> version_;
  BootTime next_look_{};
};

// jwks_url: fetched when the first token comes, then every `fresh_for`, and at once for a token
// whose key is not among them, at most every `unknown_key_pause`. While the endpoint cannot be
// reached the keys that are known stay. No shared secrets, which anyone else could fetch too.
class FetchedKeys final : public TokenKeys {
 public:
  static constexpr Duration fresh_for = std::chrono::minutes(5);
  static constexpr Duration unknown_key_pause = std::chrono::seconds(10);
  static constexpr Duration failure_pause = std::chrono::seconds(1);
  static constexpr Duration timeout = std::chrono::seconds(5);

  FetchedKeys(std::string url, Log& log);
  std::shared_ptr<const jwt::KeySet> known(BootTime now) override;
  bool want_fetch(BootTime now, bool unknown_key) override;
  Task<void> fetch(Endpoints& endpoints, bool unknown_key) override;
  [[nodiscard]] bool out_of_date() const override;
  void refresh() override;

 private:
  class Turn;  // that of the one that fetches
  void took(Expected<jwt::KeySet, std::string> keys, BootTime now);
  bool may_fetch(BootTime now, bool unknown_key) const;  // under mutex_

  const std::string url_;
  const config::Endpoint endpoint_;
  Log& log_;
  mutable std::mutex mutex_;
  std::shared_ptr<const jwt::KeySet> keys_;
  bool fetching_ = false;
  bool failed_ = false;
  BootTime due_{};           // not fresh any more
  BootTime next_try_{};      // after a failure
  BootTime next_unknown_{};  // for a key that is not known
};

std::shared_ptr<TokenKeys> token_keys(const config::Caller& config, Log& log);

}  // namespace pawl::callers
