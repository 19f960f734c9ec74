#include <stdlib.h>

#include <filesystem>

#include "src/adapters/sql/key_directory.hpp"
#include "src/adapters/sqlite/codec.hpp"
#include "src/adapters/sqlite/connection.hpp"
#include "src/adapters/sqlite/sql_session.hpp"
#include "src/adapters/sqlite/sqlite_store.hpp"
#include "src/node/run_here.hpp"
#include "tests/contract/sealed_harness.hpp"
#include "tests/contract/store_contract.hpp"

namespace pawl {
namespace {

// A directory of its own per store. Every connection opens the file anew, as another process would.
class SqliteHarness final : public testing::StoreHarness {
 public:
  SqliteHarness() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "pawl-contract-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    directory_ = pattern;
  }
  ~SqliteHarness() override { std::filesystem::remove_all(directory_); }

  std::shared_ptr<Store> connect() override {
    Expected<std::unique_ptr<sqlite::SqliteStore>, std::string> store =
        sqlite::SqliteStore::open(path());
    if (!store) throw std::runtime_error(store.error());
    return std::move(*store);
  }

  std::optional<std::vector<AuditEntry>> audit(const Scope& scope, const Key& key) override {
    std::vector<AuditEntry> entries;
    each_row("SELECT actor, action, reason FROM audit", scope, key, [&](sqlite3_stmt* row) {
      entries.push_back({text(row, 0), text(row, 1), text(row, 2)});
    });
    return entries;
  }

  std::optional<std::vector<LateEvidence>> evidence(const Scope& scope, const Key& key) override {
    std::vector<LateEvidence> kept;
    each_row(
        "SELECT fence, owner, fingerprint, attempt, evidence, response_code, response_headers, "
        "response_body, response_schema_version, detail FROM evidence",
        scope, key, [&](sqlite3_stmt* row) {
          LateEvidence one{.scope = scope,
                           .key = key,
                           .fence = Fence{sqlite3_column_int64(row, 0)},
                           .owner = Owner{text(row, 1)},
                           .fingerprint = Fingerprint{text(row, 2)},
                           .attempt = sqlite3_column_int(row, 3),
                           .evidence = from_text<Evidence>(text(row, 4)).value(),
                           .response = {},
                           .detail = text(row, 9)};
          if (sqlite3_column_type(row, 5) != SQLITE_NULL) {
            one.response = StoredResponse{.status = sqlite3_column_int(row, 5),
                                          .headers = sqlite::decode_headers(text(row, 6)).value(),
                                          .body = {},
                                          .schema_version = sqlite3_column_int(row, 8)};
            if (sqlite3_column_type(row, 7) != SQLITE_NULL) one.response->body = text(row, 7);
          }
          kept.push_back(std::move(one));
        });
    return kept;
  }

  bool purge(const Record& row) override {
    const auto thread =
        std::make_shared<sql::SessionThread>(std::make_unique<sqlite::SqlSession>(path()));
    sql::SqlKeyDirectory directory(thread);
    const AuditEntry entry{"operator", "purge", "a test"};
    const auto purged = run_here(directory.purge(row.scope, row.key, guard_of(row), entry));
    return purged && *purged;
  }

  bool spoil_records() override {
    auto connection = sqlite::Connection::open(path(), sqlite::WhenMissing::fail, {});
    if (!connection) throw std::runtime_error(connection.error().text);
    auto statement =
        sqlite::Statement::prepare(connection->handle(), "UPDATE keys SET policy = '{\"v\":99}'");
    return statement && statement->step() == SQLITE_DONE;
  }

 private:
  static std::string text(sqlite3_stmt* row, int column) {
    const void* bytes = sqlite3_column_blob(row, column);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(row, column));
    return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
  }

  template <class Visit>
  void each_row(const std::string& select, const Scope& scope, const Key& key, Visit visit) {
    auto connection = sqlite::Connection::open(path(), sqlite::WhenMissing::fail, {});
    if (!connection) throw std::runtime_error(connection.error().text);
    const std::string sql = select + " WHERE scope_id = ?1 AND idempotency_key = ?2 ORDER BY id";
    auto statement = sqlite::Statement::prepare(connection->handle(), sql.c_str());
    if (!statement) throw std::runtime_error(connection->last_error().text);
    statement->bind_text(1, scope.text);
    statement->bind_text(2, key.text);
    while (statement->step() == SQLITE_ROW) visit(statement->handle());
  }

  [[nodiscard]] std::string path() const { return (directory_ / "pawl.db").string(); }

  std::filesystem::path directory_;
};

std::unique_ptr<testing::StoreHarness> open_sqlite() { return std::make_unique<SqliteHarness>(); }

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract,
                         ::testing::Values(testing::StoreUnderTest{"Sqlite", open_sqlite},
                                           testing::sealed("Sqlite", open_sqlite)),
                         store_name);

}  // namespace
}  // namespace pawl
