#include "src/adapters/postgres/operator_session.hpp"

#include <array>

#include "src/adapters/postgres/ask.hpp"
#include "src/adapters/postgres/options.hpp"

namespace pawl::postgres {

OperatorSession::OperatorSession(const std::string& url) : connection_(nullptr, PQfinish) {
  const std::array<const char*, 4> names{"fallback_application_name", "dbname", "client_encoding",
                                         nullptr};
  const std::array<const char*, 4> values{"pawl migrate", url.c_str(), "UTF8", nullptr};
  connection_.reset(PQconnectdbParams(names.data(), values.data(), 1));
  PQsetNoticeReceiver(
      connection_.get(), [](void*, const PGresult*) {}, nullptr);
}

bool OperatorSession::begin() {
  return run("BEGIN") && run("SET LOCAL search_path = " + std::string(search_path)) &&
         run("SELECT set_config('synchronous_commit', 'on', true)"
             " WHERE current_setting('synchronous_commit') IN ('off', 'local')");
}

bool OperatorSession::run(const std::string& sql) {
  const Result result(PQexec(connection_.get(), sql.c_str()), PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

std::optional<std::vector<std::string>> OperatorSession::list(const std::string& sql) {
  const Result result(PQexec(connection_.get(), sql.c_str()), PQclear);
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) return std::nullopt;
  std::vector<std::string> values;
  for (int row = 0; row < PQntuples(result.get()); ++row) {
    values.emplace_back(PQgetvalue(result.get(), row, 0));
  }
  return values;
}

std::string OperatorSession::error() const { return PQerrorMessage(connection_.get()); }

}  // namespace pawl::postgres
