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
#include <vector>

#include "pawl/core/expected.hpp"
#include "src/adapters/http/session.hpp"

namespace pawl::http {

// What an address counts as: whoever has one IPv6 address has 2^64 of them.
std::string counted_as(const boost::asio::ip::address& address);

// How many connections there are, in all and from each address. Shared by the threads.
class ConnectionCount {
 public:
  ConnectionCount(std::size_t all_max, std::size_t per_address_max)
      : all_max_(all_max), per_address_max_(per_address_max) {}

  // False: one too many, and not counted.
  bool add(const std::string& address);
  void remove(const std::string& address);
  [[nodiscard]] std::size_t all() const;

 private:
  const std::size_t all_max_;
  const std::size_t per_address_max_;
  mutable std::mutex mutex_;
  std::size_t all_ = 0;
  std::map<std::string, std::size_t> by_address_;
};

// The sessions of one thread. Everything but `start` happens on that thread.
class SessionGroup {
 public:
  SessionGroup(boost::asio::io_context& context, Deadlines& deadlines, Handler& handler,
               SessionLimits limits, ConnectionCount& count);

  boost::asio::io_context& context() { return context_; }

  // Serves the connection on this group's thread. From any thread.
  void start(boost::asio::ip::tcp::socket socket, std::string address);

  // From now on every connection ends with the answer it is waiting for; idle ones end at once.
  void drain();
  // Ends every connection, answered or not.
  void close_all();

 private:
  Task<void> run(std::shared_ptr<Session> session, std::string address);

  boost::asio::io_context& context_;
  Deadlines& deadlines_;
  Handler& handler_;
  const SessionLimits limits_;
  ConnectionCount& count_;
  std::list<Session*> sessions_;
  bool draining_ = false;
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
  boost::asio::ip::tcp::acceptor acceptor_;
  std::vector<SessionGroup*> groups_;
  ConnectionCount& count_;
  std::size_t next_ = 0;
};

}  // namespace pawl::http
