// The outbox's store, which blocks, for a worker that must not: calls run on a thread of their own.
// Writes that come while one commits share the next commit.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <deque>
#include <functional>
#include <memory>

#include "src/ports/outbox_store.hpp"
#include "src/ports/task.hpp"

namespace pawl::gateway {

class OutboxDesk {
 public:
  // Everything but the store itself happens on `executor`, one thread.
  OutboxDesk(OutboxStore& store, boost::asio::any_io_executor executor)
      : store_(store), executor_(std::move(executor)) {}
  ~OutboxDesk() { thread_.join(); }
  OutboxDesk(const OutboxDesk&) = delete;
  OutboxDesk& operator=(const OutboxDesk&) = delete;

  Task<Expected<OutboxClaimed, std::string>> claim(OutboxClaim claim);
  // Was the row still its owner's? Durable when it says yes.
  using Mine = Expected<bool, std::string>;
  Task<Mine> write(OutboxWrite write);

  // See OutboxStore::change. `transition` is called on the desk's thread.
  using Changed = Expected<OutboxRow, std::string>;
  Task<Changed> change(std::string id, OutboxAction action, OutboxAuthor author,
                       OutboxStore::Transition transition);

  struct Counts {
    Instant now{};
    std::vector<OutboxCount> counts;
  };
  Task<Expected<Counts, std::string>> count();

 private:
  struct Waiting {
    OutboxWrite write;
    std::optional<Mine> mine;
    boost::asio::steady_timer told;
  };
  using Batch = std::vector<std::shared_ptr<Waiting>>;

  Task<void> write_all();
  Task<void> write_batch(const Batch& batch);

  OutboxStore& store_;
  boost::asio::any_io_executor executor_;
  boost::asio::thread_pool thread_{1};
  std::deque<std::shared_ptr<Waiting>> waiting_;
  bool writing_ = false;
};

}  // namespace pawl::gateway
