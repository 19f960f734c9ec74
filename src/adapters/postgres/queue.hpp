// Writes that wait for their turn, and the rule by which a batch is made of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/adapters/postgres/options.hpp"
#include "src/adapters/resume/waiter.hpp"
#include "src/ports/store.hpp"

namespace pawl::postgres {

// Calls whose rows all have their answers. They are woken together: a trip to another thread costs
// more than the answer.
class Finished {
 public:
  void add(std::unique_ptr<waiting::Waiter> waiter) { waiters_.push_back(std::move(waiter)); }
  void wake() {
    if (!waiters_.empty()) waiting::wake(std::exchange(waiters_, {}));
  }

 private:
  waiting::Waiters waiters_;
};

// One call of the port: its coroutine sleeps until all its rows have an answer.
struct Call {
  explicit Call(Finished& answered) : finished(answered) {}
  Finished& finished;
  std::unique_ptr<waiting::Waiter> waiter;
  std::size_t unanswered = 0;
};

enum class WriteKind {
  insert,
  settle,       // the fence stands: what it fixes is not written again
  replace,      // a new life or a new owner; the stored request stays
  replace_all,  // the stored request changes too
};

// One row of a call.
struct Write {
  WriteKind kind = WriteKind::insert;
  Record next;
  Guard expected;  // of a replacement
  std::optional<AuditEntry> audit;
  std::string identity;  // scope and key, as one word
  std::size_t bytes = 0;
  std::chrono::steady_clock::time_point give_up_at;  // if it is still queued then
  bool queued = false;
  std::uint64_t batch = 0;  // the last one that took it
  std::optional<StoreResult<Written>> result;
  std::shared_ptr<Call> call;

  void answer(StoreResult<Written> answer);
};

using Writes = std::vector<std::shared_ptr<Write>>;

std::string identity_of(const Scope& scope, const Key& key);
// Roughly what a record weighs in a message.
std::size_t bytes_of(const Record& record);

// Keys that a batch on its way is about. A key is in one batch at a time: a node never waits for a
// lock it holds itself, and the writes of one key keep their order.
using BusyKeys = std::unordered_set<std::string>;

class WriteQueue {
 public:
  WriteQueue(const Options& options, BusyKeys& busy) : options_(options), busy_(busy) {}

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] bool full() const { return waiting_.size() >= options_.queued_rows_max; }
  void push(std::shared_ptr<Write> write);
  // Back to the front: it was taken, and not sent.
  void put_back(std::shared_ptr<Write> write);
  // Takes out what has waited too long, and says when the next of them will have.
  Writes take_late(std::chrono::steady_clock::time_point now);
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> next_late() const;

  // The oldest write whose key is free, and all others that fit into one batch: sorted by kind,
  // scope and key, so that two batches, of two nodes as well, never deadlock. Its keys are busy
  // from here on. Insertions of one key may share a batch (one wins), replacements may not.
  Writes take();
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }

 private:
  using Joined = std::unordered_map<std::string, WriteKind>;
  [[nodiscard]] bool may_join(const Write& write, const Joined& joined) const;

  const Options& options_;
  BusyKeys& busy_;
  std::deque<std::shared_ptr<Write>> waiting_;
  std::uint64_t batches_ = 0;
};

}  // namespace pawl::postgres
