// "This key is settled", as nodes tell one another. A hint only: it may come late, twice or never,
// and means no more than "read it now". Waiting requests poll as well.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "pawl/types/key.hpp"
#include "src/ports/sleeper.hpp"

namespace pawl {

class SettledNotices {
 public:
  // How a key is called among nodes: a hash, since a channel may be open to others.
  static std::string name_of(const Scope& scope, const Key& key);

  // Tells the other nodes; does nothing where the store has no way to. Set before the start.
  std::function<void(std::string name)> say = [](const std::string&) {};

  // All of these are safe from any thread.
  void watch(const std::string& name, const std::shared_ptr<Wakeable>& waiter);
  void forget(const std::string& name, const std::shared_ptr<Wakeable>& waiter);
  // Another node said so: all that watch the key wake up. False: none does.
  bool heard(std::string_view name);

 private:
  std::mutex mutex_;
  std::unordered_multimap<std::string, std::shared_ptr<Wakeable>> watching_;
};

// Watches a key for as long as it lives.
class Subscription {
 public:
  Subscription(SettledNotices& hints, const Scope& scope, const Key& key,
               std::shared_ptr<Wakeable> waiter)
      : hints_(hints), name_(SettledNotices::name_of(scope, key)), waiter_(std::move(waiter)) {
    hints_.watch(name_, waiter_);
  }
  ~Subscription() { hints_.forget(name_, waiter_); }
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

 private:
  SettledNotices& hints_;
  const std::string name_;
  const std::shared_ptr<Wakeable> waiter_;
};

}  // namespace pawl
