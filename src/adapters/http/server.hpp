// Listening, and the sessions that come of it, spread over threads.
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pawl/types/expected.hpp"
#include "src/adapters/http/connection_count.hpp"
#include "src/adapters/http/session.hpp"
#include "src/adapters/http/socket_file.hpp"
#include "src/ports/task_group.hpp"

namespace pawl::http {

// A connection that was accepted.
struct Arrival {
  Socket socket;
  std::string peer;  // its address, as people write it
  // One of them: a place among all, or among those that are told that there is none.
  std::optional<ConnectionSlot> slot;
  std::optional<RefusalSlot> refusal;
};

// What a listener's connections have in common, beside their limits.
struct ListenerRules {
  ConnectionCount* count = nullptr;  // by address; null: it is not counted
  bool proxy_protocol = false;       // every connection begins with a PROXY header
};

// The sessions of one thread. Everything but `start` happens on that thread.
class SessionGroup {
 public:
  SessionGroup(boost::asio::io_context& context, Deadlines& deadlines, Handler& handler,
               SessionLimits limits, ListenerRules rules = {});

  boost::asio::io_context& context() { return context_; }

  // Serves the connection on this group's thread. From any thread.
  void start(Arrival arrival);
  // One that is over a limit was closed without an answer. From any thread.
  void dropped(std::string_view peer) { handler_.dropped(ConnectionLimit::all, peer); }

  // Of connections that start from here on.
  void set_limits(SessionLimits limits);
  // Null: they speak no TLS. Where it lets in other clients than the one before, connections that
  // are open end with the request that they are at.
  void set_tls(std::shared_ptr<ServerTls> tls);
  // Of requests that come from here on, and of connections that start.
  void set_trusted_proxies(Networks networks) { state_.trusted_proxies = std::move(networks); }

  // From now on every connection ends with the answer it is waiting for; idle ones end at once.
  void drain();
  // Ends every connection, answered or not.
  void close_all();
  // Returns when no session is left.
  Task<void> ended() { return tasks_.wait(); }

 private:
  // In this order: a session goes before its slot. Who waits for the slots takes down what a
  // session uses.
  Task<void> run(std::optional<ConnectionSlot> slot, std::shared_ptr<Session> session);
  void give_up(std::string_view why) noexcept;

  boost::asio::io_context& context_;
  Deadlines& deadlines_;
  Handler& handler_;
  std::shared_ptr<const SessionLimits> limits_;
  const ListenerRules rules_;
  std::shared_ptr<ServerTls> tls_;
  std::list<Session*> sessions_;
  SessionState state_;
  TaskGroup tasks_;
};

// One listening socket, of TCP or a Unix one, that deals its connections out to the groups in turn.
class Listener {
 public:
  Listener(boost::asio::io_context& context, std::vector<SessionGroup*> groups,
           ConnectionCount& count)
      : acceptor_(context), groups_(std::move(groups)), count_(count) {}

  // The port it listens on, or why not.
  Expected<std::uint16_t, std::string> open(const std::string& host, std::uint16_t port);
  // The same on a Unix socket, whose file has these permissions. It goes with `close`.
  Expected<Done, std::string> open_socket(const std::string& path, unsigned mode);

  Task<void> run();
  // On the listener's thread.
  void close();

 private:
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;
  Task<void> accept_one();

  Acceptor acceptor_;
  std::optional<SocketFile> file_;
  std::vector<SessionGroup*> groups_;
  ConnectionCount& count_;
  std::size_t next_ = 0;
};

}  // namespace pawl::http
