#include "src/adapters/postgres/blocking.hpp"

#include "src/adapters/postgres/ask.hpp"
#include "src/adapters/postgres/doubts.hpp"

namespace pawl::postgres {
namespace {

constexpr const char* settings =
    "SELECT pg_catalog.set_config('synchronous_commit', $1, true),"
    " pg_catalog.set_config('search_path', $2, true)";

}  // namespace

BlockingSession::BlockingSession(std::string url, Options options)
    : url_(std::move(url)), options_(options) {}

std::optional<std::string> BlockingSession::ready() {
  if (session_) return std::nullopt;
  Expected<Established, std::string> established = establish(url_, options_);
  if (!established) return established.error();
  session_ = std::move(*established);
  return std::nullopt;
}

BlockingSession::Answer BlockingSession::failed(std::string why) {
  session_.reset();
  return Unexpected{std::move(why)};
}

BlockingSession::Answer BlockingSession::send(const char* sql, const Parameters& parameters) {
  std::vector<const char*> values;
  for (const auto& parameter : parameters) {
    values.push_back(parameter ? parameter->c_str() : nullptr);
  }
  const Until until = std::chrono::steady_clock::now() + options_.operation_timeout;
  PGconn* const connection = session_->connection.get();
  session_->notices->wait_cancelled = false;
  const Values given{.count = static_cast<int>(values.size()), .values = values.data()};
  Result result = ask(connection, sql, given, until);
  if (!result) {
    ++doubts();
    return failed(silence(connection, until));
  }
  if (session_->notices->wait_cancelled) {
    ++doubts();
    return failed(wait_cancelled_text);
  }
  const ExecStatusType status = PQresultStatus(result.get());
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return TextRows(result.release());
  return failed(refusal(connection, result.get()));
}

// Behind a pooler a statement by itself could meet any session, with any search_path: it gets a
// transaction that says which.
BlockingSession::Answer BlockingSession::run(const char* sql, const Parameters& parameters) {
  if (std::optional<std::string> trouble = ready()) return failed(*trouble);
  const bool alone = PQtransactionStatus(session_->connection.get()) == PQTRANS_IDLE;
  if (!alone || session_->facts.direct) return send(sql, parameters);
  if (Answer begun = begin(); !begun) return begun;
  Answer answer = send(sql, parameters);
  if (!answer) return answer;
  if (Answer committed = send("COMMIT", {}); !committed) return committed;
  return answer;
}

BlockingSession::Answer BlockingSession::begin() {
  if (std::optional<std::string> trouble = ready()) return failed(*trouble);
  Answer begun = send("BEGIN", {});
  if (!begun) return begun;
  return send(settings, {session_->facts.synchronous_commit, search_path});
}

}  // namespace pawl::postgres
