// An API on 127.0.0.1 that behaves as a script says, one thread per connection, and remembers
// every request it was sent. What a POST does to the world is counted here, per key.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/wire.hpp"

namespace pawl::testing {

struct ReceivedRequest {
  std::string head;  // as it came, through the empty line
  std::string method;
  std::string target;
  WireHeaders headers;
  std::string body;    // decoded, if it came in chunks
  int connection = 0;  // requests of one connection have one number

  [[nodiscard]] std::optional<std::string> header(std::string_view name) const {
    return find_header(headers, name);
  }
};

// Holds threads back until it is released.
class Gate {
 public:
  void release();
  // False: given up because the server stops.
  bool wait();
  void give_up();

 private:
  enum class State { shut, open, given_up };
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::shut;
};

// What is done with one request, after its body was read.
struct Behaviour {
  enum class End { keep_alive, close, reset, hang };
  std::string bytes;
  End end = End::keep_alive;
  std::shared_ptr<Gate> gate;  // nothing of it happens before the gate opens

  // With a Content-Length of its own.
  static Behaviour answer(int status, std::string body = R"({"ok":true})",
                          WireHeaders headers = {{"Content-Type", "application/json"}});
  static Behaviour raw(std::string bytes, End end = End::keep_alive) { return {bytes, end, {}}; }
  static Behaviour close_delimited(int status, const std::string& body);
  static Behaviour half_answer(End end);  // a head that promises more than it sends
  static Behaviour reset() { return {"", End::reset, {}}; }
  static Behaviour hang_up() { return {"", End::close, {}}; }
  static Behaviour hang() { return {"", End::hang, {}}; }
  [[nodiscard]] Behaviour after(std::shared_ptr<Gate> opened) const;
};

class UpstreamServer {
 public:
  // Called for every request, from the connection's thread, one at a time.
  using Script = std::function<Behaviour(const ReceivedRequest&)>;

  // Answers 201 with a body of its own for each request, unless told otherwise.
  explicit UpstreamServer(Script script = {}, std::uint16_t port = 0);
  ~UpstreamServer();
  UpstreamServer(const UpstreamServer&) = delete;
  UpstreamServer& operator=(const UpstreamServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  void behave(Script script);
  void behave(const Behaviour& always);

  [[nodiscard]] std::vector<ReceivedRequest> requests() const;
  [[nodiscard]] std::size_t count() const;
  // POST and PATCH requests that arrived whole with this Idempotency-Key, as it was sent.
  [[nodiscard]] std::size_t effects(std::string_view key) const;
  // Blocks until that many requests have arrived whole. Throws WireError past the deadline.
  void wait_for(std::size_t requests) const;
  // Connections accepted so far; blocks until there are that many.
  void wait_for_connections(int connections) const;
  // Blocks until that many connections were closed or reset as the behaviour says.
  void wait_for_ends(std::size_t connections) const;
  void stop();

 private:
  struct Connection {
    Wire wire;
    std::thread thread;
  };
  void accept_all();
  void serve(Wire& wire, int number);
  std::optional<ReceivedRequest> read_request(Wire& wire, int number);
  bool perform(Wire& wire, const Behaviour& behaviour);  // false: the connection is over

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Script script_;
  std::vector<ReceivedRequest> requests_;
  std::size_t ended_ = 0;
  std::list<Connection> connections_;
  std::vector<std::weak_ptr<Gate>> gates_;
  std::shared_ptr<Gate> end_ = std::make_shared<Gate>();  // what hanging threads wait for
  bool stopping_ = false;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::thread acceptor_;
};

// Listens and never accepts: once its backlog is full, connecting to it takes until `accept_all`
// makes room, and then succeeds at the client's next try.
class FullListener {
 public:
  explicit FullListener(std::uint16_t port = 0);
  ~FullListener();
  FullListener(const FullListener&) = delete;
  FullListener& operator=(const FullListener&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Takes our own connections out of the backlog, and returns the first one of somebody else's.
  Wire accept();

 private:
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::vector<int> fillers_;
};

}  // namespace pawl::testing
