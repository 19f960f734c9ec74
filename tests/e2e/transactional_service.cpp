// The service behind a transactional route, as a program of its own so that it can be stopped and
// killed: each connection is a process, each request one transaction with one business row and
// pawl.complete. It says on stdout how far it got, "POINT KEY FENCE PID", and does as the request's
// headers ask:
//   X-Stop-At: POINT   stop itself there (SIGSTOP)
//   X-Then: ...        what follows the commit: "reset", or a status to answer instead
//   X-Skip: ...        "complete" leaves pawl.complete out, "all" the transaction too
#include <libpq-fe.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>

#include "tests/support/wire.hpp"

namespace pawl::e2e {
namespace {

using testing::find_header;
using testing::Wire;
using testing::WireHeaders;

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

struct Request {
  WireHeaders headers;
  std::string body;

  [[nodiscard]] std::string header(std::string_view name) const {
    return find_header(headers, name).value_or("");
  }
};

void say(std::string_view point, const Request& request) {
  std::string line(point);
  line.append(" ").append(request.header("Pawl-Key"));
  line.append(" ").append(request.header("Pawl-Fence"));
  line.append(" ").append(std::to_string(::getpid())).append("\n");
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) ::_exit(1);  // one write: whole lines
}

void reach(std::string_view point, const Request& request) {
  say(point, request);
  if (request.header("X-Stop-At") == point) ::raise(SIGSTOP);
}

struct Answer {
  int status = 0;
  std::string body;
};

class Service {
 public:
  explicit Service(const char* url) : connection_(PQconnectdb(url), PQfinish) {}

  Answer pay(const Request& request) {
    reach("received", request);
    const std::string skip = request.header("X-Skip");
    if (skip == "all") return {201, "nothing was done"};
    if (!run("BEGIN", {})) return refused(request);
    const std::string key = request.header("Pawl-Key");
    const std::string fence = request.header("Pawl-Fence");
    const std::string id =
        value("INSERT INTO payments (key, fence) VALUES ($1, $2) RETURNING id", {key, fence});
    reach("inserted", request);
    const std::string body = "{\"payment\":" + id + ",\"fence\":" + fence + "}";
    const bool completes = skip != "complete";
    if (completes && !run("SELECT pawl.complete($1, $2, $3, 201, "
                          "'{\"Content-Type\":\"application/json\"}', convert_to($4, 'UTF8'))",
                          {request.header("Pawl-Scope"), key, fence, body})) {
      return refused(request);
    }
    reach("completed", request);
    if (!run("COMMIT", {})) return refused(request);
    reach("committed", request);
    return {201, body};
  }

 private:
  using Arguments = std::vector<std::string>;

  Answer refused(const Request& request) {
    const std::string state = sqlstate_.empty() ? "no-connection" : sqlstate_;
    run("ROLLBACK", {});
    say(state, request);
    return {500, state};
  }

  bool run(const char* sql, const Arguments& arguments) {
    const Result result = execute(sql, arguments);
    const ExecStatusType status = PQresultStatus(result.get());
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
  }

  std::string value(const char* sql, const Arguments& arguments) {
    const Result result = execute(sql, arguments);
    return PQntuples(result.get()) == 1 ? PQgetvalue(result.get(), 0, 0) : "null";
  }

  Result execute(const char* sql, const Arguments& arguments) {
    std::vector<const char*> values;
    for (const std::string& argument : arguments) values.push_back(argument.c_str());
    Result result(PQexecParams(connection_.get(), sql, static_cast<int>(values.size()), nullptr,
                               values.data(), nullptr, nullptr, 0),
                  PQclear);
    const char* const state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
    if (state != nullptr) sqlstate_ = state;
    return result;
  }

  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
  std::string sqlstate_;
};

std::optional<Request> read_request(Wire& wire) {
  const std::optional<std::string> head = wire.read_head();
  if (!head) return std::nullopt;
  Request request{testing::headers_in(*head), ""};
  const std::string length = request.header("Content-Length");
  if (!length.empty()) request.body = wire.read_exactly(std::stoul(length));
  return request;
}

void serve(Wire wire, const char* url) {
  Service service(url);
  while (const std::optional<Request> request = read_request(wire)) {
    Answer answer = service.pay(*request);
    const std::string then = answer.status == 201 ? request->header("X-Then") : "";
    if (then == "reset") {
      wire.reset();
      return;
    }
    if (!then.empty()) answer = {std::stoi(then), "not what is stored"};
    std::string bytes = "HTTP/1.1 " + std::to_string(answer.status);
    bytes.append(" Said\r\nContent-Type: application/json\r\nContent-Length: ");
    bytes.append(std::to_string(answer.body.size())).append("\r\n\r\n").append(answer.body);
    wire.send(bytes);
  }
}

// A process dies with whoever started it.
void die_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
}

int run(const char* url, std::uint16_t port) {
  const testing::Listening listening = testing::listen_on_loopback(port, 128);
  ::signal(SIGCHLD, SIG_IGN);  // nobody waits for them
  ::signal(SIGPIPE, SIG_IGN);
  const std::string ready = "listening " + std::to_string(listening.port) + " 0 0\n";
  if (::write(STDOUT_FILENO, ready.data(), ready.size()) < 0) return 1;
  for (;;) {
    const int accepted = ::accept4(listening.descriptor, nullptr, nullptr, SOCK_CLOEXEC);
    if (accepted < 0) continue;
    const pid_t parent = ::getpid();
    if (::fork() == 0) {
      die_with(parent);
      ::close(listening.descriptor);
      try {
        serve(Wire(accepted, std::nullopt), url);
      } catch (const testing::WireError&) {
        ::_exit(0);  // the gateway was killed
      }
      ::_exit(0);
    }
    ::close(accepted);
  }
}

}  // namespace
}  // namespace pawl::e2e

int main(int count, char** arguments) {
  if (count != 3) return 2;
  return pawl::e2e::run(arguments[1], static_cast<std::uint16_t>(std::stoi(arguments[2])));
}
