// A connection, over TCP or a Unix socket, with what has arrived and not been used yet, and a
// deadline.
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/adapters/http/deadlines.hpp"
#include "src/ports/task.hpp"

namespace pawl::http {

enum class Io {
  ok,
  closed,     // the other side ended it, orderly
  timed_out,  // the deadline passed; nothing more can be done with the stream
  broken,     // reset, or any other error
};

// The client's side of TLS for one upstream: whom to trust. Shared by a pool's connections.
class TlsContext;
class ServerTls;
struct ClientCertificate;

using Socket = boost::asio::generic::stream_protocol::socket;

class Stream final : public Deadlines::Entry {
 public:
  Stream(Socket socket, Deadlines& deadlines);

  ~Stream() override;

  Socket& socket() { return socket_; }

  // Speaks TLS from here on, with a server that proves to be `host`. Nothing, or what went wrong.
  Task<std::optional<std::string>> start_tls(TlsContext& context, std::string host);

  // The same as a server: what has arrived is the beginning of the client's hello.
  Task<std::optional<std::string>> accept_tls(ServerTls& context);
  // What a client has shown of itself there; nothing where it has shown nothing.
  [[nodiscard]] std::optional<ClientCertificate> certificate() const;
  // Over TLS: says that nothing more is coming, and waits for the other side to say the same.
  Task<void> end_tls();

  // What has arrived and not been consumed. Valid until the next read_more.
  [[nodiscard]] std::string_view arrived() const { return {in_.get() + begin_, end_ - begin_}; }
  void consume(std::size_t bytes);

  // Gives back the room that a large message needed, if nothing is in it.
  void release_room();

  // Waits for more bytes to arrive.
  Task<Io> read_more();

  struct Sent {
    Io io = Io::ok;
    std::size_t bytes = 0;
  };
  // Writes all of it, or says how much went out before it failed. Over TLS a failure never says
  // zero: what was encrypted may have left.
  Task<Sent> write(std::array<std::string_view, 2> parts);

  // A proper end over TLS was said by the other side, not by whoever is between.
  [[nodiscard]] bool is_tls() const { return tls_ != nullptr; }

  // Is there nothing to read and nobody gone? Does not wait. If not, the stream is of no use: a
  // byte may have been taken off it.
  [[nodiscard]] bool idle_and_alive();
  // Has the other side ended it? What has arrived before that is still there.
  [[nodiscard]] bool is_gone();

  // After a timeout: there is one more thing to say.
  void revive() { timed_out_ = false; }

  // Both directions, at once. Pending operations end with an error.
  void close();
  // As close, but so that the other side cannot take it for an orderly end.
  void reset();
  // Says that nothing more is coming, so that the other side can read what it was sent.
  void shut_down_sending();

  BootTime idle_since{};
  std::size_t target = 0;  // which of a pool's addresses it leads to
  // Whose body this connection has carried; empty: nobody's. A server that did not read it takes it
  // for the start of the next request, so that nobody else's may follow.
  std::string carried_for;

 private:
  void expire() override;
  void make_room();

  class Tls;

  Socket socket_;
  std::unique_ptr<Tls> tls_;
  std::unique_ptr<char[]> in_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool timed_out_ = false;
};

}  // namespace pawl::http
