// The one thread that writes. It takes everything that queued up while the last transaction
// committed and writes it as one: the commit's sync is what costs, and it costs the same for one
// row or for a hundred. A lone write waits for nobody.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "src/adapters/sqlite/checkpointer.hpp"
#include "src/adapters/sqlite/health.hpp"
#include "src/adapters/sqlite/transaction.hpp"

namespace pawl::sqlite {

// Requests go first; what the reaper does fills a bounded part of each transaction.
enum class WriteKind { requests, reaping };

struct WriterCounts {
  std::uint64_t writes = 0;
  std::uint64_t commits = 0;
  std::uint64_t checkpoints = 0;
};

class Writer {
 public:
  Writer(const Database& database, const Options& options, Health& health);
  // Finishes what is queued.
  ~Writer();

  // Any thread. The writes and their group stay where they are until the group's waiter is resumed.
  // False if the queue is full: then nothing was taken and the waiter stays with the caller.
  bool submit(std::span<Write* const> writes, WriteKind kind);

  [[nodiscard]] WriterCounts counts() const;

 private:
  using Steady = std::chrono::steady_clock;
  struct Queue {
    std::deque<Write*> requests;
    std::deque<Write*> reaping;
    std::size_t bytes = 0;
    bool writer_sleeps = false;
    bool stopping = false;
    [[nodiscard]] bool empty() const { return requests.empty() && reaping.empty(); }
  };
  enum class Woken { by_work, to_probe, to_stop };

  void loop();
  void linger();
  Woken take(std::vector<Write*>& batch);
  void perform(std::span<Write* const> batch);
  Transacted write(std::span<Write* const> batch);
  void note(const std::optional<std::string>& trouble);
  void checkpoint();
  void finish_checkpoint();
  void put_off_checkpoint();

  const Database& database_;
  const Options& options_;
  Health& health_;

  const std::shared_ptr<waiting::Resumptions> resumptions_ =
      std::make_shared<waiting::Resumptions>();
  std::mutex& mutex_ = resumptions_->mutex;
  std::condition_variable work_;
  Queue queue_;                        // under mutex_
  WriterCounts counts_;                // under mutex_
  std::atomic<bool> has_work_{false};  // a hint that needs no mutex_

  // The thread's own.
  Checkpointer checkpointer_;
  Session session_;
  bool in_trouble_ = false;
  std::optional<std::string> lost_;  // why this process writes nothing any more
  int next_checkpoint_;              // at so many pages of log
  int copied_before_ = -1;           // when the checkpointer last started
  Steady::duration last_commit_{0};  // how long it took
  std::thread thread_;               // last: it uses all of the above
};

}  // namespace pawl::sqlite
