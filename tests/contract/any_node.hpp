// A node's ports over any store, the one in memory included.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "src/adapters/memory/memory_outbox_store.hpp"
#include "src/adapters/memory/memory_reconciliation_store.hpp"
#include "tests/contract/sql_node.hpp"

namespace pawl::testing {

// The ports that every store has.
struct AnyNode {
  explicit AnyNode(std::unique_ptr<SqlNode> node)
      : sql(std::move(node)), cases(sql->cases), outbox(sql->outbox) {}
  AnyNode(ReconciliationStore& in_cases, OutboxStore& in_outbox)
      : cases(in_cases), outbox(in_outbox) {}

  // As if the connection had been lost between two calls, where there is one.
  void disconnect() {
    if (sql) sql->disconnect();
  }

  std::unique_ptr<SqlNode> sql;  // none in memory
  ReconciliationStore& cases;
  OutboxStore& outbox;
};

class OnEveryStore : public OnBothStores {
 protected:
  OnEveryStore() {
    if (GetParam() != Kind::memory) return;
    auto store = std::make_unique<memory::MemoryStore>(wall_time);
    memory_cases_ = std::make_unique<memory::MemoryReconciliationStore>(*store);
    memory_outbox_ = std::make_unique<memory::MemoryOutboxStore>(wall_time);
    store_ = std::move(store);
  }

  // One more node. In memory all nodes share one store.
  std::unique_ptr<AnyNode> connect() {
    if (GetParam() == Kind::memory) {
      return std::make_unique<AnyNode>(*memory_cases_, *memory_outbox_);
    }
    return std::make_unique<AnyNode>(OnBothStores::connect());
  }

  static Instant wall_time() {
    return std::chrono::floor<Duration>(std::chrono::system_clock::now());
  }

  // In memory only.
  std::unique_ptr<memory::MemoryReconciliationStore> memory_cases_;
  std::unique_ptr<memory::MemoryOutboxStore> memory_outbox_;
};

}  // namespace pawl::testing
