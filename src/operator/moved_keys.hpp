// Keys that other routes would make new.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/config.hpp"
#include "src/config/route_table.hpp"

namespace pawl {

// What the facts of a scope rule (src/config/scope_rule.hpp) alone do not say: where routes come,
// go or take something else, a request may be another route's, and its key then another key. The
// keys that are there tell.
class MovedKeys {
 public:
  MovedKeys(std::string_view stored, const config::Config& now);
  MovedKeys(const MovedKeys&) = delete;
  MovedKeys& operator=(const MovedKeys&) = delete;

  // Whether there can be any. False: the store need not be read.
  [[nodiscard]] bool possible() const { return possible_; }
  // Whether keys that are made by `stored` while the other takes its place could be new under it,
  // whatever keys there are. False: none can.
  [[nodiscard]] bool may_move() const;
  // Which key would be new, of a record in the store; nothing where a retry would find it, or would
  // not have found it under `stored` either.
  [[nodiscard]] std::optional<std::string> lost(std::string_view scope, std::string_view method,
                                                std::string_view path) const;

 private:
  config::Routes now_;
  const std::vector<config::Route>& routes_;  // of the same
  std::optional<config::Config> stored_;      // nothing: it is of a time when it did not say
  std::optional<config::Routes> before_;
  bool possible_ = false;
};

}  // namespace pawl
