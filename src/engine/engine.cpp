#include "src/engine/engine.hpp"

#include <algorithm>

#include "src/engine/orphans.hpp"

namespace pawl {

Engine::Engine(Store& store, Clock& clock, Entropy& entropy, Metrics& metrics,
               EngineOptions options)
    : store_(store),
      clock_(clock),
      entropy_(entropy),
      metrics_(metrics),
      options_(std::move(options)),
      sweep_rows_(options_.pass_rows_max),
      orphans_(options_.orphans ? options_.orphans : std::make_shared<Orphans>()) {}

// An answer that took long says too little to date anything by: until there was a quick one it is
// asked again.
Task<StoreResult<Done>> Engine::sync_time() {
  StoreResult<Done> result = Unexpected{StoreError::unavailable};
  for (int round = 0; round < options_.rounds_max; ++round) {
    const BootTime asked = clock_.now();
    const StoreResult<StoreClock> reported = co_await store_.time();
    if (!reported) {
      metrics_.add(Counter::store_error, to_text(reported.error()), 1);
      result = Unexpected{reported.error()};
      break;
    }
    time_.observe(reported->now, asked, clock_.now());
    purge_epoch_ = std::max(purge_epoch_, reported->purge_epoch);
    if (time_.known()) {
      result = Done{};
      break;
    }
  }
  co_return result;
}

Attempt Engine::new_attempt() {
  return Attempt{.owner = entropy_.new_owner(),
                 .now = time_.at(clock_.now()),
                 .clock_trusted = time_.trusted(),
                 .may_have_acted = false};
}

Attempt Engine::attempt_of(Owner owner) {
  return Attempt{.owner = std::move(owner),
                 .now = time_.at(clock_.now()),
                 .clock_trusted = time_.trusted(),
                 .may_have_acted = true};
}

// Asked again where it is not trusted: it may be right by now.
Task<StoreResult<Done>> Engine::need_time() {
  if (time_.known() && time_.trusted()) co_return Done{};
  co_return co_await sync_time();
}

// Every write goes through one of these two: each brings the store's time back.

Task<StoreResult<Written>> Engine::insert_or_read(Record fresh) {
  const BootTime asked = clock_.now();
  return observed(store_.insert_or_read_one(std::move(fresh)), asked);
}

Task<StoreResult<Written>> Engine::replace(Replacement replacement) {
  const BootTime asked = clock_.now();
  return observed(store_.replace_one(std::move(replacement)), asked);
}

Task<StoreResult<Written>> Engine::observed(Task<StoreResult<Written>> write, BootTime asked) {
  StoreResult<Written> written = co_await std::move(write);
  if (written) {
    time_.observe(written->store_time, asked, clock_.now());
    purge_epoch_ = std::max(purge_epoch_, written->purge_epoch);
  } else {
    metrics_.add(Counter::store_error, to_text(written.error()), 1);
  }
  co_return written;
}

// Exponential, with full jitter: owners that lost the store together do not come back together.
Task<void> Engine::pause(int tries) {
  const Duration longest =
      std::min(options_.retry_pause * (1 << std::min(tries, 10)), options_.retry_pause_max);
  const auto microseconds = entropy_.below(static_cast<std::uint64_t>(longest.count()) + 1);
  co_await clock_.sleep_until(clock_.now() + Duration(static_cast<std::int64_t>(microseconds)));
}

}  // namespace pawl
