// What runs on the store's thread: queues, lanes, sessions.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <thread>

#include "src/adapters/postgres/passes.hpp"
#include "src/adapters/postgres/postgres_store.hpp"
#include "src/adapters/postgres/session.hpp"
#include "src/adapters/postgres/writer_connection.hpp"

namespace pawl::postgres {

class PostgresStore::StoreLoop {
 public:
  StoreLoop(std::string url, Options options, bool distributed);
  ~StoreLoop();
  StoreLoop(const StoreLoop&) = delete;
  StoreLoop& operator=(const StoreLoop&) = delete;

  [[nodiscard]] boost::asio::any_io_executor executor() { return context_.get_executor(); }
  [[nodiscard]] const Health& health() const { return health_; }

  // These run anywhere.
  Task<std::vector<StoreResult<Written>>> insert(std::vector<Record> fresh);
  Task<std::vector<StoreResult<Written>>> replace(std::vector<Replacement> batch);
  // These run on `executor()`.
  Task<StoreResult<std::optional<Record>>> find(Scope scope, Key key);
  Task<StoreResult<StoreClock>> time();
  Task<StoreResult<std::size_t>> count_active(Scope scope, std::size_t up_to);
  Task<StoreResult<Done>> keep_evidence(LateEvidence evidence);
  Passes& passes() { return passes_; }

 private:
  struct Read;
  struct Leaving {
    boost::asio::any_io_executor from;
    Writes writes;
  };

  Task<std::vector<StoreResult<Written>>> run(Writes writes);
  void submit(const boost::asio::any_io_executor& executor, const Writes& writes);
  void leave(const boost::asio::any_io_executor& executor);
  void take_in();
  Task<void> give_up_late();
  Task<void> read_all();
  WriteQueue& queue_for(const Write& write);
  void wake_lanes();

  const std::string url_;
  const Options options_;
  const Statements statements_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> keep_running_;
  Health health_;
  std::mt19937_64 chance_;
  const LinkContext links_;
  std::mutex arriving_mutex_;
  // Both under the mutex. Where there is something, `leave` or `take_in` is on its way.
  std::vector<Leaving> leaving_;  // few: by event loop
  Writes arriving_;
  BusyKeys busy_;
  Finished finished_;
  boost::asio::steady_timer late_;
  WriteQueue general_;
  WriteQueue transactional_;
  std::vector<std::unique_ptr<WriterConnection>> lanes_;
  Session reader_;
  Passes passes_;
  std::vector<std::shared_ptr<Read>> reads_;
  Turn reading_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace pawl::postgres
