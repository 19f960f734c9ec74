#include "src/adapters/postgres/migrate.hpp"

#include "src/adapters/postgres/ask.hpp"
#include "src/adapters/postgres/grants.hpp"
#include "src/adapters/postgres/operator_session.hpp"
#include "src/adapters/postgres/options.hpp"

#include "src/adapters/postgres/connection_string.hpp"

namespace pawl::postgres {
namespace {

// An arbitrary number that only Pawl locks ("pawl" in ASCII).
constexpr const char* lock = "SELECT pg_catalog.pg_advisory_xact_lock(1885435756)";

// The schema may exist already, owned by a role that may create nothing else.
constexpr const char* foundation =
    "DO $$ BEGIN IF to_regnamespace('pawl') IS NULL THEN CREATE SCHEMA pawl; END IF; END $$;"
    "CREATE TABLE IF NOT EXISTS pawl.schema_migrations (version integer PRIMARY KEY,"
    " name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())";

struct Version {
  std::optional<int> number;  // 0: no schema at all; nothing: `trouble` says why
  std::string trouble;
};

Version version_of(PGconn* connection, Until until) {
  const auto failed = [&](const Result& result) {
    return Version{std::nullopt,
                   result ? refusal(connection, result.get()) : silence(connection, until)};
  };
  // In full: this is asked before the search_path is ours.
  const Result there =
      ask(connection, "SELECT pg_catalog.to_regclass('pawl.schema_migrations') IS NOT NULL", until);
  if (PQresultStatus(there.get()) != PGRES_TUPLES_OK) return failed(there);
  if (std::string_view(PQgetvalue(there.get(), 0, 0)) != "t") return {0, {}};
  const Result version = ask(
      connection, "SELECT coalesce(pg_catalog.max(version), 0) FROM pawl.schema_migrations", until);
  if (PQresultStatus(version.get()) != PGRES_TUPLES_OK) return failed(version);
  return {std::stoi(PQgetvalue(version.get(), 0, 0)), {}};
}

int newest() { return migrations().empty() ? 0 : migrations().back().version; }

std::string newer_than_us(int version) {
  return "the schema pawl has version " + std::to_string(version) +
         ", this program knows versions up to " + std::to_string(newest()) + ": use a newer pawl";
}

// One migration, in the transaction that holds the lock. False in `applied`: another node did it.
bool apply(OperatorSession& session, const Migration& migration, bool& applied) {
  if (!session.begin() || !session.run(lock)) return false;
  const std::optional<int> version = version_of(session.handle(), Until::max()).number;
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
  OperatorSession session(url);
  if (!session.connected()) return Unexpected{without_password(url, session.error())};
  const auto [before, trouble] = version_of(session.handle(), Until::max());
  if (!before) return Unexpected{trouble};
  if (*before > newest()) return Unexpected{newer_than_us(*before)};
  MigrationStatus status{.version_before = *before, .version_now = *before, .pending = {}};
  for (const Migration& migration : migrations()) {
    if (migration.version > *before) status.pending.emplace_back(migration.name);
  }
  if (options.dry_run || status.pending.empty()) return status;
  const bool founded =
      session.begin() && session.run(lock) && session.run(foundation) && session.run("COMMIT");
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

std::optional<std::string> schema_trouble(PGconn* connection, Until until) {
  const auto [version, trouble] = version_of(connection, until);
  if (!version) return "cannot read the schema's version: " + trouble;
  if (*version == 0) {
    return "the database has no schema pawl yet: run `pawl migrate --store URL` first";
  }
  if (*version < newest()) {
    return "the schema pawl has version " + std::to_string(*version) + ", version " +
           std::to_string(newest()) + " is needed: run `pawl migrate --store URL` first";
  }
  if (*version > newest()) return newer_than_us(*version);
  return missing_grants(connection, until);
}

}  // namespace pawl::postgres
