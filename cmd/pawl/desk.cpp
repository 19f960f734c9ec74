#include "cmd/pawl/desk.hpp"

#include <filesystem>

#include "src/config/secrets.hpp"
#include "src/config/tables.hpp"

namespace pawl::cmd {
namespace {

constexpr std::string_view sqlite_prefix = "sqlite:";
constexpr std::size_t reason_bytes_min = 3;
constexpr std::size_t reason_bytes_max = 2000;

}  // namespace

Expected<std::unique_ptr<Desk>, std::string> open_desk(const std::string& url) {
  if (const std::string must = config::check_store(url); !must.empty()) {
    return Unexpected{"--store: " + must};
  }
  if (url.starts_with(sqlite_prefix)) {
    std::error_code ignored;
    const std::string path = url.substr(sqlite_prefix.size());
    if (!std::filesystem::exists(path, ignored)) {
      return Unexpected{"there is no file \"" + path + "\""};
    }
  }
  // Whether it may forget was decided by whoever runs `pawl serve` on it.
  Expected<OpenStore, std::string> open =
      open_store(url, /*allow_lossy_store=*/true, sqlite::WhenOld::refuse);
  if (!open) return Unexpected{open.error()};
  auto desk = std::make_unique<Desk>();
  desk->open = std::move(*open);
  desk->engine.emplace(*desk->open.store, desk->clock, desk->entropy, desk->metrics);
  return desk;
}

Expected<std::unique_ptr<Desk>, std::string> open_given(const std::string& store) {
  const Expected<std::string, std::string> url = config::expand_store(store);
  if (!url) return Unexpected{"--store: " + url.error()};
  return open_desk(*url);
}

Expected<Instant, std::string> time_of(Desk& desk) {
  const StoreResult<Done> synced = run_here(desk.engine->sync_time());
  if (!synced)
    return Unexpected{"the store does not answer: " + std::string(to_text(synced.error()))};
  return desk.engine->time().at(desk.clock.now());
}

std::string check_reason(const std::string& reason) {
  const bool blank = reason.find_first_not_of(" \t\n") == std::string::npos;
  if (!blank && reason.size() >= reason_bytes_min && reason.size() <= reason_bytes_max) return {};
  return "--reason must say why, in 3 to 2000 characters; it is kept with your name";
}

}  // namespace pawl::cmd
