#include "src/adapters/http/session.hpp"

#include <algorithm>

#include "src/adapters/http/client_address.hpp"
#include "src/adapters/http/forwarding.hpp"
#include "src/adapters/http/proxy_header.hpp"

namespace pawl::http {
namespace {

constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::size_t discarded_bytes_max = std::size_t{64} << 10;
// Of a client that is still sending what was refused: until it is silent, or had its chance.
constexpr std::size_t linger_bytes_max = std::size_t{64} << 20;
constexpr Duration linger_time = std::chrono::seconds(30);
constexpr Duration linger_silence = std::chrono::seconds(2);
constexpr Duration turned_away_within = std::chrono::seconds(2);
constexpr char tls_handshake = 0x16;
constexpr std::size_t body_bytes_per_timeout = std::size_t{64} << 10;
constexpr std::size_t write_bytes_per_timeout = std::size_t{256} << 10;
constexpr std::size_t spooled_bytes_per_write = std::size_t{64} << 10;

// How HTTP/2 begins where a client takes it for granted.
constexpr std::string_view http2_preface = "PRI * HTTP/2.0\r\n";

}  // namespace

Task<bool> ClientRequest::send_continue() {
  const bool wanted =
      head.expects_continue && !continued_ && !body_.done() && stream_.arrived().empty();
  continued_ = true;
  if (!wanted) co_return true;
  const std::array<std::string_view, 2> parts{continue_line, {}};
  const Stream::Sent sent = co_await stream_.write(parts);
  co_return sent.io == Io::ok;
}

Task<Expected<std::string, BodyTrouble>> ClientRequest::read_body(std::size_t bytes_max,
                                                                  Charge& memory) {
  if (head.framing == Framing::length && head.length > bytes_max) {
    BodyTrouble trouble;
    trouble.refusal = body_too_large(bytes_max);
    co_return Unexpected{std::move(trouble)};
  }
  stream_.expires_at(stream_.now() + limits_.body_timeout);
  if (head.expects_continue) {
    const bool sent = co_await send_continue();
    if (!sent) {
      BodyTrouble trouble;
      trouble.io = Io::broken;
      co_return Unexpected{std::move(trouble)};
    }
  }
  Expected<std::string, BodyTrouble> body = co_await body_.read_whole(bytes_max, &memory);
  stream_.expires_never();
  co_return body;
}

Task<void> ClientRequest::discard_body() {
  const bool is_long = head.framing == Framing::length && head.length > discarded_bytes_max;
  // Whoever waits for 100 Continue has not sent it, and hears of the refusal instead.
  if (is_long || (head.expects_continue && stream_.arrived().empty())) co_return;
  stream_.expires_at(stream_.now() + limits_.body_timeout);
  std::size_t discarded = 0;
  bool more = !body_.done();
  while (more && discarded <= discarded_bytes_max) {
    const Expected<std::string_view, BodyTrouble> piece = co_await body_.next();
    more = piece && !piece->empty();
    if (more) discarded += piece->size();
  }
  stream_.expires_never();
  stream_.revive();  // also one that was too slow is told why it was refused
}

Task<Expected<std::string_view, BodyTrouble>> ClientRequest::next_piece() {
  const BootTime asked_at = stream_.now();
  stream_.expires_at(asked_at + body_time_left_);
  if (!co_await send_continue()) {
    BodyTrouble trouble;
    trouble.io = Io::broken;
    co_return Unexpected{std::move(trouble)};
  }
  const Expected<std::string_view, BodyTrouble> piece = co_await body_.next();
  stream_.expires_never();
  if (!piece) co_return piece;
  body_time_left_ -= stream_.now() - asked_at;
  body_bytes_in_time_ += piece->size();
  if (body_bytes_in_time_ >= body_bytes_per_timeout) {
    body_bytes_in_time_ = 0;
    body_time_left_ = limits_.body_timeout;
  }
  co_return piece;
}

Task<void> ClientRequest::answer(const Response& response, std::string_view body) {
  if (!body_.done()) keep_alive_ = false;
  AnswerOptions options;
  options.keep_alive = !will_close();
  options.length = body.size();
  std::string bytes;
  bytes.reserve(512);
  append_answer_head(bytes, response, options);
  const bool bodiless = head.method == "HEAD" || response.status == 204 || response.status == 304;
  std::string_view first = bytes;
  std::string_view rest = bodiless ? std::string_view{} : body;
  do {  // a large answer to a slow client is not late as long as it moves
    const std::array<std::string_view, 2> parts{first, rest.substr(0, write_bytes_per_timeout)};
    stream_.expires_at(stream_.now() + limits_.write_timeout);
    const Stream::Sent sent = co_await stream_.write(parts);
    if (sent.io != Io::ok) failed_ = true;
    first = {};
    rest.remove_prefix(parts[1].size());
  } while (!rest.empty() && !failed_);
  stream_.expires_never();
}

Task<void> ClientRequest::answer_from(const Response& response, const Spool& body) {
  if (!body_.done()) keep_alive_ = false;
  AnswerOptions options;
  options.keep_alive = !will_close();
  options.length = body.size();
  std::string first;
  first.reserve(512);
  append_answer_head(first, response, options);
  std::string piece;
  for (std::uint64_t sent = 0; sent < body.size() && !failed_; sent += piece.size()) {
    piece.resize(spooled_bytes_per_write);
    piece.resize(body.read(sent, piece.data(), piece.size()));
    const std::array<std::string_view, 2> parts{first, piece};
    stream_.expires_at(stream_.now() + limits_.write_timeout);
    const Stream::Sent written = co_await stream_.write(parts);
    // What cannot be read any more is cut off, and the length says so.
    if (written.io != Io::ok || piece.empty()) failed_ = true;
    first.clear();
  }
  stream_.expires_never();
}

Response Handler::over_limit(ConnectionLimit /*limit*/, std::string_view /*client*/,
                             const RequestHead* /*head*/) {
  Response response;
  response.status = 503;
  response.headers.push_back({"Retry-After", "1"});
  return response;
}

Session::Session(Socket socket, std::string peer, Deadlines& deadlines, Handler& handler,
                 SessionRules rules, const SessionState& state)
    : stream_(std::move(socket), deadlines),
      handler_(handler),
      rules_(std::move(rules)),
      limits_(*rules_.limits),
      state_(state),
      client_{peer, peer, std::nullopt} {}

void Session::turn_away(ConnectionLimit limit, RefusalSlot slot) {
  over_ = limit;
  refusal_.emplace(std::move(slot));
}

void Session::stop_if_idle() {
  if (idle_) stream_.close();
}

Duration Session::at_most(Duration usual) const {
  return over_ ? std::min(usual, turned_away_within) : usual;
}

void Session::let_in_by(const std::string& clients) {
  if (!rules_.tls || rules_.tls->clients() == clients) return;
  retired_ = true;
  stop_if_idle();
}

bool Session::is_let_in() const {
  if (retired_) return false;
  return !client_.certificate || !is_over(*client_.certificate, std::chrono::system_clock::now());
}

Task<void> Session::run() {
  // Not `if (!co_await serve_one()) break;`: GCC 12 makes an illegal instruction of that.
  bool goes_on = true;
  if (rules_.proxy_protocol) goes_on = co_await learn_address();
  if (goes_on) goes_on = take_place();
  if (goes_on && rules_.tls) goes_on = co_await start_tls();
  while (goes_on && !state_.draining && is_let_in()) {
    goes_on = co_await serve_one();
  }
  stream_.close();
}

// By the PROXY header. Where that names no client (UNKNOWN), the bytes that follow may be of any,
// and what their headers say of an address is not the proxy's word.
Task<bool> Session::learn_address() {
  if (!is_trusted(client_.peer)) {
    handler_.failed("it is not from one of trusted_proxies, and proxy_protocol is on, from " +
                    client_.peer);
    co_return false;
  }
  stream_.expires_at(stream_.now() + at_most(limits_.header_timeout));
  for (;;) {
    const auto header = read_proxy_header(stream_.arrived());
    if (!header) {
      handler_.failed(header.error() + ", from " + client_.peer);
      co_return false;
    }
    if (*header) {
      stream_.consume((*header)->bytes);
      names_clients_ = (*header)->source.has_value();
      if (names_clients_) client_.address = to_text(*(*header)->source);
      co_return true;
    }
    const bool nothing = stream_.arrived().empty();
    const Io io = co_await stream_.read_more();
    if (io == Io::ok) continue;
    // One that ends before its first byte has only tested whether the port is open.
    if (io == Io::timed_out || !nothing) {
      handler_.failed("no whole PROXY header came, from " + client_.peer);
    }
    co_return false;
  }
}

// A trusted proxy's connection is of many clients: each of its requests is counted instead.
bool Session::take_place() {
  if (rules_.count == nullptr || over_ || is_trusted(client_.address)) return true;
  std::optional<AddressSlot> place = AddressSlot::take(*rules_.count, client_.address);
  if (place) {
    place_.emplace(std::move(*place));
    return true;
  }
  std::optional<RefusalSlot> refusal = RefusalSlot::take(*rules_.count);
  if (!refusal) {
    handler_.dropped(ConnectionLimit::address, client_.address);
    return false;
  }
  turn_away(ConnectionLimit::address, std::move(*refusal));
  return true;
}

RequestOrigin Session::origin_of(const RequestHead& head) const {
  RequestOrigin origin;
  origin.client = client_.address;
  if (names_clients_) {
    origin.client = client_address(head, client_.address, state_.trusted_proxies);
  }
  const bool believed = origin.client != client_.address;
  // A Unix socket has no address to add to what a trusted proxy has said.
  origin.hop = client_.address;
  if (client_.address == unix_peer) origin.hop = believed ? "" : "unknown";
  return origin;
}

Task<bool> Session::start_tls() {
  stream_.expires_at(stream_.now() + at_most(limits_.header_timeout));
  if (stream_.arrived().empty()) {
    const Io io = co_await stream_.read_more();
    if (io == Io::timed_out) handler_.failed("no TLS hello came in time, from " + client_.address);
    if (io != Io::ok) co_return false;
  }
  if (stream_.arrived().front() != tls_handshake) {
    Refusal plain;
    plain.detail = "This port speaks TLS: use https://.";
    plain.status = 400;
    co_await refuse(plain);
    co_return false;
  }
  const std::optional<std::string> trouble = co_await stream_.accept_tls(*rules_.tls);
  if (trouble) {
    handler_.failed(*trouble + ", from " + client_.address);
    co_return false;
  }
  client_.certificate = stream_.certificate();
  co_return true;
}

// True if the connection may serve another request.
Task<bool> Session::serve_one() {
  idle_ = true;
  stream_.release_room();
  stream_.expires_at(stream_.now() + at_most(limits_.idle_timeout));
  if (stream_.arrived().empty()) {
    const Io io = co_await stream_.read_more();
    if (over_ && io == Io::timed_out) {
      stream_.revive();
      Response response = handler_.over_limit(*over_, client_.address, nullptr);
      co_await refuse_with(std::move(response));
    }
    if (io != Io::ok) co_return false;  // gone, or silent for too long: nobody to tell
  }
  idle_ = false;
  if (!is_let_in()) co_return false;  // nothing of it was read
  if (stream_.arrived().front() == tls_handshake && !rules_.tls) {
    handler_.failed("a TLS hello came to a port that speaks plain HTTP, from " + client_.address);
    co_return false;
  }
  stream_.expires_at(stream_.now() + at_most(limits_.header_timeout));
  std::string bytes;
  Charge memory(limits_.memory);
  const std::optional<HeadTrouble> trouble =
      co_await read_head(stream_, limits_.head.head_bytes_max, bytes, &memory);
  if (bytes.starts_with(http2_preface)) {
    handler_.failed("the client began with HTTP/2, which is not spoken here, from " +
                    client_.address);  // and is answered with 505, as every other version
  }
  if (trouble) {
    if (trouble->refusal) co_await refuse(*trouble->refusal);
    if (trouble->io == Io::timed_out) {
      Refusal too_slow;
      too_slow.detail = "The header section did not arrive in time.";
      too_slow.status = 408;
      stream_.revive();
      co_await refuse(too_slow);
    }
    co_return false;
  }
  Expected<RequestHead, Refusal> head = parse_request_head(bytes, limits_.head);
  if (!head) {
    co_await refuse(head.error());
    co_return false;
  }
  // What follows takes as long as it takes: reading and writing have deadlines of their own.
  stream_.expires_never();
  const RequestOrigin origin = origin_of(*head);
  ClientRequest request(stream_, limits_, std::move(*head), client_, origin, state_.draining,
                        retired_);
  co_await answer(request);
  if (!request.failed() && !request.may_go_on()) {
    co_await linger(request.body_done() ? Unread::nothing : Unread::body);
  }
  co_return request.may_go_on();
}

Task<void> Session::answer(ClientRequest& request) {
  std::optional<AddressSlot> place;
  std::optional<ConnectionLimit> over = over_;
  if (!over && !place_ && rules_.count != nullptr) {
    std::optional<AddressSlot> found = AddressSlot::take(*rules_.count, request.client);
    if (found) {
      place.emplace(std::move(*found));
    } else {
      over = ConnectionLimit::address;
    }
  }
  if (!over) co_return co_await handler_.handle(request);
  if (over_) {
    request.close_after();
  } else {
    co_await request.discard_body();
  }
  const Response response = handler_.over_limit(*over, request.client, &request.head);
  co_await request.answer(response);
}

Task<void> Session::refuse(const Refusal& refusal) {
  Response response = handler_.refused(refusal, client_.address);
  co_await refuse_with(std::move(response));
}

Task<void> Session::refuse_with(Response response) {
  AnswerOptions options;
  options.keep_alive = false;
  std::string bytes;
  append_answer_head(bytes, response, options);
  stream_.expires_at(stream_.now() + limits_.write_timeout);
  const std::array<std::string_view, 2> parts{bytes, response.body};
  const Stream::Sent sent = co_await stream_.write(parts);
  if (sent.io == Io::ok) co_await linger(Unread::nothing);
}

// A connection closed with bytes unread is reset, and a reset may overtake our answer. So we say
// that we are done, and read on: many clients send the whole of a body before they read.
Task<void> Session::linger(Unread unread) {
  const bool is_tls = stream_.is_tls();
  if (!is_tls) stream_.shut_down_sending();
  if (!is_tls || unread == Unread::body) co_await drop_what_comes();
  if (!is_tls) co_return;
  stream_.expires_at(stream_.now() + linger_silence);
  co_await stream_.end_tls();
}

Task<void> Session::drop_what_comes() {
  const BootTime until = stream_.now() + at_most(linger_time);
  std::size_t dropped = 0;
  while (dropped < linger_bytes_max && stream_.now() < until) {
    dropped += stream_.arrived().size();
    stream_.consume(stream_.arrived().size());
    stream_.expires_at(std::min<BootTime>(stream_.now() + linger_silence, until));
    const Io io = co_await stream_.read_more();
    if (io != Io::ok) break;
  }
  stream_.consume(stream_.arrived().size());
}

}  // namespace pawl::http
