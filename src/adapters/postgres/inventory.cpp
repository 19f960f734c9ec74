#include "src/adapters/postgres/inventory.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "src/adapters/postgres/operator_session.hpp"
#include "src/adapters/postgres/without_password.hpp"

namespace pawl::postgres {
namespace {

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;
using Values = std::vector<const char*>;

Unexpected<std::string> trouble_of(const std::string& url, const OperatorSession& session) {
  return Unexpected{without_password(url, session.error())};
}

// The first column of the first row; nothing where there is no row.
Expected<std::optional<std::string>, std::string> ask(const std::string& url, const char* sql,
                                                      const Values& values) {
  OperatorSession session(url);
  if (!session.connected() || !session.begin()) return trouble_of(url, session);
  const Result result(PQexecParams(session.handle(), sql, static_cast<int>(values.size()), nullptr,
                                   values.data(), nullptr, nullptr, 0),
                      PQclear);
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) return trouble_of(url, session);
  if (!session.run("COMMIT")) return trouble_of(url, session);
  if (PQntuples(result.get()) == 0) return std::optional<std::string>();
  return std::optional<std::string>(PQgetvalue(result.get(), 0, 0));
}

Expected<std::int64_t, std::string> number(const std::string& url, const char* sql,
                                           const Values& values) {
  const auto found = ask(url, sql, values);
  if (!found) return Unexpected{found.error()};
  return *found ? std::stoll(**found) : 0;
}

}  // namespace

Expected<std::optional<std::string>, std::string> find_fact(const std::string& url,
                                                            const std::string& name) {
  return ask(url, "SELECT value FROM pawl.facts WHERE name = $1", {name.c_str()});
}

Expected<bool, std::string> replace_fact(const std::string& url, const std::string& name,
                                         const std::optional<std::string>& expected,
                                         const std::string& value) {
  const auto written = expected
                           ? ask(url,
                                 "UPDATE pawl.facts SET value = $2 WHERE name = $1 AND value = $3"
                                 " RETURNING value",
                                 {name.c_str(), value.c_str(), expected->c_str()})
                           : ask(url,
                                 "INSERT INTO pawl.facts (name, value) VALUES ($1, $2)"
                                 " ON CONFLICT (name) DO NOTHING RETURNING value",
                                 {name.c_str(), value.c_str()});
  if (!written) return Unexpected{written.error()};
  return written->has_value();
}

Expected<std::int64_t, std::string> seconds_now(const std::string& url) {
  return number(
      url, "SELECT pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp()))::bigint", {});
}

Expected<KeyCount, std::string> count_keys(const std::string& url, std::int64_t exact_max) {
  const std::string limit = std::to_string(exact_max + 1);
  const auto counted = number(
      url, "SELECT pg_catalog.count(*) FROM (SELECT 1 FROM pawl.keys LIMIT $1::bigint) AS few",
      {limit.c_str()});
  if (!counted) return Unexpected{counted.error()};
  if (*counted <= exact_max) return KeyCount{*counted, true};
  const auto guessed = number(url,
                              "SELECT greatest(reltuples, 0)::bigint FROM pg_catalog.pg_class"
                              " WHERE oid = 'pawl.keys'::pg_catalog.regclass",
                              {});
  if (!guessed) return Unexpected{guessed.error()};
  return KeyCount{std::max(*guessed, *counted), false};
}

Expected<Done, std::string> each_key(const std::string& url, const Visit& visit) {
  OperatorSession session(url);
  if (!session.connected() || !session.begin()) return trouble_of(url, session);
  PGconn* const connection = session.handle();
  if (PQsendQuery(connection, "SELECT scope_id, method, path FROM pawl.keys") != 1 ||
      PQsetSingleRowMode(connection) != 1) {
    return trouble_of(url, session);
  }
  for (;;) {
    const Result result(PQgetResult(connection), PQclear);
    if (!result || PQresultStatus(result.get()) == PGRES_TUPLES_OK) return Done{};
    if (PQresultStatus(result.get()) != PGRES_SINGLE_TUPLE) return trouble_of(url, session);
    const auto column = [&](int index) {
      return std::string_view(PQgetvalue(result.get(), 0, index),
                              static_cast<std::size_t>(PQgetlength(result.get(), 0, index)));
    };
    if (!visit(column(0), column(1), column(2))) return Done{};
  }
}

std::string trouble_in_url(const std::string& url) {
  char* complaint = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconninfoParse(url.c_str(), &complaint), PQconninfoFree);
  const std::unique_ptr<char, decltype(&PQfreemem)> freed(complaint, PQfreemem);
  if (options) return {};
  // The others quote what they could not read, which may be a password.
  const std::string text = complaint == nullptr ? "" : complaint;
  const bool names_option = text.starts_with("invalid connection option") ||
                            text.starts_with("invalid URI query parameter");
  if (names_option) return text.substr(0, text.find('\n'));
  return "PostgreSQL's library cannot read it; write \"postgres://USER@HOST/DATABASE\" with %XX "
         "for "
         "what means something in a URL, or key=value pairs (\"host=db dbname=pawl\")";
}

}  // namespace pawl::postgres
