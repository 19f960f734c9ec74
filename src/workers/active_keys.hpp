// The keys that a worker is at: none twice at once, however its task ends.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "pawl/types/record.hpp"

namespace pawl::workers {

class ActiveKeys {
  using Identity = std::pair<std::string, std::string>;
  using Set = std::set<Identity>;

 public:
  // Held by the task. It may outlive the worker: what is left of its task when the executor is
  // destroyed.
  class Held {
   public:
    Held(std::shared_ptr<Set> set, Identity identity)
        : set_(std::move(set)), identity_(std::move(identity)) {
      set_->insert(identity_);
    }
    ~Held() {
      if (set_) set_->erase(identity_);
    }
    Held(Held&& other) noexcept = default;
    Held& operator=(Held&& other) = delete;

   private:
    std::shared_ptr<Set> set_;
    Identity identity_;
  };

  [[nodiscard]] bool contains(const Record& record) const {
    return contains(record.scope, record.key);
  }
  [[nodiscard]] bool contains(const Scope& scope, const Key& key) const {
    return set_->contains({scope.text, key.text});
  }
  [[nodiscard]] std::size_t size() const { return set_->size(); }
  Held hold(const Record& record) { return {set_, {record.scope.text, record.key.text}}; }

 private:
  std::shared_ptr<Set> set_ = std::make_shared<Set>();
};

}  // namespace pawl::workers
