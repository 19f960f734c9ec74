#include "src/adapters/postgres/blocking.hpp"

#include <poll.h>

#include <cerrno>

#include "src/adapters/postgres/link.hpp"

namespace pawl::postgres {
namespace {

using Clock = std::chrono::steady_clock;

std::string first_line(std::string_view message) {
  return std::string(message.substr(0, message.find('\n')));
}

// False: not within `deadline`, or the connection is of no use.
bool wait_for(PGconn* connection, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd descriptor{PQsocket(connection), events, 0};
    const int ready = ::poll(&descriptor, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// Sends everything and waits for the answer to be there. False: not in time.
bool exchange(PGconn* connection, Clock::time_point deadline) {
  for (int unsent = PQflush(connection); unsent != 0; unsent = PQflush(connection)) {
    if (unsent < 0 || !wait_for(connection, POLLIN | POLLOUT, deadline)) return false;
    if (PQconsumeInput(connection) == 0) return false;
  }
  while (PQisBusy(connection) != 0) {
    if (!wait_for(connection, POLLIN, deadline) || PQconsumeInput(connection) == 0) return false;
  }
  return true;
}

}  // namespace

BlockingSession::BlockingSession(std::string url, Options options)
    : url_(std::move(url)), options_(options) {}

std::optional<std::string> BlockingSession::ready() {
  if (connection_) return std::nullopt;
  Expected<Established, std::string> established = establish(url_, options_);
  if (!established) return established.error();
  connection_ = std::move(established->connection);
  synchronous_commit_ = established->facts.synchronous_commit;
  if (PQsetnonblocking(connection_.get(), 1) == 0) return std::nullopt;
  return failed(first_line(PQerrorMessage(connection_.get()))).error();
}

BlockingSession::Answer BlockingSession::failed(std::string why) {
  connection_.reset();
  return Unexpected{std::move(why)};
}

BlockingSession::Answer BlockingSession::run(const char* sql, const Parameters& parameters) {
  if (std::optional<std::string> trouble = ready()) return failed(*trouble);
  std::vector<const char*> values;
  for (const auto& parameter : parameters) {
    values.push_back(parameter ? parameter->c_str() : nullptr);
  }
  const auto deadline = Clock::now() + options_.operation_timeout;
  PGconn* const connection = connection_.get();
  const int sent = PQsendQueryParams(connection, sql, static_cast<int>(values.size()), nullptr,
                                     values.data(), nullptr, nullptr, 0);
  std::unique_ptr<PGresult, decltype(&PQclear)> last(nullptr, PQclear);
  for (;;) {
    if (sent == 0 || !exchange(connection, deadline)) {
      const std::string said = first_line(PQerrorMessage(connection));
      return failed(said.empty() ? "the server did not answer in time" : said);
    }
    std::unique_ptr<PGresult, decltype(&PQclear)> next(PQgetResult(connection), PQclear);
    if (!next) break;
    last = std::move(next);
  }
  const ExecStatusType status = PQresultStatus(last.get());
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return TextRows(last.release());
  return failed(first_line(PQerrorMessage(connection)));
}

BlockingSession::Answer BlockingSession::begin() {
  Answer begun = run("BEGIN");
  if (!begun) return begun;
  return run("SELECT set_config('synchronous_commit', $1, true)", {synchronous_commit_});
}

}  // namespace pawl::postgres
