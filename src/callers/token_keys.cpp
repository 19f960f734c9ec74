#include "src/callers/token_keys.hpp"

#include <system_error>

#include "pawl/types/check.hpp"
#include "src/config/files.hpp"
#include "src/config/secrets.hpp"

namespace pawl::callers {
namespace {

using namespace std::chrono_literals;

constexpr Duration file_look_pause = 1s;
constexpr Duration turn_pause = 5ms;

void say_skipped(const std::string& where, const jwt::KeySet& keys, Log& log) {
  for (const std::string& skipped : keys.skipped) {
    log.say("warning", where + ": a key is not used: " + skipped);
  }
}

// Loudly: it is what was asked for, or a mistake that stops everybody.
void say_none_left(const std::string& where, Log& log) {
  log.say("error", where +
                       ": the set of keys is empty: every token is refused with 401 until it "
                       "has keys again");
}

// A secret that can be fetched is none: whoever fetches it could sign.
Expected<jwt::KeySet, std::string> without_secrets(Expected<jwt::KeySet, std::string> keys) {
  if (!keys) return keys;
  std::string why = "has no key that can be used";
  const std::size_t removed = std::erase_if(keys->keys, [&](const jwt::VerificationKey& key) {
    if (key.secret.empty()) return false;
    const std::string name = key.id.empty() ? "a key without 'kid'" : "key \"" + key.id + "\"";
    keys->skipped.push_back(name + ": a shared secret is not taken from a URL");
    why += "; " + keys->skipped.back();
    return true;
  });
  if (removed > 0 && keys->keys.empty()) return Unexpected{std::move(why)};
  return keys;
}

}  // namespace

Task<void> TokenKeys::fetch(Endpoints& /*endpoints*/, bool /*unknown_key*/) { co_return; }

KeysInFile::KeysInFile(std::string where, Log& log)
    : where_(std::move(where)), path_(config::secret_path(where_)), log_(log) {
  version_ = version();
  read();
}

std::optional<KeysInFile::Version> KeysInFile::version() const {
  std::error_code error;
  const auto at = std::filesystem::last_write_time(path_, error);
  if (error) return std::nullopt;
  const std::uintmax_t bytes = std::filesystem::file_size(path_, error);
  if (error) return std::nullopt;
  return Version{at, bytes};
}

void KeysInFile::read() {
  Expected<jwt::KeySet, std::string> keys = config::read_jwks_file(where_);
  if (!keys) {
    const char* const then = keys_ ? "; the keys that were read before stay in use" : "";
    log_.say("error", where_ + ": " + keys.error() + then);
    return;
  }
  say_skipped(where_, *keys, log_);
  if (keys_) log_.say("info", where_ + ": the keys of tokens were read again");
  if (keys->keys.empty()) say_none_left(where_, log_);
  keys_ = std::make_shared<const jwt::KeySet>(std::move(*keys));
}

std::shared_ptr<const jwt::KeySet> KeysInFile::known(BootTime now) {
  const std::lock_guard lock(mutex_);
  if (path_.empty() || now < next_look_) return keys_;
  next_look_ = now + file_look_pause;
  const std::optional<Version> found = version();
  if (found == version_) return keys_;
  version_ = found;
  read();
  return keys_;
}

FetchedKeys::FetchedKeys(std::string url, Log& log)
    : url_(std::move(url)), endpoint_(config::parse_endpoint(url_).value()), log_(log) {}

std::shared_ptr<const jwt::KeySet> FetchedKeys::known(BootTime /*now*/) {
  const std::lock_guard lock(mutex_);
  return keys_;
}

bool FetchedKeys::out_of_date() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

bool FetchedKeys::may_fetch(BootTime now, bool unknown_key) const {
  if (failed_ && now < next_try_) return false;
  if (!keys_ || now >= due_) return true;
  return unknown_key && now >= next_unknown_;
}

void FetchedKeys::refresh() {
  const std::lock_guard lock(mutex_);
  due_ = BootTime{};
}

// Who could do without does not wait for the one that fetches.
bool FetchedKeys::want_fetch(BootTime now, bool unknown_key) {
  const std::lock_guard lock(mutex_);
  if (fetching_) return !keys_ || unknown_key;
  return may_fetch(now, unknown_key);
}

class FetchedKeys::Turn {
 public:
  explicit Turn(FetchedKeys& keys) : keys_(keys) {}
  ~Turn() {
    const std::lock_guard lock(keys_.mutex_);
    keys_.fetching_ = false;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  FetchedKeys& keys_;
};

Task<void> FetchedKeys::fetch(Endpoints& endpoints, bool unknown_key) {
  Clock& clock = endpoints.clock();
  const BootTime end = clock.now() + timeout;
  for (bool waited = false;; waited = true) {
    {
      const std::lock_guard lock(mutex_);
      if (!fetching_) {
        if (waited || !may_fetch(clock.now(), unknown_key)) co_return;
        fetching_ = true;
        if (unknown_key) next_unknown_ = clock.now() + unknown_key_pause;
        break;
      }
    }
    if (clock.now() >= end) co_return;
    co_await clock.sleep_until(clock.now() + turn_pause);
  }
  const Turn turn(*this);
  Headers headers{{"Accept", "application/jwk-set+json, application/json"}};
  const Expected<Response, std::string> answer =
      co_await endpoints.get(endpoint_, std::move(headers), timeout, AnswerEnd::stated);
  if (!answer) {
    took(Unexpected{answer.error()}, clock.now());
  } else if (answer->status != 200) {
    took(Unexpected{"answered " + std::to_string(answer->status)}, clock.now());
  } else {
    took(without_secrets(jwt::read_jwks(answer->body)), clock.now());
  }
}

void FetchedKeys::took(Expected<jwt::KeySet, std::string> keys, BootTime now) {
  const std::lock_guard lock(mutex_);
  if (!keys) {
    if (!failed_) {
      const char* const then = keys_ ? "; the keys that are known stay in use"
                                     : "; requests are refused with 503 until there are some";
      log_.say("warning", url_ + ": the keys of tokens cannot be fetched: " + keys.error() + then);
    }
    failed_ = true;
    next_try_ = now + failure_pause;
    return;
  }
  if (failed_) log_.say("info", url_ + ": the keys of tokens can be fetched again");
  if (!keys_) say_skipped(url_, *keys, log_);
  const bool none_left = keys->keys.empty() && (!keys_ || !keys_->keys.empty());
  if (none_left) say_none_left(url_, log_);
  failed_ = false;
  due_ = now + fresh_for;
  keys_ = std::make_shared<const jwt::KeySet>(std::move(*keys));
}

std::shared_ptr<TokenKeys> token_keys(const config::Caller& config, Log& log) {
  if (!config.jwks_file.empty()) return std::make_shared<KeysInFile>(config.jwks_file, log);
  if (!config.jwks_url.empty()) return std::make_shared<FetchedKeys>(config.jwks_url, log);
  Expected<jwt::KeySet, std::string> keys = jwt::secret_key(config.secret);
  PAWL_CHECK(keys.has_value());  // load_secrets saw to it
  return std::make_shared<FixedKeys>(std::move(*keys));
}

}  // namespace pawl::callers
