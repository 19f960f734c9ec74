// How old requests may be that were made under configurations before the one in force.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "src/config/request_ages.hpp"

namespace pawl::gateway {

// From any thread.
class EarlierAgesInForce {
 public:
  [[nodiscard]] std::shared_ptr<const config::EarlierAges> now() const {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void replace(config::EarlierAges next) {
    auto made = std::make_shared<const config::EarlierAges>(std::move(next));
    const std::lock_guard lock(mutex_);
    now_.swap(made);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const config::EarlierAges> now_ = std::make_shared<const config::EarlierAges>();
};

}  // namespace pawl::gateway
