// Listening, and the sessions that come of it, spread over threads.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "pawl/types/expected.hpp"
#include "src/adapters/http/session.hpp"
#include "src/ports/task_group.hpp"

namespace pawl::http {

// What an address counts as: whoever has one IPv6 address has 2^64 of them.
std::string counted_as(const boost::asio::ip::address& address);

// How many connections there are, in all and from each address. Shared by the threads.
class ConnectionCount {
 public:
  ConnectionCount(std::size_t all_max, std::size_t per_address_max)
      : all_max_(all_max), per_address_max_(per_address_max) {}

  // Those that are over it already stay.
  void limit(std::size_t all_max, std::size_t per_address_max);

  // False: one too many, and not counted.
  bool add(const std::string& address);
  void remove(const std::string& address);
  [[nodiscard]] std::size_t all() const;

 private:
  mutable std::mutex mutex_;
  std::size_t all_max_;
  std::size_t per_address_max_;
  std::size_t all_ = 0;
  std::map<std::string, std::size_t> by_address_;
};

// One connection's place in a count, until it goes.
class ConnectionSlot {
 public:
  // Of a connection that was added.
  ConnectionSlot(ConnectionCount& count, std::string address)
      : count_(&count), address_(std::move(address)) {}
  ~ConnectionSlot() {
    if (count_ != nullptr) count_->remove(address_);
  }
  ConnectionSlot(ConnectionSlot&& other) noexcept
      : count_(std::exchange(other.count_, nullptr)), address_(std::move(other.address_)) {}
  ConnectionSlot& operator=(ConnectionSlot&&) = delete;

 private:
  ConnectionCount* count_;
  std::string address_;
};

// A connection that was accepted.
struct Arrival {
  Socket socket;
  ConnectionSlot slot;
  std::string client;  // its address, as people write it
};

// The sessions of one thread. Everything but `start` happens on that thread.
class SessionGroup {
 public:
  SessionGroup(boost::asio::io_context& context, Deadlines& deadlines, Handler& handler,
               SessionLimits limits);

  boost::asio::io_context& context() { return context_; }

  // Serves the connection on this group's thread. From any thread.
  void start(Arrival arrival);

  // Of connections that start from here on.
  void set_limits(SessionLimits limits);
  // Null: they speak no TLS. Where it lets in other clients than the one before, connections that
  // are open end with the request that they are at.
  void set_tls(std::shared_ptr<ServerTls> tls);

  // From now on every connection ends with the answer it is waiting for; idle ones end at once.
  void drain();
  // Ends every connection, answered or not.
  void close_all();
  // Returns when no session is left.
  Task<void> ended() { return tasks_.wait(); }

 private:
  // In this order: a session goes before its slot. Who waits for the slots takes down what a
  // session uses.
  Task<void> run(ConnectionSlot slot, std::shared_ptr<Session> session);
  void give_up(std::string_view why) noexcept;

  boost::asio::io_context& context_;
  Deadlines& deadlines_;
  Handler& handler_;
  std::shared_ptr<const SessionLimits> limits_;
  std::shared_ptr<ServerTls> tls_;
  std::list<Session*> sessions_;
  bool draining_ = false;
  TaskGroup tasks_;
};

// One listening socket that deals its connections out to the groups in turn.
class Listener {
 public:
  Listener(boost::asio::io_context& context, std::vector<SessionGroup*> groups,
           ConnectionCount& count)
      : acceptor_(context), groups_(std::move(groups)), count_(count) {}

  // The port it listens on, or why not.
  Expected<std::uint16_t, std::string> open(const std::string& host, std::uint16_t port);

  Task<void> run();
  // On the listener's thread.
  void close();

 private:
  Task<void> accept_one();

  boost::asio::ip::tcp::acceptor acceptor_;
  std::vector<SessionGroup*> groups_;
  ConnectionCount& count_;
  std::size_t next_ = 0;
};

}  // namespace pawl::http
