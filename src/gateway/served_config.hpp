// The configuration that requests are served by. A reload puts another one in its place; whatever
// has begun under one keeps that one to its end.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "src/callers/callers.hpp"
#include "src/config/attempt_terms.hpp"
#include "src/config/config.hpp"
#include "src/config/route_table.hpp"

namespace pawl::gateway {

// One reading of the configuration, and what is made of it. Never changed.
struct ServedConfig {
  // `before`: the one whose place it takes.
  ServedConfig(config::Config read, Log& log, const ServedConfig* before = nullptr)
      : config(config::with_attempt_terms(std::move(read))),
        routes(config),
        key_api(config::key_api_route(config)),
        callers(std::make_shared<callers::Callers>(
            config.caller, log, before == nullptr ? nullptr : before->callers.get())) {}
  ServedConfig(const ServedConfig&) = delete;
  ServedConfig& operator=(const ServedConfig&) = delete;

  const config::Config config;
  const config::Routes routes;
  const config::Route key_api;  // of the key API's calls: no request is forwarded by it
  const std::shared_ptr<callers::Callers> callers;  // they remember keys and answers
};

using SharedConfig = std::shared_ptr<const ServedConfig>;

// The one in force. From any thread.
class ConfigInForce {
 public:
  explicit ConfigInForce(SharedConfig first) : now_(std::move(first)) {}

  [[nodiscard]] SharedConfig now() const {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void replace(SharedConfig next) {
    const std::lock_guard lock(mutex_);
    now_.swap(next);
  }

 private:
  mutable std::mutex mutex_;
  SharedConfig now_;
};

}  // namespace pawl::gateway
