#include "src/ports/memory_budget.hpp"

#include <algorithm>

namespace pawl {
namespace {

constexpr std::size_t step = std::size_t{64} << 10;

}  // namespace

bool MemoryBudget::take(std::size_t bytes, MemoryUse use) {
  const std::size_t most = use == MemoryUse::new_work ? bytes_ - bytes_ / 4 : bytes_;
  std::size_t before = used_.load(std::memory_order_relaxed);
  do {
    if (before > most || bytes > most - before) return false;
  } while (!used_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
  return true;
}

bool Charge::resize(std::size_t bytes, MemoryUse use) {
  if (budget_ != nullptr && bytes > bytes_ && !budget_->take(bytes - bytes_, use)) return false;
  if (budget_ != nullptr && bytes < bytes_) budget_->give_back(bytes_ - bytes);
  bytes_ = bytes;
  return true;
}

Charge Charge::split(std::size_t bytes) {
  Charge part(budget_);
  part.bytes_ = std::min(bytes, bytes_);
  bytes_ -= part.bytes_;
  return part;
}

std::size_t charged_for(std::size_t arrived, std::size_t all) {
  return std::clamp((arrived + step - 1) / step * step, arrived, std::max(arrived, all));
}

}  // namespace pawl
