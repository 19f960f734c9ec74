// A lane: one connection that writes batch after batch. What arrives while batches commit becomes
// the next one, whatever its kind; a lone write goes at once. Where much arrives, a second batch
// follows while the first is under way: the server need not wait for us.
#pragma once

#include <functional>
#include <random>

#include "src/adapters/postgres/batch.hpp"
#include "src/adapters/postgres/link.hpp"
#include "src/adapters/postgres/queue.hpp"

namespace pawl::postgres {

class Lane {
 public:
  // `released` is called whenever keys are free again: another lane may have waited for them.
  // A lane that stands by for another one takes work only while that one gets nowhere.
  Lane(const LinkContext& context, WriteQueue& queue, BusyKeys& busy, Finished& finished,
       std::function<void()> released, const Lane* stands_by_for = nullptr);

  // Runs until stopped.
  Task<void> run();
  void wake() { changed_.notify(); }
  void stop();

 private:
  [[nodiscard]] bool stuck() const;
  [[nodiscard]] bool has_turn() const;
  Task<void> rest();
  Task<void> gather();
  Task<void> carry(Writes batch);
  Task<void> write(Writes batch);
  Task<void> attempt(Connection& connection, const Writes& batch, Writes& split);
  Task<void> clear_up(Connection& connection, Writes unclear);
  void fail(const Writes& batch, const Failure& failure, Writes& split);
  void go_again(const Writes& writes);
  void finish(const Writes& batch);
  [[nodiscard]] Deadline deadline() const;

  LinkContext context_;
  WriteQueue& queue_;
  BusyKeys& busy_;
  Finished& finished_;
  std::function<void()> released_;
  const Lane* stands_by_for_;
  Link link_;
  Signal changed_;
  std::size_t batches_under_way_ = 0;
  std::optional<Deadline> nowhere_since_;  // while there is work: when it last got somewhere
  std::size_t rows_before_ = 0;            // of the last batch
  Deadline gather_until_{};
  bool stopped_ = false;
};

}  // namespace pawl::postgres
