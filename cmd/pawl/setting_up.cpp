#include "cmd/pawl/setting_up.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>

#include "src/adapters/os/memory_limit.hpp"
#include "src/adapters/postgres/inventory.hpp"
#include "src/adapters/sqlite/inventory.hpp"
#include "src/adapters/sqlite/store_metadata.hpp"
#include "src/config/show.hpp"
#include "src/config/units.hpp"
#include "src/gateway/scope_rule.hpp"

namespace pawl::cmd {
namespace {

constexpr std::string_view sqlite_prefix = "sqlite:";
const std::string rule_name = gateway::scope_rule_fact;
const std::string history_name = gateway::scope_rule_history_fact;

bool is_sqlite(const std::string& store) { return store.starts_with(sqlite_prefix); }
std::string path_in(const std::string& store) { return store.substr(sqlite_prefix.size()); }

using MaybeFact = Expected<std::optional<std::string>, std::string>;

MaybeFact fact(const std::string& store, const std::string& name) {
  return is_sqlite(store) ? sqlite::find_fact(path_in(store), name)
                          : postgres::find_fact(store, name);
}

Expected<bool, std::string> record(const std::string& store, const std::string& name,
                                   const std::optional<std::string>& expected,
                                   const std::string& value) {
  return is_sqlite(store) ? sqlite::replace_fact(path_in(store), name, expected, value)
                          : postgres::replace_fact(store, name, expected, value);
}

// By the clock that keys expire by.
Expected<std::int64_t, std::string> seconds_now(const std::string& store) {
  if (!is_sqlite(store)) return postgres::seconds_now(store);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::floor<std::chrono::seconds>(now).count();
}

template <class Visit>
Expected<Done, std::string> each_key(const std::string& store, const Visit& visit) {
  return is_sqlite(store) ? sqlite::each_key(path_in(store), visit)
                          : postgres::each_key(store, visit);
}

std::string in_words(const std::string& store) {
  constexpr std::int64_t counted_max = 100'000;
  if (is_sqlite(store)) {
    const auto count = sqlite::count_keys(path_in(store), counted_max + 1);
    if (!count) return {};
    return *count > counted_max ? "more than " + std::to_string(counted_max) + " keys"
                                : std::to_string(*count) + " keys";
  }
  const auto count = postgres::count_keys(store, counted_max);
  if (!count) return {};
  return (count->exact ? "" : "about ") + std::to_string(count->number) + " keys";
}

// A key in the store that the new routes would not find; nothing where there is none.
MaybeFact lost_key(const config::Config& config, const std::string& stored) {
  const gateway::Moved moved(stored, config);
  std::optional<std::string> lost;
  if (!moved.possible()) return lost;
  const Expected<Done, std::string> seen = each_key(
      config.store, [&](std::string_view scope, std::string_view method, std::string_view path) {
        lost = moved.lost(scope, method, path);
        return !lost;
      });
  if (!seen) return Unexpected{seen.error()};
  return lost;
}

std::string refusal(const std::string& why) {
  return "the keys in the store belong to other scopes: " + why +
         ".\nStarting like this would make live keys new, so a retry of a payment would pay "
         "again.\nGo back to the old setting, or accept that with --new-scope-rule";
}

// Once; false: somebody else has recorded something meanwhile.
Expected<bool, std::string> try_to_agree(const config::Config& config, bool accepted) {
  const std::string rule = gateway::scope_rule(config);
  const MaybeFact stored = fact(config.store, rule_name);
  if (!stored) return Unexpected{"store: " + stored.error()};
  if (!*stored) return record(config.store, rule_name, std::nullopt, rule);
  if (**stored == rule) return true;
  const MaybeFact history = fact(config.store, history_name);
  if (!history) return Unexpected{"store: " + history.error()};
  const Expected<std::int64_t, std::string> now = seconds_now(config.store);
  if (!now) return Unexpected{"store: " + now.error()};
  const std::string before = history->value_or("");
  if (!accepted) {
    std::optional<std::string> why = gateway::contradiction(**stored, rule);
    if (!why) why = gateway::old_contradiction(before, **stored, rule, *now);
    if (why) return Unexpected{refusal(*why)};
    const MaybeFact lost = lost_key(config, **stored);
    if (!lost) return Unexpected{"store: " + lost.error()};
    if (*lost) return Unexpected{refusal(**lost)};
  }
  // The history first: should we die in between, it holds too much rather than too little.
  const std::string after = gateway::history_after(before, **stored, rule, *now);
  const Expected<bool, std::string> kept = record(config.store, history_name, *history, after);
  if (!kept || !*kept) return kept;
  return record(config.store, rule_name, *stored, rule);
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
  if (!read || is_sqlite(read->config.store)) return read;
  const std::string trouble = postgres::trouble_in_url(read->config.store);
  if (trouble.empty()) return read;
  const std::string setting = overrides.store ? "" : "store";
  return Unexpected{config::located({{{}, 0, 0, "'store': " + trouble, setting}}, *read)};
}

StoreState state_of(const config::Config& config) {
  StoreState state;
  const MaybeFact rule = fact(config.store, rule_name);
  state.holds = in_words(config.store);
  state.is_new = rule && !*rule && state.holds == "0 keys";
  if (state.is_new) state.holds = "new";
  if (state.holds.empty()) state.holds = "not known";
  if (!is_sqlite(config.store)) {
    state.name = config::mask_passwords(config.store);
    return state;
  }
  const std::filesystem::path path = path_in(config.store);
  std::error_code ignored;
  state.is_relative = path.is_relative();
  state.name = std::string(sqlite_prefix) +
               std::filesystem::absolute(path, ignored).lexically_normal().string();
  return state;
}

Expected<Done, std::string> agree_on_scopes(const config::Config& config, bool accepted) {
  constexpr int tries = 20;  // of nodes that start at once, one gets through each time
  for (int i = 0; i < tries; ++i) {
    const Expected<bool, std::string> agreed = try_to_agree(config, accepted);
    if (!agreed) return Unexpected{agreed.error()};
    if (*agreed) return Done{};
  }
  return Unexpected{std::string("other nodes keep changing how scopes are made")};
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
