#include "src/adapters/postgres/ask.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace pawl::postgres {
namespace {

// False: not by then, or the connection is of no use.
bool wait_for(PGconn* connection, short events, Until until) {
  for (;;) {
    const auto left = until - std::chrono::steady_clock::now();
    if (left <= left.zero()) return false;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(
        std::min<decltype(left)>(left, std::chrono::minutes(1)));
    pollfd descriptor{PQsocket(connection), events, 0};
    const int ready = ::poll(&descriptor, 1, static_cast<int>(wait.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// Sends everything and waits for a result to be there.
bool exchange(PGconn* connection, Until until) {
  for (int unsent = PQflush(connection); unsent != 0; unsent = PQflush(connection)) {
    // Both ways: a server whose answers nobody takes stops reading.
    if (unsent < 0 || !wait_for(connection, POLLIN | POLLOUT, until)) return false;
    if (PQconsumeInput(connection) == 0) return false;
  }
  while (PQisBusy(connection) != 0) {
    if (!wait_for(connection, POLLIN, until) || PQconsumeInput(connection) == 0) return false;
  }
  return true;
}

bool is_copy(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

// The connection may be a caller's, who expects it to be as libpq made it.
class Nonblocking {
 public:
  explicit Nonblocking(PGconn* connection)
      : connection_(connection), before_(PQisnonblocking(connection)) {
    PQsetnonblocking(connection_, 1);
  }
  ~Nonblocking() {
    if (before_ == 0 && PQstatus(connection_) == CONNECTION_OK) PQsetnonblocking(connection_, 0);
  }
  Nonblocking(const Nonblocking&) = delete;
  Nonblocking& operator=(const Nonblocking&) = delete;

 private:
  PGconn* connection_;
  int before_;
};

// Nothing that waits on it waits any longer, its end included.
Result gone(PGconn* connection) {
  if (PQsocket(connection) >= 0) ::shutdown(PQsocket(connection), SHUT_RDWR);
  PQconsumeInput(connection);
  return {nullptr, PQclear};
}

// As PQexec does: what an earlier statement left unread is nobody's.
bool discard(PGconn* connection, Until until) {
  while (PQtransactionStatus(connection) == PQTRANS_ACTIVE) {
    if (!exchange(connection, until)) return false;
    const Result left(PQgetResult(connection), PQclear);
    if (left && is_copy(left.get())) return false;
    if (!left) return PQtransactionStatus(connection) != PQTRANS_ACTIVE;
  }
  return true;
}

Result results(PGconn* connection, int sent, Until until) {
  if (sent == 0) return gone(connection);
  Result last(nullptr, PQclear);
  for (;;) {
    if (!exchange(connection, until)) return gone(connection);
    Result next(PQgetResult(connection), PQclear);
    if (!next) break;
    last = std::move(next);
    if (is_copy(last.get())) break;
  }
  if (PQstatus(connection) != CONNECTION_OK) return gone(connection);
  return last;
}

// Parsed once, as the statement without a name: nothing stays behind in the server's session.
bool send_each(PGconn* connection, const char* sql, const std::vector<TextValues>& each) {
  if (PQenterPipelineMode(connection) != 1) return false;
  if (PQsendPrepare(connection, "", sql, 0, nullptr) != 1) return false;
  for (const TextValues& values : each) {
    const int count = static_cast<int>(values.size());
    if (PQsendQueryPrepared(connection, "", count, values.data(), nullptr, nullptr, 0) != 1) {
      return false;
    }
  }
  return PQpipelineSync(connection) == 1;
}

// The result of the next statement, and the end of its results.
Result next_result(PGconn* connection, Until until) {
  if (!exchange(connection, until)) return {nullptr, PQclear};
  Result result(PQgetResult(connection), PQclear);
  if (!result || PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC) return result;
  if (!exchange(connection, until)) return {nullptr, PQclear};
  const Result end(PQgetResult(connection), PQclear);
  return end ? Result(nullptr, PQclear) : std::move(result);
}

bool has_failed(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK;
}

std::optional<std::vector<Result>> results_of_each(PGconn* connection, Until until) {
  std::vector<Result> all;
  bool prepared = false;
  bool failed = false;
  for (;;) {
    Result next = next_result(connection, until);
    if (!next) return std::nullopt;
    if (PQresultStatus(next.get()) == PGRES_PIPELINE_SYNC) break;
    // After the first that failed the others are only named.
    const bool wanted = !failed && (prepared || has_failed(next.get()));
    prepared = true;
    failed = failed || has_failed(next.get());
    if (wanted) all.push_back(std::move(next));
  }
  if (PQexitPipelineMode(connection) != 1 || PQstatus(connection) != CONNECTION_OK) {
    return std::nullopt;
  }
  return all;
}

}  // namespace

std::optional<std::vector<Result>> ask_each(PGconn* connection, const char* sql,
                                            const std::vector<TextValues>& each, Until until) {
  const Nonblocking mode(connection);
  std::optional<std::vector<Result>> all;
  if (discard(connection, until) && send_each(connection, sql, each)) {
    all = results_of_each(connection, until);
  }
  if (!all) static_cast<void>(gone(connection));
  return all;
}

Result ask(PGconn* connection, const char* sql, Until until) {
  const Nonblocking mode(connection);
  if (!discard(connection, until)) return gone(connection);
  return results(connection, PQsendQuery(connection, sql), until);
}

Result ask(PGconn* connection, const char* sql, const Values& values, Until until) {
  const Nonblocking mode(connection);
  if (!discard(connection, until)) return gone(connection);
  const int sent = PQsendQueryParams(connection, sql, values.count, values.types, values.values,
                                     values.lengths, values.formats, values.result_format);
  return results(connection, sent, until);
}

std::string first_line(std::string_view message) {
  return std::string(message.substr(0, message.find('\n')));
}

std::string silence(const PGconn* connection, Until until) {
  if (std::chrono::steady_clock::now() >= until) return "the server did not answer in time";
  const std::string said = first_line(PQerrorMessage(connection));
  return said.empty() ? "the connection cannot be used any more" : said;
}

std::string refusal(const PGconn* connection, const PGresult* error) {
  std::string said = first_line(PQresultErrorMessage(error));
  if (said.empty()) said = first_line(PQerrorMessage(connection));
  const char* sqlstate = PQresultErrorField(error, PG_DIAG_SQLSTATE);
  const bool no_grant = sqlstate != nullptr && std::string_view(sqlstate) == "42501";
  if (!no_grant) return said;
  const char* role = PQuser(connection);
  return said + ": run `pawl migrate --store URL --grants gateway=" + (role ? role : "ROLE") +
         " --apply` as the schema's owner";
}

}  // namespace pawl::postgres
