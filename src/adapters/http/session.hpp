// One client's connection: heads are read and checked here, requests are answered by a Handler.
#pragma once

#include <string>

#include "src/adapters/http/body.hpp"
#include "src/adapters/http/connection_count.hpp"
#include "src/adapters/http/exchange.hpp"
#include "src/adapters/http/server_tls.hpp"
#include "src/adapters/http/spool.hpp"
#include "src/adapters/http/stream.hpp"
#include "src/core/network.hpp"

namespace pawl::http {

struct SessionLimits {
  HeadLimits head;
  Duration header_timeout = std::chrono::seconds(10);
  Duration body_timeout = std::chrono::seconds(30);
  Duration idle_timeout = std::chrono::seconds(60);
  Duration write_timeout = std::chrono::seconds(30);
  MemoryBudget* memory = nullptr;  // what large heads are charged to
};

// What holds for one connection from its beginning to its end.
struct SessionRules {
  std::shared_ptr<const SessionLimits> limits;
  std::shared_ptr<ServerTls> tls;    // null: none
  ConnectionCount* count = nullptr;  // by address; null: it is not counted
  bool proxy_protocol = false;       // it begins with a PROXY header
};

// What may change while it lives.
struct SessionState {
  bool draining = false;
  Networks trusted_proxies;
};

// Whose connection it is.
struct ClientIdentity {
  std::string peer;                              // the address that it comes from
  std::string address;                           // the same, or what a PROXY header says
  std::optional<ClientCertificate> certificate;  // verified
};

// Whose request it is, where a trusted proxy may have passed it on.
struct RequestOrigin {
  std::string client;  // the client's address; see client_address
  std::string hop;     // what is added to X-Forwarded-For: see ForwardOptions::client
};

// One request of a client, while it is being answered.
class ClientRequest {
 public:
  ClientRequest(Stream& stream, const SessionLimits& limits, RequestHead parsed,
                const ClientIdentity& sender, const RequestOrigin& origin, const bool& draining,
                const bool& retired)
      : head(std::move(parsed)),
        client(origin.client),
        hop(origin.hop),
        peer(sender.peer),
        certificate(sender.certificate),
        stream_(stream),
        limits_(limits),
        draining_(draining),
        retired_(retired),
        body_(stream, head.framing, head.length) {}

  const RequestHead head;
  const std::string_view client;  // its address
  const std::string_view hop;     // for X-Forwarded-For
  const std::string_view peer;    // what the connection is from: the one address that is no word
  const std::optional<ClientCertificate>& certificate;

  // The body, asked for with 100 Continue if the client waits for that. A refusal closes the
  // connection.
  Task<Expected<std::string, BodyTrouble>> read_body(std::size_t bytes_max, Charge& memory);
  // Of a request that is refused already: read and dropped, so that the connection may go on. Only
  // where it is short; the rest of a longer one is nobody's, and its connection ends.
  Task<void> discard_body();
  // For streaming: the same, piece by piece. `body_timeout` is for each 64 KiB of it, and only the
  // time spent waiting for the client counts.
  Task<Expected<std::string_view, BodyTrouble>> next_piece();

  // The whole answer. Exactly one, or `answered_by_hand` after writing to the stream oneself.
  Task<void> answer(const Response& response) { return answer(response, response.body); }
  // The same with a body that others hold too, and that outlives the call.
  Task<void> answer(const Response& response, std::string_view body);
  // The same with a body that is not in the answer.
  Task<void> answer_from(const Response& response, const Spool& body);
  void close_after() { keep_alive_ = false; }
  // A drain that began after the request came ends its connection too, and the client is told. So
  // does another rule about who is let in.
  [[nodiscard]] bool will_close() const {
    return !keep_alive_ || !head.keep_alive || draining_ || retired_;
  }

  Stream& stream() { return stream_; }
  [[nodiscard]] std::string_view scheme() const { return stream_.is_tls() ? "https" : "http"; }
  [[nodiscard]] bool body_done() const { return body_.done(); }
  [[nodiscard]] const SessionLimits& limits() const { return limits_; }
  // After an answer, whoever wrote it. An unread body would be taken for the next request.
  [[nodiscard]] bool may_go_on() const { return !will_close() && body_.done() && !failed_; }
  // Nobody can be told any more.
  void fail() { failed_ = true; }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  Task<bool> send_continue();

  Stream& stream_;
  const SessionLimits& limits_;
  const bool& draining_;
  const bool& retired_;
  BodyReader body_;
  Duration body_time_left_ = limits_.body_timeout;
  std::size_t body_bytes_in_time_ = 0;
  bool continued_ = false;
  bool keep_alive_ = true;
  bool failed_ = false;
};

class Handler {
 public:
  virtual ~Handler() = default;
  virtual Task<void> handle(ClientRequest& request) = 0;
  // A message that is no request: what the client is told before the connection is closed.
  virtual Response refused(const Refusal& refusal, std::string_view client) = 0;
  // What a client is told whose connection, or request through a proxy, is one too many. `head`:
  // of its request; null: it has sent none.
  virtual Response over_limit(ConnectionLimit limit, std::string_view client,
                              const RequestHead* head);
  // The same, where it was closed without an answer. From any thread.
  virtual void dropped(ConnectionLimit /*limit*/, std::string_view /*client*/) {}
  // A session ended by an exception; its client was told nothing more.
  virtual void failed(std::string_view /*why*/) {}
};

// The loop of one connection. `state` is looked at between requests.
class Session {
 public:
  Session(Socket socket, std::string peer, Deadlines& deadlines, Handler& handler,
          SessionRules rules, const SessionState& state);

  // It is one too many: its first request is answered with that, within a short time.
  void turn_away(ConnectionLimit limit, RefusalSlot slot);

  Task<void> run();
  // Ends it if it waits for its next request.
  void stop_if_idle();
  // From now on connections are let in by this rule (ServerTls::clients). One that was let in by
  // another serves no further request.
  void let_in_by(const std::string& clients);
  // Ends it whatever it is at; `run` returns soon after.
  void stop() { stream_.close(); }

 private:
  // False: the connection is over, and its client was told why if it could be.
  Task<bool> learn_address();
  bool take_place();
  Task<bool> start_tls();
  Task<bool> serve_one();
  Task<void> answer(ClientRequest& request);
  // Was it let in by a rule, and with a certificate, that still hold?
  [[nodiscard]] bool is_let_in() const;
  Task<void> refuse(const Refusal& refusal);
  Task<void> refuse_with(Response response);
  // What the client may still be sending.
  enum class Unread { nothing, body };
  Task<void> linger(Unread unread);
  Task<void> drop_what_comes();
  [[nodiscard]] RequestOrigin origin_of(const RequestHead& head) const;
  [[nodiscard]] bool is_trusted(std::string_view address) const {
    return contains(state_.trusted_proxies, address);
  }
  // Of a connection that is turned away: not for long.
  [[nodiscard]] Duration at_most(Duration usual) const;

  Stream stream_;
  Handler& handler_;
  const SessionRules rules_;
  const SessionLimits& limits_;
  const SessionState& state_;
  ClientIdentity client_;
  std::optional<AddressSlot> place_;  // none: it is a trusted proxy's, and its requests have each
  std::optional<ConnectionLimit> over_;
  std::optional<RefusalSlot> refusal_;
  bool names_clients_ = true;  // false: behind its PROXY header may be any client
  bool idle_ = false;
  bool retired_ = false;
};

}  // namespace pawl::http
