// The ports that an operator's functions need and that have no implementation in memory, small
// enough to be read, and a world of them around one store.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/adapters/memory/memory_outbox_store.hpp"
#include "src/adapters/memory/memory_reconciliation_store.hpp"
#include "src/adapters/memory/memory_store.hpp"
#include "src/engine/engine.hpp"
#include "src/operator/key_ports.hpp"
#include "src/operator/upkeep_for_tests.hpp"
#include "testing/builders.hpp"
#include "testing/counting.hpp"
#include "testing/run.hpp"
#include "testing/sim_clock.hpp"

namespace pawl::testing {

class FakeDirectory final : public KeyDirectory {
 public:
  explicit FakeDirectory(memory::MemoryStore& store) : store_(store) {}

  bool fails = false;
  std::function<void()> before_purge;  // what happens elsewhere meanwhile
  std::vector<AuditEntry> purged;

  Task<StoreResult<std::vector<ListedKey>>> list(Listed which, std::size_t keys_max) override {
    if (fails) co_return Unexpected{StoreError::unavailable};
    std::vector<ListedKey> keys;
    for (const Record& record : store_.records()) {
      if (to_text(status_of(record)) != to_text(which) || keys.size() == keys_max) continue;
      ListedKey key;
      key.scope = record.scope;
      key.key = record.key;
      key.status = to_text(status_of(record));
      keys.push_back(std::move(key));
    }
    co_return keys;
  }

  Task<StoreResult<std::vector<KeyRef>>> keys_after(Scope scope, Key key,
                                                    std::size_t keys_max) override {
    if (fails) co_return Unexpected{StoreError::unavailable};
    std::vector<KeyRef> keys;
    for (const Record& record : store_.records()) {
      const bool after = std::tie(record.scope, record.key) > std::tie(scope, key);
      if (!after || keys.size() == keys_max) continue;
      keys.push_back({record.scope, record.key, record.fence, record.attempt});
    }
    co_return keys;
  }

  Task<StoreResult<ScopesOfKey>> scopes_of(Key key, std::size_t) override {
    if (fails) co_return Unexpected{StoreError::unavailable};
    ScopesOfKey found;
    for (const Record& record : store_.records()) {
      if (record.key == key) found.scopes.push_back(record.scope);
    }
    co_return found;
  }

  Task<StoreResult<bool>> purge(Scope scope, Key key, Guard expected, AuditEntry audit) override {
    if (fails) co_return Unexpected{StoreError::unavailable};
    if (before_purge) before_purge();
    const auto found = co_await store_.find(scope, key);
    if (!found || !*found || !holds(expected, **found)) co_return false;
    purged.push_back(std::move(audit));
    co_return store_.purge(scope, key);
  }

  [[nodiscard]] std::string trouble() const override { return "the directory is unavailable"; }

 private:
  memory::MemoryStore& store_;
};

struct OperatorWorld {
  SimClock clock;
  memory::MemoryStore store{[this] { return clock.wall(); }};
  memory::MemoryReconciliationStore cases{store};
  memory::MemoryOutboxStore outbox{[this] { return clock.wall(); }};
  FakeDirectory directory{store};
  FakeUpkeep upkeep{store};
  CountingEntropy entropy;
  CountingMetrics metrics;
  Engine engine{store, clock, entropy, metrics};

  KeyPorts keys() { return {store, cases, directory, upkeep}; }
  KeyPorts keys_over(Store& other) { return {other, cases, directory, upkeep}; }

  // The record of a_request(), or of another key, as it is in that state.
  Record put(Status status, std::string_view key = "test-key-00000001") {
    return put(in_state(an_in_progress_record(key), status, clock.wall()));
  }
  Record put(const Record& record) {
    PAWL_CHECK(run(store.insert_or_read_one(record))->mine);
    return record;
  }
  std::optional<Record> find(const Record& record) {
    return *run(store.find(record.scope, record.key));
  }
};

inline OrderedBy an_operator() { return {"alice@host", "it is in their books"}; }
inline KeyName name_of(const Record& record) { return {record.scope, record.key}; }

}  // namespace pawl::testing
