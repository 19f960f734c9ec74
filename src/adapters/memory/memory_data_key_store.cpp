#include "src/adapters/memory/memory_data_key_store.hpp"

namespace pawl::memory {

Task<StoreResult<std::vector<WrappedKey>>> MemoryDataKeyStore::keys_of(Scope scope) {
  const std::lock_guard lock(mutex_);
  std::vector<WrappedKey> found;
  for (const auto& [name, key] : keys_) {
    if (name.first == scope) found.push_back(key);
  }
  co_return found;
}

Task<StoreResult<bool>> MemoryDataKeyStore::add(WrappedKey key) {
  const std::lock_guard lock(mutex_);
  const std::pair name(key.scope, key.generation);
  co_return keys_.try_emplace(name, std::move(key)).second;
}

Task<StoreResult<std::vector<WrappedKey>>> MemoryDataKeyStore::not_under(std::string kek,
                                                                         WrappedKey after,
                                                                         std::size_t keys_max) {
  const std::lock_guard lock(mutex_);
  std::vector<WrappedKey> found;
  for (auto at = keys_.upper_bound({after.scope, after.generation}); at != keys_.end(); ++at) {
    if (found.size() >= keys_max) break;
    if (at->second.kek != kek && !at->second.wrapped.empty()) found.push_back(at->second);
  }
  co_return found;
}

Task<StoreResult<DataKeyStore::Counts>> MemoryDataKeyStore::counts() {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::size_t> by_kek;
  for (const auto& [name, key] : keys_) {
    if (!key.wrapped.empty()) ++by_kek[key.kek];
  }
  co_return Counts(by_kek.begin(), by_kek.end());
}

Task<StoreResult<bool>> MemoryDataKeyStore::rewrap(WrappedKey was, WrappedKey next) {
  const std::lock_guard lock(mutex_);
  const auto found = keys_.find({was.scope, was.generation});
  const bool still = found != keys_.end() && found->second.wrapped == was.wrapped;
  if (still) found->second = std::move(next);
  co_return still;
}

Task<StoreResult<std::size_t>> MemoryDataKeyStore::forget(Scope scope, AuditEntry /*audit*/) {
  const std::lock_guard lock(mutex_);
  std::size_t erased = 0;
  for (auto& [name, key] : keys_) {
    if (name.first != scope || key.wrapped.empty()) continue;
    key.wrapped.clear();
    ++erased;
  }
  co_return erased;
}

Task<StoreResult<bool>> MemoryDataKeyStore::seal_message(OutboxRow /*sealed*/,
                                                         std::string /*digest*/,
                                                         int /*generation*/) {
  co_return false;
}

}  // namespace pawl::memory
