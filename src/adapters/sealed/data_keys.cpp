#include "src/adapters/sealed/data_keys.hpp"

#include <algorithm>

namespace pawl::sealed {
namespace {

constexpr std::size_t scopes_max = 100'000;
// What cannot be unwrapped is asked for again: another process may have wrapped it anew.
constexpr std::chrono::seconds unusable_for{5};
constexpr int rounds_max = 3;

// No record was written when a data key could not be: whatever it was, the caller may retry.
StoreError before_any_write(StoreError error) {
  return error == StoreError::in_doubt ? StoreError::unavailable : error;
}

}  // namespace

std::string place_of(const WrappedKey& key) {
  return place_of({"data key", key.scope.text, std::to_string(key.generation), key.kek});
}

bool DataKeys::Known::is_whole() const {
  return std::ranges::all_of(
      generations, [](const Generation& one) { return one.erased || one.key != nullptr; });
}

DataKeys::SharedKnown DataKeys::remembered(const Scope& scope) const {
  const std::lock_guard lock(mutex_);
  const auto found = scopes_.find(scope.text);
  return found == scopes_.end() ? nullptr : found->second;
}

void DataKeys::hear(std::int64_t purge_epoch) {
  if (epoch_.load(std::memory_order_relaxed) == purge_epoch) return;
  const std::lock_guard lock(mutex_);
  epoch_ = purge_epoch;
  scopes_.clear();
}

Task<StoreResult<DataKeys::SharedKnown>> DataKeys::read(Scope scope) {
  const std::int64_t epoch = epoch_;
  StoreResult<std::vector<WrappedKey>> rows = co_await store_->keys_of(scope);
  if (!rows) co_return Unexpected{before_any_write(rows.error())};
  auto made = std::make_shared<Known>();
  made->read_at = std::chrono::steady_clock::now();
  made->epoch = epoch;
  for (const WrappedKey& row : *rows) {
    Generation one{row.generation, row.wrapped.empty(), nullptr};
    if (const EncryptionKey* with = ring_.find(row.kek); with != nullptr && !one.erased) {
      std::optional<std::string> bytes = unwrap(*with, place_of(row), row.wrapped);
      if (bytes) one.key = std::make_shared<const DataKey>(DataKey{row.generation, *bytes});
    }
    made->generations.push_back(std::move(one));
  }
  SharedKnown known = std::move(made);
  const std::lock_guard lock(mutex_);
  if (scopes_.size() >= scopes_max) scopes_.clear();
  // What was read before a scope was forgotten must not be remembered after it.
  if (epoch == epoch_) scopes_[scope.text] = known;
  co_return known;
}

Task<StoreResult<DataKeys::SharedKnown>> DataKeys::known(Scope scope) {
  SharedKnown found = remembered(scope);
  if (found && !found->is_whole() &&
      std::chrono::steady_clock::now() - found->read_at > unusable_for) {
    found = nullptr;
  }
  if (found) co_return found;
  co_return co_await read(std::move(scope));
}

Task<StoreResult<DataKeys::SharedKnown>> DataKeys::extended(Scope scope, SharedKnown known) {
  WrappedKey fresh;
  fresh.scope = scope;
  fresh.generation = known->generations.empty() ? 1 : known->generations.back().number + 1;
  fresh.kek = ring_.keys.front().id;
  fresh.wrapped = wrap(ring_.keys.front(), place_of(fresh), random_key());
  // Read afterwards, whoever was first: what is in the store is what everybody uses.
  const StoreResult<bool> added = co_await store_->add(fresh);
  if (!added) co_return Unexpected{before_any_write(added.error())};
  co_return co_await read(std::move(scope));
}

Task<StoreResult<SealingKey>> DataKeys::sealing(Scope scope, StoreResult<SharedKnown> found) {
  for (int round = 0; found && round < rounds_max; ++round) {
    const std::vector<Generation>& generations = (*found)->generations;
    if (!generations.empty() && !generations.back().erased) {
      if (!generations.back().key) co_return Unexpected{StoreError::unreadable};
      co_return SealingKey{generations.back().key, (*found)->epoch};
    }
    SharedKnown before = *found;
    found = co_await extended(scope, std::move(before));
  }
  co_return Unexpected{found ? StoreError::contended : found.error()};
}

Task<StoreResult<SealingKey>> DataKeys::to_seal(Scope scope) {
  // Whether older ones open is no matter here.
  const SharedKnown there = remembered(scope);
  if (there && !there->generations.empty() && there->generations.back().key) {
    co_return SealingKey{there->generations.back().key, there->epoch};
  }
  StoreResult<SharedKnown> found = co_await known(scope);
  co_return co_await sealing(std::move(scope), std::move(found));
}

Task<StoreResult<SealingKey>> DataKeys::to_seal_now(Scope scope) {
  StoreResult<SharedKnown> found = co_await read(scope);
  co_return co_await sealing(std::move(scope), std::move(found));
}

SharedKey DataKeys::at_hand(const Scope& scope) const {
  const SharedKnown found = remembered(scope);
  if (!found || found->generations.empty()) return nullptr;
  return found->generations.back().key;
}

Task<StoreResult<SharedKey>> DataKeys::to_open(Scope scope, int generation) {
  if (!on()) co_return Unexpected{StoreError::unreadable};
  const auto is_it = [generation](const Generation& one) { return one.number == generation; };
  StoreResult<SharedKnown> found = co_await known(scope);
  if (found && std::ranges::none_of((*found)->generations, is_it)) {
    found = co_await read(scope);  // another node has made it since
  }
  if (!found) co_return Unexpected{found.error()};
  const auto one = std::ranges::find_if((*found)->generations, is_it);
  if (one == (*found)->generations.end()) co_return Unexpected{StoreError::unreadable};
  if (one->erased) co_return SharedKey();
  if (!one->key) co_return Unexpected{StoreError::unreadable};
  co_return one->key;
}

}  // namespace pawl::sealed
