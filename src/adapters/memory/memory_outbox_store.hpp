// The outbox in memory: what "correct" means for the others. Nothing survives the process.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "src/ports/outbox_store.hpp"

namespace pawl::memory {

class MemoryOutboxStore final : public OutboxStore {
 public:
  // `clock` is the store's own clock; called under the store's lock, from any thread.
  explicit MemoryOutboxStore(std::function<Instant()> clock) : clock_(std::move(clock)) {}

  Task<StoreResult<OutboxClaimed>> claim(OutboxClaim claim) override;
  Task<StoreResult<bool>> write(OutboxWrite write) override;
  Task<StoreResult<OutboxCounts>> count() override;
  Task<StoreResult<std::vector<OutboxRow>>> list(OutboxQuery query) override;
  Task<StoreResult<std::optional<OutboxRow>>> find(std::string id) override;
  Task<StoreResult<Changed>> change(std::string id, OutboxAction action, OutboxAuthor author,
                                    Transition transition) override;
  [[nodiscard]] std::string trouble() const override { return "the store is unavailable"; }

  // As a service does it in a transaction of its own: now, and due at once, where the row does not
  // say otherwise. Its id is new.
  void enqueue(OutboxRow row);

  struct Audit {
    std::string id;
    OutboxAction action;
    OutboxStatus before;
    OutboxStatus after;
    OutboxAuthor author;
  };
  // What a test wants to see. Copies, taken under the lock.
  [[nodiscard]] std::vector<OutboxRow> rows() const;
  [[nodiscard]] std::vector<Audit> audit() const;

 private:
  std::function<Instant()> clock_;
  mutable std::mutex mutex_;
  std::map<std::string, OutboxRow> rows_;
  std::vector<Audit> audit_;
};

}  // namespace pawl::memory
