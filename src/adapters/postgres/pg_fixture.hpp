// For the *_pgtest.cpp of this folder: a server, databases, and plain SQL beside the store.
#pragma once

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "src/adapters/postgres/migrate.hpp"
#include "src/adapters/postgres/postgres_store.hpp"
#include "testing/builders.hpp"
#include "testing/run.hpp"
#include "tests/support/postgres_server.hpp"

namespace pawl::postgres {

// Shared by all tests of a program that do not stop it. Not durable: none of them asks for that.
inline testing::PostgresServer& shared_server() {
  static testing::PostgresServer server({.fsync = false, .configuration = {}});
  return server;
}

inline std::string new_database(testing::PostgresServer& server) {
  static std::atomic<int> count = 0;
  const std::string name = "test_" + std::to_string(++count);
  server.create_database(name);
  return name;
}

inline std::string migrated_url(testing::PostgresServer& server) {
  const std::string url = server.url(new_database(server));
  const auto status = migrate(url);
  if (!status) throw std::runtime_error(status.error());
  return url;
}

// Patient: a test must not fail because the machine is busy.
inline Options patient() {
  Options options;
  options.allow_lossy_store = true;
  options.operation_timeout = std::chrono::seconds(30);
  options.pass_timeout = std::chrono::minutes(5);
  return options;
}

inline std::unique_ptr<PostgresStore> open_store(const std::string& url,
                                                 const Options& options = patient()) {
  auto store = PostgresStore::open(url, options);
  if (!store) throw std::runtime_error(store.error());
  return std::move(*store);
}

// A plain session, as psql would have it.
class Sql {
 public:
  explicit Sql(const std::string& url) : connection_(PQconnectdb(url.c_str()), PQfinish) {}

  // All rows as text, columns divided by '|', rows by newlines. Throws on an error.
  std::string operator()(const std::string& statement) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexec(connection_.get(), statement.c_str()), PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      throw std::runtime_error(statement + ": " + PQerrorMessage(connection_.get()));
    }
    std::string text;
    for (int row = 0; row < PQntuples(result.get()); ++row) {
      if (row > 0) text += '\n';
      for (int column = 0; column < PQnfields(result.get()); ++column) {
        if (column > 0) text += '|';
        text += PQgetvalue(result.get(), row, column);
      }
    }
    return text;
  }

 private:
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

// For what another process does in its own time.
inline void wait_until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("waited too long");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

inline Instant wall_clock() {
  return std::chrono::floor<Duration>(std::chrono::system_clock::now());
}

inline Record held(const std::string& key, const std::string& owner = "owner-1") {
  return testing::an_in_progress_record(key, owner, wall_clock());
}

inline Record completed(const Record& record) {
  return testing::in_state(record, Status::completed, wall_clock());
}

}  // namespace pawl::postgres
