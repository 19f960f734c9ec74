// Requests of several clients, one after the other, over one pool of connections to a careless
// server: what one client sent, or was sent, never reaches another's request or answer.
//
// Whatever belongs to client n is marked with the byte 0x80 + n: the fields and bodies of its
// request, all that the server says while it serves that request, and what it says afterwards. The
// server reads no body of a method that has none, nor of a request that it refuses, nor where its
// turn says so (an action that takes none), and takes it for the next request. An answer that can
// have no body and names one all the same gets something as its body when the next request comes.
// Input: for each client a request, an answer, and what comes late.
#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pawl/types/check.hpp"
#include "src/adapters/http/pass_through.hpp"
#include "src/adapters/http/session.hpp"
#include "src/adapters/http/upstream_call.hpp"
#include "tests/fuzz/input.hpp"

namespace pawl::http {
namespace {

namespace net = boost::asio;
using net::ip::tcp;
constexpr auto as_result = net::as_tuple(net::use_awaitable);
constexpr int clients_max = 6;
constexpr int idle_seconds_max = 20;
using fuzz::Input;

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] BootTime now() const override {
    return BootTime(
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
  }
  Task<void> sleep_until(BootTime /*when*/) override { co_return; }
};

char mark_of(int client) { return static_cast<char>(0x80 + client); }
std::string sender_of(int client) { return "client " + std::to_string(client); }
bool is_mark(char c) { return static_cast<unsigned char>(c) >= 0x80; }

// Every byte over 0x7F becomes this client's mark.
std::string marked(std::string_view bytes, int client) {
  std::string out(bytes);
  for (char& c : out) {
    if (is_mark(c)) c = mark_of(client);
  }
  return out;
}

void expect_only(std::string_view bytes, int client) {
  PAWL_CHECK(
      std::ranges::all_of(bytes, [&](char c) { return !is_mark(c) || c == mark_of(client); }));
}

// One client: what it asks, and what the server makes of it.
struct Turn {
  std::string request;  // of a client that passes; empty: guarded
  std::string body;     // of a guarded one
  std::string answer;
  bool closes = false;
  bool reads = true;  // the bodies of methods that have one, where it does not refuse
  std::string late;   // before anybody asks again
  std::string owed;   // once somebody has asked again
};

std::string with_length(std::string_view head, std::string_view body) {
  return std::string(head) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

std::string in_chunks(std::string_view head, std::string_view body) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx", body.size());
  std::string out = std::string(head) + "Transfer-Encoding: chunked\r\n\r\n";
  if (!body.empty()) out += std::string(size) + "\r\n" + std::string(body) + "\r\n";
  return out + "0\r\n\r\n";
}

// A body that is a request, half a request, or any bytes.
std::string body_of(Input& input) {
  switch (input.byte() % 4) {
    case 0: return "";
    case 1: return "POST /hidden HTTP/1.1\r\nX-Mark: \xFF\r\nContent-Length: 1\r\n\r\n\xFF";
    case 2: return "POST /hidden HTTP/1.1\r\nX-Mark: \xFF\r\nX-Rest: ";
    default: return std::string(input.piece());
  }
}

std::string request_of(Input& input) {
  static constexpr std::array methods{"GET", "HEAD", "OPTIONS", "DELETE",
                                      "PUT", "POST", "PATCH",   "PURGE"};
  const std::uint8_t choice = input.byte();
  const std::string head = std::string(methods[choice % methods.size()]) +
                           " /asked HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Mark: \xFF\r\n";
  const std::string body = body_of(input);
  return choice & 0x80 ? in_chunks(head, body) : with_length(head, body);
}

std::string answer_of(Input& input, bool& closes) {
  const std::string fields = "X-Mark: \xFF\r\n";
  const std::string ok = "HTTP/1.1 200 OK\r\n" + fields;
  switch (input.byte() % 14) {
    case 0: return with_length(ok, "\xFF\xFF");
    case 1: return with_length("HTTP/1.1 404 Not Found\r\n" + fields, "\xFF");
    case 2: return "HTTP/1.1 204 No Content\r\n" + fields + "\r\n";
    case 3: return with_length("HTTP/1.1 204 No Content\r\n" + fields, "\xFF\xFF");
    case 4: return "HTTP/1.1 304 Not Modified\r\n" + fields + "Content-Length: 2\r\n\r\n";
    case 5: return in_chunks("HTTP/1.1 304 Not Modified\r\n" + fields, "\xFF\xFF");
    case 6:
      return "HTTP/1.1 103 Early SettledNotices\r\nContent-Length: 2\r\n\r\n" +
             with_length(ok, "\xFF");
    case 7: return "HTTP/1.1 100 Continue\r\n\r\n" + with_length(ok, "\xFF");
    case 8: return in_chunks(ok, "\xFF\xFF\xFF");
    case 9: return with_length(ok, "\xFF") + "\xFF";
    case 10: return with_length(ok, "\xFF") + with_length(ok, "\xFF\xFF");
    case 11: closes = true; return ok + "Content-Type: application/json\r\n\r\n[1]";
    case 12: closes = true; return ok + "Content-Length: 100\r\n\r\n\xFF";
    default: closes = true; return std::string(input.piece());
  }
}

std::string late_of(std::uint8_t choice, Input& input) {
  switch (choice % 4) {
    case 0: return "";
    case 1: return with_length("HTTP/1.1 201 Created\r\nX-Mark: \xFF\r\n", "\xFF");
    case 2: return "HTTP/1.1 408 Request Timeout\r\nX-Mark: \xFF\r\nContent-Length: 0\r\n\r\n";
    default: return std::string(input.piece());
  }
}

// Where the head of the last answer ends, if it names a body that it cannot have, or one before it
// does; nothing otherwise. From then on the connection is of no use.
std::size_t end_of_bodiless(const Turn& turn) {
  const std::size_t last = turn.answer.rfind("HTTP/1.1 ");
  if (turn.closes || last == std::string::npos) return std::string::npos;
  const std::string_view head = std::string_view(turn.answer).substr(last);
  const bool bodiless = turn.request.starts_with("HEAD") || head.starts_with("HTTP/1.1 204") ||
                        head.starts_with("HTTP/1.1 304");
  const bool names = head.find("Content-Length") != head.npos || head.find("chunked") != head.npos;
  if (turn.answer.starts_with("HTTP/1.1 103")) return turn.answer.size();
  return bodiless && names ? last + head.find("\r\n\r\n") + 4 : std::string::npos;
}

std::vector<Turn> turns_in(std::string_view bytes) {
  Input input(bytes);
  std::vector<Turn> turns;
  while (!input.empty() && turns.size() < clients_max) {
    const int client = static_cast<int>(turns.size());
    Turn turn;
    if (input.byte() % 2 == 0) {
      turn.body = marked(body_of(input), client);
    } else {
      turn.request = marked(request_of(input), client);
    }
    turn.answer = marked(answer_of(input, turn.closes), client);
    const std::uint8_t choice = input.byte();
    turn.late = marked(late_of(choice, input), client);
    turn.reads = (choice & 0x40U) == 0;
    const std::size_t end = end_of_bodiless(turn);
    if ((choice & 0x80U) != 0 && end != std::string::npos) {
      turn.answer.resize(end);
      turn.owed = std::exchange(turn.late, "");
    }
    turns.push_back(std::move(turn));
  }
  return turns;
}

class World final : public Handler {
 public:
  explicit World(std::vector<Turn> turns)
      : turns_(std::move(turns)),
        acceptor_(context_, tcp::endpoint(net::ip::address_v4::loopback(), 0)),
        pool_({"127.0.0.1", acceptor_.local_endpoint().port(), false}, deadlines_) {}

  void run() {
    net::co_spawn(context_, accept_all(), net::detached);
    for (client_ = 0; client_ < static_cast<int>(turns_.size()); ++client_) {
      finished_ = false;
      if (turn().request.empty()) {
        net::co_spawn(context_, call(), net::detached);
      } else {
        net::co_spawn(context_, pass(), net::detached);
      }
      for (int idle = 0; !finished_;) {
        idle = context_.run_one_for(std::chrono::seconds(1)) > 0 ? 0 : idle + 1;
        PAWL_CHECK(idle < idle_seconds_max);  // polled so often, however busy the machine is
      }
      // On the loopback what is written has arrived.
      boost::system::error_code ignored;
      if (last_) net::write(*last_, net::buffer(turn().late), ignored);
    }
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    for (const auto& socket : sockets_) socket->close(ignored);
    context_.poll();
  }

  Task<void> handle(ClientRequest& request) override {
    PassOptions options;
    options.pseudonym = "fuzz";
    const std::string sender = sender_of(client_);
    options.sender = sender;
    Passed passed = co_await pass_through(request, pool_, options);
    if (!passed.problem) co_return;
    Response response;
    response.status = 502;
    co_await request.answer(response);
  }
  Response refused(const Refusal& /*refusal*/, std::string_view /*client*/) override {
    Response response;
    response.status = 400;
    return response;
  }

 private:
  class Writer final : public RequestWriter {
   public:
    Writer(const Turn& turn, int client) : turn_(turn), client_(client) {}
    std::string head(const Record& /*attempt*/) override {
      return marked("POST /asked HTTP/1.1\r\nHost: a\r\nX-Mark: \xFF\r\nContent-Length: " +
                        std::to_string(turn_.body.size()) + "\r\n\r\n",
                    client_);
    }
    [[nodiscard]] std::string_view body() const override { return turn_.body; }

   private:
    const Turn& turn_;
    int client_;
  };
  class Open final : public SendGate {
   public:
    Task<bool> may_send() override { co_return true; }
  };

  Turn& turn() { return turns_[static_cast<std::size_t>(client_)]; }

  Task<void> call() {
    Writer writer(turn(), client_);
    Open gate;
    CallOptions options;
    options.sender = sender_of(client_);
    UpstreamCall call(pool_, writer, options);
    const Record attempt;
    const Outcome outcome = co_await call.send(attempt, gate, BootTime::max());
    if (const auto* answer = std::get_if<Answered>(&outcome)) {
      expect_only(answer->response.body, client_);
      for (const Header& header : answer->response.headers) expect_only(header.value, client_);
    }
    finished_ = true;
  }

  Task<void> pass() {
    tcp::acceptor acceptor(context_, tcp::endpoint(net::ip::address_v4::loopback(), 0));
    tcp::socket far(context_);
    far.connect(acceptor.local_endpoint());
    tcp::socket near = acceptor.accept();
    // Any program of this machine may have knocked at the port first.
    boost::system::error_code gone;
    while (near.remote_endpoint(gone) != far.local_endpoint()) near = acceptor.accept();
    SessionRules rules{std::make_shared<const SessionLimits>(limits_), nullptr};
    Session session(Socket(std::move(near)), "127.0.0.1", deadlines_, *this, std::move(rules),
                    state_);
    net::write(far, net::buffer(turn().request));
    far.shutdown(tcp::socket::shutdown_send);
    co_await session.run();
    std::string heard(std::size_t{1} << 16, '\0');
    boost::system::error_code end;
    far.non_blocking(true);
    heard.resize(far.read_some(net::buffer(heard), end));
    expect_only(heard, client_);
    finished_ = true;
  }

  Task<void> accept_all() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(as_result);
      if (error) co_return;
      socket.set_option(tcp::no_delay(true));  // nothing is held back: late is not too late
      sockets_.push_back(std::make_shared<tcp::socket>(std::move(socket)));
      net::co_spawn(context_, serve(sockets_.back()), net::detached);
    }
  }

  // Carelessly: whatever comes next is the next request.
  Task<void> serve(std::shared_ptr<tcp::socket> socket) {
    std::string bytes;
    std::string owed;
    for (;;) {
      const auto [error, size] = co_await net::async_read_until(*socket, net::dynamic_buffer(bytes),
                                                                "\r\n\r\n", as_result);
      if (error) co_return;
      const std::string head = bytes.substr(0, size);
      bytes.erase(0, size);
      const int client = client_in(head);
      if (client < 0 || client >= static_cast<int>(turns_.size())) co_return;
      const Turn& turn = turns_[static_cast<std::size_t>(client)];
      const bool refuses = turn.answer.starts_with("HTTP/1.1 404");
      const bool reads =
          turn.reads && !refuses &&
          (head.starts_with("POST") || head.starts_with("PUT") || head.starts_with("PATCH"));
      if (reads) {
        const bool whole = co_await drop_body(*socket, head, client, bytes);
        if (!whole) co_return;
      }
      last_ = socket;
      const std::string answer = owed + turn.answer;
      owed = turn.owed;
      co_await net::async_write(*socket, net::buffer(answer), as_result);
      if (!turn.closes) continue;
      boost::system::error_code ignored;
      socket->shutdown(tcp::socket::shutdown_send, ignored);
    }
  }

  // A head that has two clients' marks is one request glued to another's.
  static int client_in(std::string_view head) {
    const auto first = std::ranges::find_if(head, is_mark);
    if (first == head.end()) return -1;
    const int client = static_cast<unsigned char>(*first) - 0x80;
    expect_only(head, client);
    return client;
  }

  static Task<bool> read_more(tcp::socket& socket, std::string& bytes) {
    std::array<char, 4096> room;
    const auto [error, size] = co_await socket.async_read_some(net::buffer(room), as_result);
    bytes.append(room.data(), size);
    co_return !error;
  }

  static Task<bool> drop_body(tcp::socket& socket, const std::string& head, int client,
                              std::string& bytes) {
    if (head.find("Transfer-Encoding: ") != std::string::npos) {
      ChunkedDecoder chunks;
      while (!chunks.done()) {
        const Expected<ChunkedDecoder::Step, Refusal> step = chunks.decode(bytes);
        PAWL_CHECK(step);  // we wrote it anew
        expect_only(std::string_view(bytes).substr(0, step->used), client);
        bytes.erase(0, step->used);
        if (step->used > 0 || chunks.done()) continue;
        const bool came = co_await read_more(socket, bytes);
        if (!came) co_return false;
      }
      co_return true;
    }
    const std::size_t at = head.find("Content-Length: ");
    const std::size_t wanted = at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
    while (bytes.size() < wanted) {
      const bool came = co_await read_more(socket, bytes);
      if (!came) co_return false;
    }
    expect_only(std::string_view(bytes).substr(0, wanted), client);
    bytes.erase(0, wanted);
    co_return true;
  }

  std::vector<Turn> turns_;
  net::io_context context_{1};
  SteadyClock clock_;
  Deadlines deadlines_{clock_};
  SessionLimits limits_;
  const SessionState state_;
  tcp::acceptor acceptor_;
  std::vector<std::shared_ptr<tcp::socket>> sockets_;
  std::shared_ptr<tcp::socket> last_;  // where something was answered
  UpstreamPool pool_;
  int client_ = 0;
  bool finished_ = false;
};

}  // namespace
}  // namespace pawl::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(data, data + size);
  pawl::http::World world(pawl::http::turns_in(bytes));
  world.run();
  return 0;
}
