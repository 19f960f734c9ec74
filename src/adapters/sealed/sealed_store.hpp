// Any store, with requests and answers sealed in it.
//
// Records go in and come out in clear; what lies in the store between is ciphertext, bound to its
// scope, key, column and fence (a request: to its key's life). Around every store, also where no
// keys are configured: then nothing is sealed, and what is sealed is unreadable, never replayed and
// never a reason to execute.
//
// Renewals need no data key but the one that the record was begun with, which is kept (HeldKeys). A
// write that may have come after its data key was erased is confirmed before it counts, and sealed
// with the scope's next key where it was: no answer is given that cannot be read afterwards.
//
// A row in clear (from before, or from pawl.complete) is read as ever, and sealed in place by the
// write or reservation that finds it. A row whose data key was erased is a tombstone.
#pragma once

#include <atomic>
#include <memory>

#include "src/adapters/sealed/held_keys.hpp"
#include "src/ports/store.hpp"

namespace pawl::sealed {

class SealedStore final : public Store {
 public:
  SealedStore(std::shared_ptr<Store> store, std::shared_ptr<DataKeys> keys)
      : store_(std::move(store)), keys_(std::move(keys)) {}

  // `unreadable` where no key of ours seals in the scope: before anything is executed, because its
  // answer could not be kept.
  Task<std::vector<StoreResult<Written>>> insert_or_read(std::vector<Record> fresh) override;
  // The same for what takes a record over. What its owner writes (a renewal, an outcome) is never
  // `unreadable` for want of a key: `unavailable`, so that it is kept and tried again.
  Task<std::vector<StoreResult<Written>>> replace(std::vector<Replacement> batch) override;
  Task<StoreResult<std::vector<bool>>> erase(std::vector<Erasure> batch) override {
    return store_->erase(std::move(batch));
  }
  Task<StoreResult<std::optional<Record>>> find(Scope scope, Key key) override;
  Task<StoreResult<StoreClock>> time() override;
  // What does not open is handed on sealed: these passes need no body, and must not stop.
  Task<StoreResult<std::vector<Record>>> lapsed(PassQuery query) override;
  Task<StoreResult<std::vector<Record>>> past_retention(PassQuery query) override;
  Task<StoreResult<std::vector<Record>>> undetermined(PassQuery query) override;
  // What does not open is left out: it cannot be sent.
  Task<StoreResult<std::vector<Record>>> pending(PassQuery query) override;
  Task<StoreResult<std::size_t>> count_active(Scope scope, std::size_t up_to) override {
    return store_->count_active(std::move(scope), up_to);
  }
  // An answer that cannot be sealed is left out: that there was one is kept.
  Task<StoreResult<Done>> keep_evidence(LateEvidence evidence) override;
  [[nodiscard]] std::size_t unreadable_rows() const override {
    return store_->unreadable_rows() + unreadable_.load();
  }

 private:
  // One row of a write, in clear and as it went to the store.
  struct Sent;

  Task<StoreResult<Sent>> sealed(Record next, bool keeps_fence);
  Task<StoreResult<Written>> finished(Sent sent, Written written);
  Task<StoreResult<Written>> confirmed(Sent& sent, Written written);
  Task<StoreResult<Written>> opened(Written written);
  Task<void> seal_in_place(SharedRecord clear);
  Task<StoreResult<std::vector<Record>>> opened_page(StoreResult<std::vector<Record>> page);

  const std::shared_ptr<Store> store_;
  const std::shared_ptr<DataKeys> keys_;
  HeldKeys held_;
  std::atomic<std::size_t> unreadable_ = 0;
};

}  // namespace pawl::sealed
