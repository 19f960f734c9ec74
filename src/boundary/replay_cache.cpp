#include "src/boundary/replay_cache.hpp"

#include "src/boundary/joined_name.hpp"

namespace pawl {
namespace {

std::size_t bytes_of(const Cached& cached, const std::string& name) {
  constexpr std::size_t nodes = 256;  // list node, map node, shared_ptr block
  std::size_t bytes = nodes + sizeof(Cached) + 2 * name.size() + cached.fingerprint.text.size() +
                      cached.request_id.size() + cached.credentials.size();
  for (const Header& header : cached.response.headers) {
    bytes += sizeof(Header) + header.name.size() + header.value.size();
  }
  return bytes + cached.body.size();
}

std::shared_ptr<Cached> cached_of(const Record& record, const StoredResponse& response,
                                  const std::string& request_id) {
  auto cached = std::make_shared<Cached>();
  cached->fingerprint = record.fingerprint;
  cached->rules = record.policy.fingerprint;
  cached->credentials = record.policy.credentials;
  cached->response = {response.status, response.headers, std::nullopt, response.schema_version};
  if (response.body) {
    cached->response.body.emplace();
    cached->body = *response.body;
  }
  cached->request_id = request_id;
  cached->expires_at = record.expires_at;
  return cached;
}

}  // namespace

std::shared_ptr<const Charge> Cached::lend(MemoryBudget& budget) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Charge> lent = lent_.lock();
  if (lent) return lent;
  Charge charge(&budget);
  if (!charge.resize(body.size(), MemoryUse::admitted)) return nullptr;
  lent = std::make_shared<const Charge>(std::move(charge));
  lent_ = lent;
  return lent;
}

ReplayCache::ReplayCache(std::size_t bytes_max) : shard_bytes_max_(bytes_max / shard_count) {}

ReplayCache::Shard& ReplayCache::shard_of(const std::string& name) {
  return shards_[std::hash<std::string_view>{}(name) % shard_count];
}

// With the shard's lock held.
std::shared_ptr<const Cached> ReplayCache::find_in(Shard& shard, const std::string& name) {
  const auto found = shard.by_name.find(name);
  if (found == shard.by_name.end()) return nullptr;
  shard.recent.splice(shard.recent.begin(), shard.recent, found->second);
  return found->second->cached;
}

std::shared_ptr<const Cached> ReplayCache::find(const Scope& scope, const Key& key) {
  if (shard_bytes_max_ == 0) return nullptr;
  const std::string name = joined_name(scope, key);
  Shard& shard = shard_of(name);
  const std::lock_guard lock(shard.mutex);
  return find_in(shard, name);
}

std::shared_ptr<const Cached> ReplayCache::keep(const Record& record, const std::string& request_id,
                                                std::int64_t epoch) {
  const auto* completed = std::get_if<Completed>(&record.state);
  if (completed == nullptr || shard_bytes_max_ == 0) return nullptr;
  Entry entry;
  entry.name = joined_name(record.scope, record.key);
  Shard& shard = shard_of(entry.name);
  {  // many may bring the same answer at once: one copy of it is enough
    const std::lock_guard lock(shard.mutex);
    std::shared_ptr<const Cached> there = find_in(shard, entry.name);
    if (there && there->request_id == request_id) return there;
  }
  const std::shared_ptr<const Cached> cached = cached_of(record, completed->response, request_id);
  entry.bytes = bytes_of(*cached, entry.name);
  entry.cached = cached;
  if (entry.bytes > shard_bytes_max_) return nullptr;

  const std::lock_guard lock(shard.mutex);
  // Under the lock: the thread that raises it empties this shard afterwards, or has done so
  // already.
  if (epoch != epoch_) return nullptr;
  const auto old = shard.by_name.find(entry.name);
  if (old != shard.by_name.end()) {
    const auto place = old->second;
    shard.bytes -= place->bytes;
    shard.by_name.erase(old);
    shard.recent.erase(place);
  }
  shard.bytes += entry.bytes;
  shard.recent.push_front(std::move(entry));
  shard.by_name[shard.recent.front().name] = shard.recent.begin();
  while (shard.bytes > shard_bytes_max_) {
    const Entry& last = shard.recent.back();
    shard.bytes -= last.bytes;
    shard.by_name.erase(last.name);
    shard.recent.pop_back();
  }
  return cached;
}

// Answers of the store may overtake each other: the highest counts.
void ReplayCache::hear(std::int64_t epoch) {
  std::int64_t before = epoch_;
  while (before < epoch) {
    if (epoch_.compare_exchange_weak(before, epoch)) {
      clear();
      return;
    }
  }
}

void ReplayCache::clear() {
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    shard.by_name.clear();
    shard.recent.clear();
    shard.bytes = 0;
  }
}

std::size_t ReplayCache::bytes() const {
  std::size_t all = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    all += shard.bytes;
  }
  return all;
}

}  // namespace pawl
