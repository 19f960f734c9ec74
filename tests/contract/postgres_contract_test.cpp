#include <libpq-fe.h>

#include <atomic>

#include "src/adapters/postgres/migrate.hpp"
#include "src/adapters/postgres/postgres_store.hpp"
#include "src/adapters/postgres/row.hpp"
#include "src/adapters/postgres/sql_session.hpp"
#include "src/adapters/sql/key_directory.hpp"
#include "src/node/run_here.hpp"
#include "tests/contract/sealed_harness.hpp"
#include "tests/contract/store_contract.hpp"
#include "tests/support/postgres_server.hpp"

namespace pawl {
namespace {

// One server for the whole program; no test here asks what survives a crash.
testing::PostgresServer& server() {
  static testing::PostgresServer instance({.fsync = false, .configuration = {}});
  return instance;
}

void create_migrated(const std::string& database) {
  server().create_database(database);
  const auto status = postgres::migrate(server().url(database));
  if (!status) throw std::runtime_error(status.error());
}

// Copying is faster than migrating, from the second database on.
void create_copy(const std::string& database) {
  static const std::string original = [] {
    create_migrated("contract_template");
    return std::string("contract_template");
  }();
  server().create_database(database, original);
}

// A database of its own per store.
class PostgresHarness final : public testing::StoreHarness {
 public:
  PostgresHarness() : PostgresHarness(++count) {}

  std::shared_ptr<Store> connect() override {
    auto store = postgres::PostgresStore::open(
        url(), {.allow_lossy_store = true, .operation_timeout = std::chrono::seconds(30)});
    if (!store) throw std::runtime_error(store.error());
    return std::move(*store);
  }

  std::optional<std::vector<AuditEntry>> audit(const Scope& scope, const Key& key) override {
    std::vector<AuditEntry> entries;
    each_row("SELECT actor, action, reason FROM pawl.audit", scope, key, [&](const Text& field) {
      entries.push_back({field(0), field(1), field(2)});
    });
    return entries;
  }

  std::optional<std::vector<LateEvidence>> evidence(const Scope& scope, const Key& key) override {
    std::vector<LateEvidence> kept;
    each_row(
        "SELECT fence, owner, fingerprint, attempt, evidence, detail, response_code,"
        " response_headers, encode(response_body, 'hex'), response_schema_version FROM "
        "pawl.evidence",
        scope, key, [&](const Text& field) {
          LateEvidence one{.scope = scope,
                           .key = key,
                           .fence = Fence{std::stoll(field(0))},
                           .owner = Owner{field(1)},
                           .fingerprint = Fingerprint{field(2)},
                           .attempt = std::stoi(field(3)),
                           .evidence = from_text<Evidence>(field(4)).value(),
                           .response = {},
                           .detail = field(5)};
          if (!field(6).empty()) {
            one.response = StoredResponse{.status = std::stoi(field(6)),
                                          .headers = postgres::decode_headers(field(7)).value(),
                                          .body = postgres::bytes_of("\\x" + field(8)),
                                          .schema_version = std::stoi(field(9))};
          }
          kept.push_back(std::move(one));
        });
    return kept;
  }

  bool purge(const Record& row) override {
    postgres::Options options;
    options.allow_lossy_store = true;
    const auto thread = std::make_shared<sql::SessionThread>(
        std::make_unique<postgres::SqlSession>(url(), options));
    sql::SqlKeyDirectory directory(thread);
    const AuditEntry entry{"operator", "purge", "a test"};
    const auto purged = run_here(directory.purge(row.scope, row.key, guard_of(row), entry));
    return purged && *purged;
  }

  bool spoil_records() override {
    server().query("UPDATE pawl.keys SET policy = '{\"v\":99}'", database_);
    return true;
  }

 private:
  explicit PostgresHarness(int number) : database_("contract_" + std::to_string(number)) {
    number == 1 ? create_migrated(database_) : create_copy(database_);
  }

  using Text = std::function<std::string(int)>;

  [[nodiscard]] std::string url() const { return server().url(database_); }

  void each_row(std::string select, const Scope& scope, const Key& key,
                const std::function<void(const Text&)>& visit) const {
    select += " WHERE scope_id = $1 AND idempotency_key = $2 ORDER BY recorded_at";
    const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectdb(url().c_str()),
                                                                  PQfinish);
    const std::array<const char*, 2> values{scope.text.c_str(), key.text.c_str()};
    const std::unique_ptr<PGresult, decltype(&PQclear)> rows(
        PQexecParams(connection.get(), select.c_str(), 2, nullptr, values.data(), nullptr, nullptr,
                     0),
        PQclear);
    if (PQresultStatus(rows.get()) != PGRES_TUPLES_OK) {
      throw std::runtime_error(PQerrorMessage(connection.get()));
    }
    for (int row = 0; row < PQntuples(rows.get()); ++row) {
      visit([&](int column) { return std::string(PQgetvalue(rows.get(), row, column)); });
    }
  }

  static inline std::atomic<int> count = 0;
  std::string database_;
};

std::unique_ptr<testing::StoreHarness> open_postgres() {
  return std::make_unique<PostgresHarness>();
}

INSTANTIATE_TEST_SUITE_P(Postgres, StoreContract,
                         ::testing::Values(testing::StoreUnderTest{"Postgres", open_postgres},
                                           testing::sealed("Postgres", open_postgres)),
                         store_name);

}  // namespace
}  // namespace pawl
