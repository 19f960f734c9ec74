// A lane: one connection that writes one batch after the other. What arrives while a batch commits
// becomes the next one, whatever its kind; a lone write goes at once.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <random>

#include "src/adapters/postgres/batch.hpp"
#include "src/adapters/postgres/queue.hpp"
#include "src/adapters/postgres/reconnecting_connection.hpp"

namespace pawl::postgres {

class WriterConnection {
 public:
  // `released` is called whenever keys are free again: another lane may have waited for them.
  // A lane that stands by for another one takes that one's work too while it gets nowhere.
  WriterConnection(const LinkContext& context, WriteQueue& queue, BusyKeys& busy,
                   Finished& finished, std::function<void()> released,
                   const WriterConnection* stands_by_for = nullptr);

  // Runs until stopped.
  Task<void> run();
  void wake() { idle_.cancel(); }
  void stop();

 private:
  [[nodiscard]] bool stuck() const;
  // The queue that it is its turn to work off; null: none.
  [[nodiscard]] WriteQueue* next_queue() const;
  // Takes from its own queue, or from the one that it stands by for.
  Writes take();
  Task<void> rest();
  Task<void> gather();
  Task<void> write(Writes batch);
  Task<void> attempt(Connection& connection, const Writes& batch, Writes& split);
  Task<void> clear_up(Connection& connection, Writes unclear);
  void fail(const Writes& batch, const Failure& failure, Writes& split);
  void go_again(const Writes& writes);
  void finish(const Writes& batch, std::uint64_t number);
  [[nodiscard]] Deadline deadline() const;

  LinkContext context_;
  WriteQueue& queue_;
  WriteQueue* taken_from_ = nullptr;  // the batch under way
  BusyKeys& busy_;
  Finished& finished_;
  std::function<void()> released_;
  const WriterConnection* stands_by_for_;
  ReconnectingConnection link_;
  boost::asio::steady_timer idle_;
  std::optional<Deadline>
      nowhere_since_;            // while there is work: since when it waits, or is written
  std::size_t rows_before_ = 0;  // of the last batch
  Deadline gather_until_{};
  bool stopped_ = false;
};

}  // namespace pawl::postgres
