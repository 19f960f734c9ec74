#include "src/engine/late_outcomes.hpp"

namespace pawl {
namespace {

// What an outcome that waits for the store holds in memory, roughly.
std::size_t bytes_of(const Record& record, const Outcome& outcome) {
  constexpr std::size_t fixed = 1024;  // the record, its lease, what lists and strings cost
  std::size_t bytes = fixed + record.scope.text.size() + record.key.text.size() +
                      record.path.size() + record.route.size();
  const auto* answered = std::get_if<Answered>(&outcome);
  if (answered == nullptr) return bytes;
  for (const Header& header : answered->response.headers) {
    bytes += sizeof header + header.name.size() + header.value.size();
  }
  return bytes + answered->response.body.size();
}

}  // namespace

void LateOutcomes::remember(const Executed& executed, Charge& memory) {
  if (!executed.lease) return;
  const std::size_t bytes = bytes_of(*executed.lease->record, executed.outcome);
  if (bytes_ + bytes > bytes_max) return;
  bytes_ += bytes;
  ++count_;
  waiting_.push_back({executed.lease, executed.outcome, bytes, memory.split(bytes)});
}

Task<std::size_t> LateOutcomes::settle(Engine& engine) {
  std::size_t lost = 0;
  std::list<Late> trying;
  trying.swap(waiting_);
  while (!trying.empty()) {
    Late& late = trying.front();
    StoreResult<Settlement> settled = Unexpected{StoreError::unavailable};
    try {
      settled = co_await engine.settle(*late.lease, late.outcome);
    } catch (...) {  // what was not recorded is tried again
      waiting_.splice(waiting_.end(), trying);
      throw;
    }
    const bool unreadable = !settled && settled.error() == StoreError::unreadable;
    if (unreadable) ++lost;
    if (settled || unreadable) {
      bytes_ -= late.bytes;
      const std::shared_ptr<Wakeable> waits = --count_ == 0 ? none_left_.lock() : nullptr;
      if (waits) waits->wake();
      trying.pop_front();
      continue;
    }
    // Still unavailable, most likely: none of the others would fare better now. The next time
    // another one is the first, in case it is this one's row that is the trouble.
    trying.splice(trying.end(), trying, trying.begin());
    waiting_.splice(waiting_.end(), trying);
  }
  co_return lost;
}

}  // namespace pawl
