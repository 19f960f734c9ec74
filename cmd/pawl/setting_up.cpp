#include "cmd/pawl/setting_up.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "src/adapters/os/memory_limit.hpp"
#include "src/adapters/postgres/connection_string.hpp"
#include "src/config/scope_rule.hpp"
#include "src/config/show.hpp"
#include "src/config/units.hpp"
#include "src/node/run_here.hpp"
#include "src/operator/scope_agreement.hpp"
#include "src/operator/store_overview.hpp"

namespace pawl::cmd {
namespace {

constexpr std::int64_t counted_max = 100'000;

Task<StoreState> read_state(Upkeep& upkeep) {
  StoreState state;
  const std::string name = config::scope_rule_fact;
  const StoreResult<std::optional<std::string>> rule = co_await upkeep.fact(name);
  const StoreResult<Upkeep::KeyCount> count = co_await upkeep.count_keys(counted_max);
  state.holds = count ? keys_in_words(*count, counted_max) : "not known";
  state.is_new = rule && !*rule && count && count->exact && count->number == 0;
  if (state.is_new) state.holds = "new";
  co_return state;
}

// What this node will answer with 503: better said at start than found out by a caller.
Task<std::vector<std::string>> find_unopenable(DataKeyStore& store, const KeyRing& keys) {
  std::vector<std::string> warnings;
  const StoreResult<DataKeyStore::Counts> counts = co_await store.counts();
  if (!counts) co_return warnings;
  for (const auto& [kek, scopes] : *counts) {
    if (keys.find(kek) != nullptr) continue;
    warnings.push_back(std::to_string(scopes) + " data keys are wrapped by the key \"" + kek +
                       "\", which is not in [encryption] keys_file: requests of their scopes are "
                       "answered 503 until it is, and nothing of them is executed");
  }
  co_return warnings;
}

std::string callers_in_words(const config::Caller& caller) {
  return caller.from ? std::string(to_text(*caller.from)) : "not chosen";
}

}  // namespace

Expected<config::Read, config::Troubles> read_settings(const std::optional<std::string>& path,
                                                       const config::Overrides& overrides,
                                                       config::Purpose purpose) {
  Expected<config::Read, config::Troubles> read =
      config::read_for_serving(path, overrides, purpose);
  if (!read || sqlite_path(read->config.store)) return read;
  const std::string trouble = postgres::trouble_in_url(read->config.store);
  if (trouble.empty()) return read;
  const std::string setting = overrides.store ? "" : "store";
  return Unexpected{config::located({{{}, 0, 0, "'store': " + trouble, setting}}, *read)};
}

StoreState state_of(const config::Config& config, OpenStore& store) {
  StoreState state = run_here(read_state(*store.upkeep));
  state.sealed = run_here(find_unopenable(*store.data_keys, config.encryption.keys));
  const std::optional<std::string> file = sqlite_path(config.store);
  if (!file) {
    state.name = config::mask_passwords(config.store);
    return state;
  }
  const std::filesystem::path path = *file;
  std::error_code ignored;
  state.is_relative = path.is_relative();
  state.name = "sqlite:" + std::filesystem::absolute(path, ignored).lexically_normal().string();
  return state;
}

Expected<Done, std::string> agree_on_scopes(const config::Config& config, OpenStore& store,
                                            bool accepted) {
  return run_here(agree_on_scopes(config, *store.store, *store.upkeep, accepted));
}

std::string fit_into_descriptors(config::Config& config) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  // For the store, operators, event loops, the outbox's calls.
  const rlim_t reserve = std::min<rlim_t>(1024, limit.rlim_cur / 4);
  const auto room = static_cast<std::size_t>((limit.rlim_cur - reserve) / 2);
  if (config.limits.connections <= room) return {};
  std::string what = "[limits] connections is " + std::to_string(config.limits.connections) +
                     ", but there is room for " + std::to_string(room) + " in " +
                     std::to_string(limit.rlim_cur) +
                     " file descriptors (RLIMIT_NOFILE): more are refused; raise it with `ulimit "
                     "-n` or LimitNOFILE";
  config.limits.connections = std::max<std::size_t>(room, 1);
  return what;
}

void fit_into_memory(config::Config& config) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  constexpr std::size_t least = 16 * mib;
  if (config.memory_budget > 0) return;
  config.memory_budget = std::max(os::memory_limit() / 4 / mib * mib, least);
}

void announce(gateway::RequestLog& log, const config::Read& read, const StoreState& store,
              const Addresses& addresses) {
  const config::Config& config = read.config;
  std::error_code ignored;
  gateway::RequestLog::Named values{{"version", PAWL_VERSION}, {"store", store.name}};
  values.emplace_back("store_holds", store.holds);
  values.emplace_back("callers", callers_in_words(config.caller));
  values.emplace_back("profile", to_text(config.policy.profile));
  values.emplace_back("routes", std::to_string(config.routes.size()));
  values.emplace_back("memory_budget", config::size_to_text(config.memory_budget));
  values.emplace_back(
      "configuration",
      read.file.empty() ? "none" : std::filesystem::absolute(read.file, ignored).string());
  if (!addresses.listen.empty()) values.emplace_back("listen", addresses.listen);
  values.emplace_back("admin", addresses.admin);
  log.say("info", "starting", values);
  if (!addresses.listen.empty() && !config.caller.from) {
    log.say(
        "warning",
        "no caller was chosen ([caller] from): callers are not distinguished, and a key belongs "
        "to the credentials (Authorization, Cookie, X-Api-Key, ...) that used it first; other "
        "credentials get 409. Choose one, or \"single\" if all callers are one tenant");
  }
  if (store.is_new && store.is_relative) {
    log.say("warning",
            "the store is new, and its path is relative: the same command in another folder has "
            "another store, in which every key is new. Give an absolute path: --store " +
                store.name);
  }
}

void prepare_process() {
  // The lowest descriptor that is free: if that is one of the first three, it was closed.
  for (int opened = 0; opened >= 0 && opened <= STDERR_FILENO;) {
    opened = ::open("/dev/null", O_RDWR);
    if (opened > STDERR_FILENO) ::close(opened);
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);  // until the node listens to it
  ::umask(::umask(0) | 027);
}

}  // namespace pawl::cmd
