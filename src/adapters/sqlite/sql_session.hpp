// A SQLite store's connection for everything but its records: cases, the outbox, observations,
// upkeep.
//
// Every transaction waits for the disk, those that need not too: what is durable is then never a
// question of who shares the connection.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "src/adapters/sqlite/database.hpp"
#include "src/adapters/sqlite/dialect.hpp"

namespace pawl::sqlite {

class SqlSession final : public DialectSession {
 public:
  // The file is opened when it is needed. It must be a store of this program's schema version by
  // then, and stay the same file.
  explicit SqlSession(std::string path, Options options = {});
  ~SqlSession() override;

  sql::Result<sql::Rows> run(const std::string& sql, const sql::Parameters& parameters) override;
  sql::Result<std::vector<sql::Rows>> run_each(const std::string& sql,
                                               const std::vector<sql::Parameters>& each) override;
  sql::Result<Done> begin(sql::Durability durability, sql::LockWait wait) override;
  // What can be read was on the disk before.
  sql::Result<Done> confirm_reads() override { return Done{}; }
  sql::Result<Done> commit() override;
  void roll_back() override;
  void disconnect() override { opened_.reset(); }

 private:
  using Rows = sql::Rows;

  // Opens the file if it is not open, and sees to it that it is still the one that is.
  std::optional<std::string> ready();
  std::optional<std::string> open();
  // Nothing if the schema is still the one this program knows.
  std::optional<std::string> schema_changed();
  sql::Result<std::vector<Rows>> execute(const std::string& sql,
                                         const std::vector<sql::Parameters>& each);
  // Leaves any transaction, and the connection too where the error may have to do with it.
  Unexpected<sql::Error> failed(StoreError kind, int code);
  Unexpected<sql::Error> failed_before_commit();

  const std::string path_;
  const Options options_;
  std::optional<Database> database_;
  std::optional<Opened> opened_;
};

}  // namespace pawl::sqlite
