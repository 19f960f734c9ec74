#include "src/adapters/postgres/facts.hpp"

#include <libpq-fe.h>

#include <array>
#include <memory>

namespace pawl::postgres {
namespace {

using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;
using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

Expected<std::string, std::string> run(const std::string& url, const char* sql,
                                       const std::string& name, const std::string& value) {
  const Connection connection(PQconnectdb(url.c_str()), PQfinish);
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    return Unexpected{std::string(PQerrorMessage(connection.get()))};
  }
  const std::array<const char*, 2> values{name.c_str(), value.c_str()};
  const Result result(
      PQexecParams(connection.get(), sql, 2, nullptr, values.data(), nullptr, nullptr, 0), PQclear);
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK || PQntuples(result.get()) != 1) {
    return Unexpected{std::string(PQerrorMessage(connection.get()))};
  }
  return std::string(PQgetvalue(result.get(), 0, 0));
}

}  // namespace

// An update that changes nothing: of several nodes that start at once, one records it and all of
// them read it.
Expected<std::string, std::string> recorded_fact(const std::string& url, const std::string& name,
                                                 const std::string& proposed) {
  return run(url,
             "INSERT INTO pawl.facts AS f (name, value) VALUES ($1, $2)"
             " ON CONFLICT (name) DO UPDATE SET value = f.value RETURNING value",
             name, proposed);
}

Expected<Done, std::string> record_fact(const std::string& url, const std::string& name,
                                        const std::string& value) {
  const Expected<std::string, std::string> written =
      run(url,
          "INSERT INTO pawl.facts (name, value) VALUES ($1, $2)"
          " ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING value",
          name, value);
  if (!written) return Unexpected{written.error()};
  return Done{};
}

}  // namespace pawl::postgres
