// OutboxStore in SQL. The statements obey the rules for a distributed store: rows are claimed by
// lease columns, and what makes a row free is asked again once its lock was waited for.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "src/adapters/sql/session_thread.hpp"
#include "src/ports/outbox_store.hpp"

namespace pawl::sql {

class SqlOutboxStore final : public OutboxStore {
 public:
  explicit SqlOutboxStore(std::shared_ptr<SessionThread> thread) : port_(std::move(thread)) {}

  // outbox_claims.cpp
  Task<StoreResult<OutboxClaimed>> claim(OutboxClaim claim) override;

  Task<StoreResult<OutboxCounts>> count() override;
  Task<StoreResult<std::vector<OutboxRow>>> list(OutboxQuery query) override;
  Task<StoreResult<std::optional<OutboxRow>>> find(std::string id) override;
  Task<StoreResult<Changed>> change(std::string id, OutboxAction action, OutboxAuthor author,
                                    Transition transition) override;

  // outbox_writes.cpp. Writes that come while another one commits share the next commit; where one
  // row spoils it for the others, it is halved until that row stands alone.
  Task<StoreResult<bool>> write(OutboxWrite write) override;

  [[nodiscard]] std::string trouble() const override { return port_.trouble(); }

 private:
  // All of it but the waiter belongs to the coroutine that waits.
  struct PendingWrite {
    const OutboxWrite* write;
    std::optional<StoreResult<bool>>* mine;
    std::unique_ptr<waiting::Waiter> waiter;
  };
  using Batch = std::vector<PendingWrite>;
  void join(PendingWrite pending);
  void write_pending(Session& session);
  Batch take_batch();
  // Puts its halves where they are taken from next.
  void halve(Batch batch);

  SessionPort port_;
  std::mutex mutex_;
  std::deque<PendingWrite> pending_;  // under mutex_
  std::vector<Batch> halves_;         // under mutex_: of batches that one row spoilt
  bool writing_ = false;              // under mutex_: whoever writes will find what is pending
};

}  // namespace pawl::sql
