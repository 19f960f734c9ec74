// How many bytes the bodies and answers in flight may hold: one number for the whole process.
//
// Whoever is about to hold bytes charges them first, and gives them back by letting go of the
// Charge. Every charge is made or refused as a whole, so the budget is never exceeded.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace pawl {

// New work leaves a quarter of the budget to what was admitted before: an answer to a request that
// was sent has to be held by somebody.
enum class MemoryUse { new_work, admitted };

// Shared by the threads.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t bytes) : bytes_(bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  friend class Charge;
  bool take(std::size_t bytes, MemoryUse use);
  void give_back(std::size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  const std::size_t bytes_;
  std::atomic<std::size_t> used_ = 0;
};

// Bytes of a budget, given back at its end. Without a budget nothing is counted or refused.
class Charge {
 public:
  Charge() = default;
  explicit Charge(MemoryBudget* budget) : budget_(budget) {}
  ~Charge() { resize(0, MemoryUse::admitted); }
  Charge(Charge&& other) noexcept
      : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
  Charge& operator=(Charge&& other) noexcept {
    Charge old(std::move(other));  // becomes what this was, and gives it back
    std::swap(budget_, old.budget_);
    std::swap(bytes_, old.bytes_);
    return *this;
  }

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  // From now on it is for so many. False: there is no room for that, and nothing has changed; to
  // less it always can.
  bool resize(std::size_t bytes, MemoryUse use);
  // The same where it must not become less.
  bool cover(std::size_t bytes, MemoryUse use) { return bytes <= bytes_ || resize(bytes, use); }
  // Takes over what another one of the same budget was for.
  void absorb(Charge other) { bytes_ += std::exchange(other.bytes_, 0); }
  // A part of it, as far as it goes, for whoever holds on to something for longer.
  Charge split(std::size_t bytes);

 private:
  MemoryBudget* budget_ = nullptr;
  std::size_t bytes_ = 0;
};

// What arrives bit by bit is charged in steps: so many bytes for `arrived`, of `all` at most.
std::size_t charged_for(std::size_t arrived, std::size_t all);

}  // namespace pawl
