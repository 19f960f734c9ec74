// Outcomes that could not be recorded while the store was unavailable. Each is tried again for as
// long as this process lives.
#pragma once

#include <atomic>
#include <list>
#include <memory>

#include "src/engine/engine.hpp"
#include "src/ports/memory_budget.hpp"
#include "src/ports/sleeper.hpp"

namespace pawl {

class LateOutcomes {
 public:
  static constexpr std::size_t bytes_max = std::size_t{64} << 20;

  // What was not recorded of an execution, with its share of `memory`. Where there is no room left
  // it is not kept: its lease lapses, and the record becomes unknown.
  void remember(const Executed& executed, Charge& memory);

  // Tries each once more. How many are lost for good: their records cannot be read.
  Task<std::size_t> settle(Engine& engine);

  // Wakes it when none is left to be recorded. One at a time.
  void when_none_is_left(std::weak_ptr<Wakeable> wakes) { none_left_ = std::move(wakes); }

  // From any thread.
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  struct Late {
    std::shared_ptr<Lease> lease;
    Outcome outcome;
    std::size_t bytes = 0;
    Charge memory;
  };

  std::list<Late> waiting_;
  std::weak_ptr<Wakeable> none_left_;
  std::size_t bytes_ = 0;
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace pawl
