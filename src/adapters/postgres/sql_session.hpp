// A PostgreSQL store's connection for everything but its records: cases, the outbox, observations,
// upkeep. For a thread that may wait, but never without an end: a statement has a deadline, and one
// that misses it costs the connection. So does any error, and with it any transaction.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/adapters/postgres/ask.hpp"
#include "src/adapters/postgres/dialect.hpp"
#include "src/adapters/postgres/reconnecting_connection.hpp"

namespace pawl::postgres {

class SqlSession final : public DialectSession {
 public:
  // Connects when it is needed, to a server that `establish` accepts. The first time it sees to it
  // that the schema is the one this program knows.
  explicit SqlSession(std::string url, Options options = {});

  using Rows = sql::Rows;
  using Parameters = sql::Parameters;

  // A commit that a failover may still lose is an error, and in doubt. Works behind a pooler too.
  sql::Result<Rows> run(const std::string& sql, const Parameters& parameters) override;
  sql::Result<std::vector<Rows>> run_each(const std::string& sql,
                                          const std::vector<Parameters>& each) override;
  sql::Result<Done> begin(sql::Durability durability) override;
  sql::Result<Done> commit() override;
  void roll_back() override;
  void disconnect() override { session_.reset(); }

 private:
  std::optional<std::string> ready();
  [[nodiscard]] bool in_transaction() const;
  // What a lost answer leaves open: whether it was committed.
  enum class Commits { no, yes };
  sql::Result<Result> send(const char* sql, const Parameters& parameters, Commits commits);
  sql::Result<std::vector<Rows>> send_each(const std::string& sql,
                                           const std::vector<Parameters>& each, Commits commits);
  // Gives the connection up.
  Unexpected<sql::Error> failed(StoreError kind, std::string why);
  Unexpected<sql::Error> unanswered(Until until, Commits commits);
  Unexpected<sql::Error> refused(const PGresult* error, Commits commits);

  const std::string url_;
  const Options options_;
  std::optional<Established> session_;
  bool schema_known_ = false;
};

}  // namespace pawl::postgres
