#include "src/adapters/postgres/migrate.hpp"

#include <array>
#include <memory>

namespace pawl::postgres {
namespace {

using Owned = std::unique_ptr<PGconn, decltype(&PQfinish)>;
using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

// An arbitrary number that only Pawl locks ("pawl" in ASCII).
constexpr const char* lock = "SELECT pg_advisory_xact_lock(1885435756)";

// The schema may exist already, owned by a role that may create nothing else.
constexpr const char* foundation =
    "DO $$ BEGIN IF to_regnamespace('pawl') IS NULL THEN CREATE SCHEMA pawl; END IF; END $$;"
    "CREATE TABLE IF NOT EXISTS pawl.schema_migrations (version integer PRIMARY KEY,"
    " name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())";

class Session {
 public:
  explicit Session(const std::string& url) : connection_(nullptr, PQfinish) {
    const std::array<const char*, 4> names{"fallback_application_name", "dbname", "client_encoding",
                                           nullptr};
    const std::array<const char*, 4> values{"pawl migrate", url.c_str(), "UTF8", nullptr};
    connection_.reset(PQconnectdbParams(names.data(), values.data(), 1));
    PQsetNoticeReceiver(
        connection_.get(), [](void*, const PGresult*) {}, nullptr);
  }
  [[nodiscard]] bool connected() const { return PQstatus(connection_.get()) == CONNECTION_OK; }
  bool run(const std::string& sql) {
    const Result result(PQexec(connection_.get(), sql.c_str()), PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
  }
  [[nodiscard]] std::string error() const { return PQerrorMessage(connection_.get()); }
  [[nodiscard]] PGconn* handle() const { return connection_.get(); }

 private:
  Owned connection_;
};

// 0 where there is no schema; nothing where that cannot be found out.
std::optional<int> version_of(PGconn* connection) {
  const Result there(PQexec(connection, "SELECT to_regclass('pawl.schema_migrations') IS NOT NULL"),
                     PQclear);
  if (PQresultStatus(there.get()) != PGRES_TUPLES_OK) return std::nullopt;
  if (std::string_view(PQgetvalue(there.get(), 0, 0)) != "t") return 0;
  const Result version(
      PQexec(connection, "SELECT coalesce(max(version), 0) FROM pawl.schema_migrations"), PQclear);
  if (PQresultStatus(version.get()) != PGRES_TUPLES_OK) return std::nullopt;
  return std::stoi(PQgetvalue(version.get(), 0, 0));
}

int newest() { return migrations().empty() ? 0 : migrations().back().version; }

std::string newer_than_us(int version) {
  return "the schema pawl has version " + std::to_string(version) +
         ", this program knows versions up to " + std::to_string(newest()) + ": use a newer pawl";
}

// One migration, in the transaction that holds the lock. False in `applied`: another node did it.
bool apply(Session& session, const Migration& migration, bool& applied) {
  if (!session.run("BEGIN") || !session.run(lock)) return false;
  const std::optional<int> version = version_of(session.handle());
  if (!version) return false;
  applied = *version < migration.version;
  if (!applied) return session.run("ROLLBACK");
  return session.run(std::string(migration.sql)) &&
         session.run("INSERT INTO pawl.schema_migrations (version, name) VALUES (" +
                     std::to_string(migration.version) + ", '" + std::string(migration.name) +
                     "')") &&
         session.run("COMMIT");
}

}  // namespace

Expected<MigrationStatus, std::string> migrate(const std::string& url,
                                               const MigrateOptions& options) {
  Session session(url);
  if (!session.connected()) return Unexpected{session.error()};
  const std::optional<int> before = version_of(session.handle());
  if (!before) return Unexpected{session.error()};
  if (*before > newest()) return Unexpected{newer_than_us(*before)};
  MigrationStatus status{.version_before = *before, .version_now = *before, .pending = {}};
  for (const Migration& migration : migrations()) {
    if (migration.version > *before) status.pending.emplace_back(migration.name);
  }
  if (options.dry_run || status.pending.empty()) return status;
  const bool founded =
      session.run("BEGIN") && session.run(lock) && session.run(foundation) && session.run("COMMIT");
  if (!founded) return Unexpected{session.error()};
  status.pending.clear();
  for (const Migration& migration : migrations()) {
    bool applied = false;
    if (!apply(session, migration, applied)) {
      return Unexpected{std::string(migration.name) + ": " + session.error()};
    }
    if (applied) status.pending.emplace_back(migration.name);
  }
  status.version_now = newest();
  return status;
}

std::optional<std::string> schema_trouble(PGconn* connection) {
  const std::optional<int> version = version_of(connection);
  if (!version)
    return "cannot read the schema's version: " + std::string(PQerrorMessage(connection));
  if (*version == 0) {
    return "the database has no schema pawl yet: run `pawl migrate --store URL` first";
  }
  if (*version < newest()) {
    return "the schema pawl has version " + std::to_string(*version) + ", version " +
           std::to_string(newest()) + " is needed: run `pawl migrate --store URL` first";
  }
  if (*version > newest()) return newer_than_us(*version);
  return std::nullopt;
}

}  // namespace pawl::postgres
