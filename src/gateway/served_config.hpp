// The configuration that requests are served by. A reload puts another one in its place; whatever
// has begun under one keeps that one to its end.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "src/config/config.hpp"
#include "src/config/route_table.hpp"
#include "src/gateway/callers.hpp"

namespace pawl::gateway {

// One reading of the configuration, and what is made of it. Never changed.
struct ServedConfig {
  explicit ServedConfig(config::Config read)
      : config(std::move(read)),
        routes(config),
        key_api(config::key_api_route(config)),
        callers(config.caller) {}
  ServedConfig(const ServedConfig&) = delete;
  ServedConfig& operator=(const ServedConfig&) = delete;

  const config::Config config;
  const config::Routes routes;
  const config::Route key_api;  // of the key API's calls: no request is forwarded by it
  const Callers callers;
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
