#include "tests/support/upstream_server.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace pawl::testing {

void Gate::release() {
  const std::lock_guard lock(mutex_);
  state_ = State::open;
  changed_.notify_all();
}

void Gate::give_up() {
  const std::lock_guard lock(mutex_);
  if (state_ == State::shut) state_ = State::given_up;
  changed_.notify_all();
}

bool Gate::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return state_ != State::shut; });
  return state_ == State::open;
}

Behaviour Behaviour::answer(int status, std::string body, WireHeaders headers) {
  std::string bytes = "HTTP/1.1 " + std::to_string(status) + " Scripted\r\n";
  for (const auto& [name, value] : headers) bytes += name + ": " + value + "\r\n";
  const bool bodiless = status == 204 || status == 304;
  if (!bodiless) bytes += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  bytes += "\r\n";
  if (!bodiless) bytes += body;
  return {std::move(bytes), End::keep_alive, {}};
}

Behaviour Behaviour::close_delimited(int status, const std::string& body) {
  return {"HTTP/1.1 " + std::to_string(status) + " Scripted\r\nConnection: close\r\n\r\n" + body,
          End::close,
          {}};
}

Behaviour Behaviour::half_answer(End end) {
  return {"HTTP/1.1 201 Created\r\nContent-Length: 1000\r\n\r\nonly this", end, {}};
}

Behaviour Behaviour::after(std::shared_ptr<Gate> opened) const {
  Behaviour behaviour = *this;
  behaviour.gate = std::move(opened);
  return behaviour;
}

UpstreamServer::UpstreamServer(Script script, std::uint16_t port) : script_(std::move(script)) {
  const Listening listening = listen_on_loopback(port, 1024);
  listener_ = listening.descriptor;
  port_ = listening.port;
  acceptor_ = std::thread([this] { accept_all(); });
}

UpstreamServer::~UpstreamServer() { stop(); }

void UpstreamServer::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(stopping_, true)) return;
    ::shutdown(listener_, SHUT_RDWR);  // wakes accept
    end_->give_up();
    for (const auto& gate : gates_) {
      if (const auto held = gate.lock()) held->give_up();
    }
    for (Connection& connection : connections_) connection.wire.shut_down();
  }
  acceptor_.join();
  for (Connection& connection : connections_) connection.thread.join();
  connections_.clear();
  ::close(listener_);
}

void UpstreamServer::behave(Script script) {
  const std::lock_guard lock(mutex_);
  script_ = std::move(script);
}

void UpstreamServer::behave(const Behaviour& always) {
  behave([always](const ReceivedRequest&) { return always; });
}

void UpstreamServer::accept_all() {
  for (int number = 1;; ++number) {
    const int accepted = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (accepted < 0) return;
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      ::close(accepted);
      return;
    }
    Connection& made = connections_.emplace_back(Wire(accepted, std::nullopt), std::thread());
    made.thread = std::thread([this, &made, number] { serve(made.wire, number); });
    changed_.notify_all();
  }
}

void UpstreamServer::serve(Wire& wire, int number) {
  try {
    while (std::optional<ReceivedRequest> request = read_request(wire, number)) {
      Behaviour behaviour;
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(*request);
        const std::string own = R"({"payment":)" + std::to_string(requests_.size()) + "}";
        behaviour = script_ ? script_(*request) : Behaviour::answer(201, own);
        if (behaviour.gate) gates_.push_back(behaviour.gate);
        if (stopping_) return;
        changed_.notify_all();
      }
      if (!perform(wire, behaviour)) return;
    }
  } catch (const WireError&) {  // the gateway went away, or this server is stopped
  }
  const std::lock_guard lock(mutex_);
  wire.shut_down();
}

std::optional<ReceivedRequest> UpstreamServer::read_request(Wire& wire, int number) {
  std::optional<std::string> head = wire.read_head();
  if (!head) return std::nullopt;
  ReceivedRequest request;
  request.connection = number;
  request.head = std::move(*head);
  const std::size_t blank = request.head.find(' ');
  request.method = request.head.substr(0, blank);
  request.target = request.head.substr(blank + 1, request.head.find(' ', blank + 1) - blank - 1);
  request.headers = headers_in(request.head);
  const std::optional<std::string> length = request.header("Content-Length");
  if (request.header("Transfer-Encoding")) {
    request.body = wire.read_chunked();
  } else if (length) {
    request.body = wire.read_exactly(std::stoul(*length));
  }
  return request;
}

bool UpstreamServer::perform(Wire& wire, const Behaviour& behaviour) {
  if (behaviour.gate && !behaviour.gate->wait()) return false;
  if (!wire.send(behaviour.bytes)) return false;
  if (behaviour.end == Behaviour::End::keep_alive) return true;
  if (behaviour.end == Behaviour::End::hang) return end_->wait();
  const std::lock_guard lock(mutex_);  // stop() must not see a descriptor that is gone
  if (behaviour.end == Behaviour::End::reset) {
    wire.reset();
  } else {
    wire.shut_down();
  }
  ++ended_;
  changed_.notify_all();
  return false;
}

std::vector<ReceivedRequest> UpstreamServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::size_t UpstreamServer::count() const {
  const std::lock_guard lock(mutex_);
  return requests_.size();
}

std::size_t UpstreamServer::effects(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(requests_, [&](const ReceivedRequest& request) {
        return (request.method == "POST" || request.method == "PATCH") &&
               request.header("Idempotency-Key") == key;
      }));
}

void UpstreamServer::wait_for(std::size_t requests) const {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, wire_patience, [&] { return requests_.size() >= requests; })) {
    throw WireError("only " + std::to_string(requests_.size()) + " requests arrived");
  }
}

void UpstreamServer::wait_for_connections(int connections) const {
  std::unique_lock lock(mutex_);
  const auto there = [&] { return connections_.size() >= static_cast<std::size_t>(connections); };
  if (!changed_.wait_for(lock, wire_patience, there)) throw WireError("too few connections");
}

void UpstreamServer::wait_for_ends(std::size_t connections) const {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, wire_patience, [&] { return ended_ >= connections; })) {
    throw WireError("only " + std::to_string(ended_) + " connections were closed or reset");
  }
}

FullListener::FullListener(std::uint16_t port) {
  const Listening listening = listen_on_loopback(port, 0);
  listener_ = listening.descriptor;
  port_ = listening.port;
  // A backlog of 0 holds one connection; the next ones stay half-open.
  while (true) {
    const int filler = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    fillers_.push_back(filler);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port_);
    ::connect(filler, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    pollfd connected{filler, POLLOUT, 0};
    // On loopback a connection is there at once; one that is not will stay away.
    if (::poll(&connected, 1, 50) == 0) break;
  }
}

FullListener::~FullListener() {
  for (const int filler : fillers_) ::close(filler);
  ::close(listener_);
}

Wire FullListener::accept() {
  const auto is_ours = [&](const sockaddr_in& peer) {
    return std::ranges::any_of(fillers_, [&](int filler) {
      sockaddr_in own{};
      socklen_t size = sizeof own;
      return ::getsockname(filler, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
             own.sin_port == peer.sin_port;
    });
  };
  while (true) {
    pollfd waiting{listener_, POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(wire_patience.count()) * 1000) != 1) {
      throw WireError("nobody connects");
    }
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    const int accepted =
        ::accept4(listener_, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC);
    if (accepted < 0) throw WireError("accept failed");
    if (!is_ours(peer)) return Wire(accepted);
    ::close(accepted);
  }
}

}  // namespace pawl::testing
