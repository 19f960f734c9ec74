// One connection for a thread that may wait, but never without an end: a statement has a deadline,
// and one that misses it costs the connection.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pawl/types/expected.hpp"
#include "src/adapters/postgres/reconnecting_connection.hpp"

namespace pawl::postgres {

// The rows of one statement, in text format. Columns are read by number.
class TextRows {
 public:
  explicit TextRows(PGresult* result) : result_(result, PQclear) {}

  [[nodiscard]] int count() const { return PQntuples(result_.get()); }
  [[nodiscard]] bool null(int row, int column) const {
    return PQgetisnull(result_.get(), row, column) != 0;
  }
  [[nodiscard]] std::string text(int row, int column) const {
    return {PQgetvalue(result_.get(), row, column),
            static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
  }
  [[nodiscard]] const PGresult* handle() const { return result_.get(); }

 private:
  std::unique_ptr<PGresult, decltype(&PQclear)> result_;
};

class BlockingSession {
 public:
  // Connects when it is needed.
  BlockingSession(std::string url, Options options);

  using Parameters = std::vector<std::optional<std::string>>;
  using Answer = Expected<TextRows, std::string>;

  // One statement by itself, or in the transaction that `begin` began. Any error ends the
  // connection, and with it any transaction. A commit that a failover may still lose is an error.
  Answer run(const char* sql, const Parameters& parameters = {});

  // A transaction that is durable when `commit` has returned; it works behind a pooler too.
  Answer begin();
  Answer commit() { return run("COMMIT"); }
  void roll_back() { static_cast<void>(run("ROLLBACK")); }

  void disconnect() { session_.reset(); }

 private:
  std::optional<std::string> ready();
  Answer send(const char* sql, const Parameters& parameters);
  Answer failed(std::string why);

  const std::string url_;
  const Options options_;
  std::optional<Established> session_;
};

}  // namespace pawl::postgres
