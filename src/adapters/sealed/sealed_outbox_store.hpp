// Any outbox, with headers and bodies sealed in it. Messages are enqueued in clear, in a
// transaction of a service's; the claim that finds one seals it in place before it is sent.
#pragma once

#include <memory>

#include "src/adapters/sealed/data_keys.hpp"
#include "src/ports/outbox_store.hpp"

namespace pawl::sealed {

class SealedOutboxStore final : public OutboxStore {
 public:
  SealedOutboxStore(std::unique_ptr<OutboxStore> store, std::shared_ptr<DataKeys> keys)
      : store_(std::move(store)), keys_(std::move(keys)) {}

  // What does not open is not `readable`, and so never sent.
  Task<StoreResult<OutboxClaimed>> claim(OutboxClaim claim) override;
  Task<StoreResult<bool>> write(OutboxWrite write) override {
    return store_->write(std::move(write));
  }
  Task<StoreResult<OutboxCounts>> count() override { return store_->count(); }
  // Without headers, where they are sealed.
  Task<StoreResult<std::vector<OutboxRow>>> list(OutboxQuery query) override;
  Task<StoreResult<std::optional<OutboxRow>>> find(std::string id) override;
  Task<StoreResult<Changed>> change(std::string id, OutboxAction action, OutboxAuthor author,
                                    Transition transition) override {
    return store_->change(std::move(id), action, std::move(author), std::move(transition));
  }
  [[nodiscard]] std::string trouble() const override { return store_->trouble(); }

 private:
  Task<bool> open(OutboxRow& row);
  Task<void> seal_in_place(const OutboxRow& row);

  const std::unique_ptr<OutboxStore> store_;
  const std::shared_ptr<DataKeys> keys_;
};

}  // namespace pawl::sealed
