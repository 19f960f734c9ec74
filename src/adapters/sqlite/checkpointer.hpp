// Copies the log into the database on a thread and a connection of its own, while the writer goes
// on: most of a checkpoint is waiting for the disk, and nobody should wait with it. What is written
// meanwhile is left over, and the log only starts over once nothing is: the writer copies that last
// bit itself, between two transactions.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "src/adapters/sqlite/session.hpp"

namespace pawl::sqlite {

class Checkpointer {
 public:
  Checkpointer(const Database& database, const Options& options);
  // Finishes what is under way.
  ~Checkpointer();

  // One copy of all that the log holds when it begins. Not while busy.
  void start();

  struct Progress {
    bool busy = false;
    bool failed = false;  // the last copy: whoever copies next will see why
    bool lost = false;    // for good: see checkpointer.cpp
    int copied = 0;       // pages of this log that need not be copied again
  };
  [[nodiscard]] Progress progress() const;

  // The log has started over, or is about to.
  void forget();

 private:
  void loop();
  Progress copy();

  mutable std::mutex mutex_;
  std::condition_variable work_;
  Progress progress_;      // under mutex_
  bool stopping_ = false;  // under mutex_

  // The thread's own.
  Session session_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace pawl::sqlite
