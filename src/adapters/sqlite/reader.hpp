// A thread that reads, on a connection of its own: a read never waits for a commit.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "src/adapters/sqlite/health.hpp"
#include "src/adapters/sqlite/writes.hpp"

namespace pawl::sqlite {

class Read {
 public:
  virtual ~Read() = default;
  // SQLITE_OK or an error.
  virtual int run(Session& session) = 0;

  std::unique_ptr<waiting::Waiter> waiter;
  std::optional<StoreError> error;
};

class FindRead final : public Read {
 public:
  FindRead(Scope scope, Key key) : scope_(std::move(scope)), key_(std::move(key)) {}
  int run(Session& session) override;
  StoreResult<std::optional<Record>> result() &&;

 private:
  Scope scope_;
  Key key_;
  bool found_ = false;
  std::optional<Record> row_;
};

class EpochRead final : public Read {
 public:
  int run(Session& session) override { return session.read_purge_epoch(epoch_); }
  [[nodiscard]] std::int64_t epoch() const { return epoch_; }

 private:
  std::int64_t epoch_ = 0;
};

class CountRead final : public Read {
 public:
  CountRead(Scope scope, std::size_t up_to) : scope_(std::move(scope)), up_to_(up_to) {}
  int run(Session& session) override;
  StoreResult<std::size_t> result() &&;

 private:
  Scope scope_;
  std::size_t up_to_;
  std::size_t count_ = 0;
};

class PassRead final : public Read {
 public:
  PassRead(Statement Statements::*statement, PassQuery query)
      : statement_(statement), query_(query) {}
  int run(Session& session) override;
  StoreResult<std::vector<Record>> result() &&;
  // Rows that cannot be understood.
  [[nodiscard]] std::size_t skipped() const { return skipped_; }

 private:
  Statement Statements::*statement_;
  PassQuery query_;
  std::vector<Record> rows_;
  std::size_t skipped_ = 0;
};

class Reader {
 public:
  Reader(const Database& database, const Options& options, Health& health, Part part);
  // Finishes what is queued.
  ~Reader();

  // Any thread. The read stays where it is until its waiter is resumed. False if the queue is full:
  // then it was not taken and the waiter stays with the caller.
  bool submit(Read& read);

 private:
  void loop();
  Read* next();
  void perform(Read& read);
  std::optional<std::string> probe();
  void note(const std::optional<std::string>& trouble);

  const Options& options_;
  Health& health_;
  const Part part_;

  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<Read*> queue_;  // under mutex_
  bool stopping_ = false;    // under mutex_

  // The thread's own.
  Session session_;
  bool in_trouble_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace pawl::sqlite
