// A connection that callers take turns on: for reads, and for the work behind the request path.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>

#include "src/adapters/postgres/reconnecting_connection.hpp"
#include "src/ports/store.hpp"

namespace pawl::postgres {

// A request of a client waits for one of them; background work does not.
enum class Urgency { request, background };

// First come, first served, requests before background work.
class Turn {
 public:
  explicit Turn(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}
  Task<void> take(Urgency urgency);
  void give();

 private:
  boost::asio::any_io_executor executor_;
  using Waiting = std::deque<std::shared_ptr<boost::asio::steady_timer>>;
  Waiting requests_;
  Waiting background_;
  bool taken_ = false;
};

class Session {
 public:
  explicit Session(const LinkContext& context);

  using Reply = Expected<std::vector<Rows>, Failure>;
  // One transaction, when it is this caller's turn; a request's waiting for that counts.
  Task<Reply> exchange(std::vector<Query> queries, Urgency urgency = Urgency::background);
  void stop() { link_.stop(); }
  [[nodiscard]] const Options& options() const { return context_.options; }

 private:
  Task<Reply> in_turn(std::vector<Query> queries, Deadline deadline, Connection::Limit limit);

  LinkContext context_;
  ReconnectingConnection link_;
  Turn turn_;
};

// What a failure of a whole exchange means to a caller.
StoreError store_error(const Failure& failure);

}  // namespace pawl::postgres
