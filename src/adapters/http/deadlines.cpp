#include "src/adapters/http/deadlines.hpp"

#include "pawl/types/check.hpp"

namespace pawl::http {

Deadlines::Entry::Entry(Deadlines& deadlines)
    : deadlines_(deadlines), index_(deadlines.entries_.size()) {
  deadlines_.entries_.push_back(this);
}

Deadlines::Entry::~Entry() {
  Entry* const last = deadlines_.entries_.back();
  PAWL_CHECK(deadlines_.entries_[index_] == this);
  deadlines_.entries_[index_] = last;
  last->index_ = index_;
  deadlines_.entries_.pop_back();
}

void Deadlines::expire_due() {
  const BootTime now = clock_.now();
  // expire() only cancels; nothing is destroyed before its coroutine is resumed.
  for (Entry* const entry : entries_) {
    if (entry->when_ > now) continue;
    entry->when_ = BootTime::max();
    entry->expire();
  }
}

Task<void> Deadlines::run() {
  while (!stopped_) {
    co_await clock_.sleep_until(clock_.now() + tick);
    expire_due();
  }
}

}  // namespace pawl::http
