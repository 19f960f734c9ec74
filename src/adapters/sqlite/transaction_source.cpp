#include "src/adapters/sqlite/transaction_source.hpp"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "src/adapters/sqlite/migrations.hpp"
#include "src/adapters/sqlite/phase_transaction.hpp"
#include "src/adapters/sqlite/statements.hpp"

namespace pawl::sqlite {
namespace {

constexpr std::size_t cache_bytes = std::size_t{16} << 20;

class SqliteTransactions final : public TransactionSource {
 public:
  explicit SqliteTransactions(Database database) : database_(std::move(database)) {}

  std::unique_ptr<PhaseTransaction> begin() override;
  [[nodiscard]] bool may_pass(const DatabaseError& failure) const override;

 private:
  // A connection on which a transaction was begun.
  [[nodiscard]] std::unique_ptr<Opened> begun(std::unique_ptr<Opened> kept) const;

  const Database database_;
  const Options options_;
  // SQLite has one writer at a time; waiting for each other here costs less than its busy handler.
  TransactionPool pool_{1, connection_wait_max};
};

std::unique_ptr<Opened> SqliteTransactions::begun(std::unique_ptr<Opened> kept) const {
  if (const auto changed = kept ? kept->changed() : std::nullopt) {
    throw DatabaseError("SQLITE_CANTOPEN", *changed);
  }
  if (!kept) {
    Expected<Opened, std::string> opened = connect(database_, options_, cache_bytes);
    if (!opened) throw DatabaseError("SQLITE_CANTOPEN", opened.error());
    kept = std::make_unique<Opened>(std::move(*opened));
    throw_unless_ok(kept->connection, kept->connection.run("PRAGMA foreign_keys = ON"));
  }
  throw_unless_ok(kept->connection, kept->connection.run(query::begin));
  // A newer program may have migrated the file since it was opened.
  const auto version = kept->connection.number(query::schema_version);
  if (version != static_cast<std::int64_t>(migrations().size())) {
    throw DatabaseError("SQLITE_SCHEMA", "\"" + database_.path +
                                             "\" was migrated to another schema version while this "
                                             "program was running: restart it with that version");
  }
  return kept;
}

std::unique_ptr<PhaseTransaction> SqliteTransactions::begin() {
  pawl::sql::OpenHere here(this);
  std::optional<std::unique_ptr<Opened>> kept = pool_.take();
  if (!kept) {
    throw DatabaseError("SQLITE_BUSY",
                        "another phase of this process has had its transaction open "
                        "for 30s: SQLite has one writer at a time");
  }
  try {
    std::unique_ptr<Opened> opened = begun(std::move(*kept));
    return std::make_unique<SqlitePhaseTransaction>(pool_, std::move(opened), std::move(here));
  } catch (...) {
    pool_.give(nullptr);
    throw;
  }
}

bool SqliteTransactions::may_pass(const DatabaseError& failure) const {
  const std::string_view code = failure.code();
  constexpr std::string_view prefix = "SQLITE_";
  if (!code.starts_with(prefix)) return true;
  int number = 0;
  const std::string_view digits = code.substr(prefix.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  switch (primary_code(number)) {  // none (a name instead): it may pass
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE: return false;
    default: return true;
  }
}

}  // namespace

Expected<std::unique_ptr<TransactionSource>, std::string> open_transactions(const std::string& path,
                                                                            WhenOld when_old) {
  Expected<Database, std::string> database = prepare_database(path, Options{}, when_old);
  if (!database) return Unexpected{database.error()};
  return std::unique_ptr<TransactionSource>(
      std::make_unique<SqliteTransactions>(std::move(*database)));
}

}  // namespace pawl::sqlite
