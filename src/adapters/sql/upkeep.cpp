#include "src/adapters/sql/upkeep.hpp"

#include "src/core/sha256.hpp"

namespace pawl::cases {
namespace {

std::string micros(Instant at) { return std::to_string(at.time_since_epoch().count()); }

std::string text_at(const Sql::Row& row, std::size_t column) { return row.at(column).value_or(""); }

std::int64_t number_at(const Sql::Row& row, std::size_t column) {
  const std::string digits = text_at(row, column);
  return digits.empty() ? 0 : std::stoll(digits);
}

// Whose record is neither finished nor gone: then everything about it is still needed.
std::string no_open_record(const std::string& row) {
  return " AND NOT EXISTS (SELECT 1 FROM pawl.keys k WHERE k.scope_id = " + row +
         ".scope_id AND k.idempotency_key = " + row +
         ".idempotency_key AND k.status IN ('unknown', 'in_progress'))";
}

// A page of rows, the oldest first. The condition stands twice: a row may have changed while its
// lock was waited for.
std::string delete_page(const std::string& table, const std::string& id, const std::string& time,
                        const std::string& condition, const std::string& but) {
  return "DELETE FROM pawl." + table + " WHERE (" + id + ") IN (SELECT " + id + " FROM pawl." +
         table + " t WHERE " + condition + but + " ORDER BY " + time + " LIMIT 500) AND " +
         condition + " RETURNING 1";
}

}  // namespace

std::string raise_purge_epoch(const Sql& sql) {
  // Never a number that was used before, also in a store that was put back from a backup.
  return "UPDATE pawl.meta SET value = CAST(CASE WHEN CAST(value AS bigint) < " + sql.now() +
         " THEN " + sql.now() +
         " ELSE CAST(value AS bigint) + 1 END AS text) WHERE name = 'purge_epoch'";
}

Upkeep::Result<std::size_t> SqlUpkeep::reap(const TrailBefore& before) {
  const std::string then = sql_->instant("$1");
  const std::string no_record =
      " AND NOT EXISTS (SELECT 1 FROM pawl.keys k WHERE k.scope_id = t.scope_id"
      " AND k.idempotency_key = t.idempotency_key)";
  struct Page {
    std::string sql;
    Instant before;
  };
  const std::string id = sql_->trail_id();
  const Page pages[] = {
      {delete_page("outbox", "scope_id, id", "done_at", "status = 'done' AND done_at < " + then,
                   no_record),
       before.outbox},
      {delete_page("outbox", "scope_id, id", "discarded_at",
                   "status IN ('dead', 'unknown') AND discarded_at < " + then, no_record),
       before.outbox},
      {delete_page("evidence", id, sql_->evidence_time(), sql_->evidence_time() + " < " + then,
                   no_open_record("t")),
       before.evidence},
      {delete_page("audit", id, sql_->audit_time(), sql_->audit_time() + " < " + then,
                   no_open_record("t")),
       before.audit}};
  std::size_t gone = 0;
  for (const Page& page : pages) {
    const Result<Sql::Rows> rows = sql_->run(page.sql, {micros(page.before)});
    if (!rows) return Unexpected{rows.error()};
    gone += rows->size();
  }
  return gone;
}

Upkeep::Result<std::optional<std::string>> SqlUpkeep::fact(const std::string& name) {
  const Result<Sql::Rows> rows =
      sql_->run("SELECT value FROM " + sql_->facts() + " WHERE name = $1", {name});
  if (!rows) return Unexpected{rows.error()};
  if (rows->empty()) return std::optional<std::string>();
  return std::optional<std::string>(text_at(rows->front(), 0));
}

Upkeep::Result<Done> SqlUpkeep::declare(const std::string& name, const std::string& value,
                                        const AuditEntry& audit) {
  const Expected<Done, std::string> begun = sql_->begin();
  if (!begun) return Unexpected{begun.error()};
  const Result<Sql::Rows> recorded =
      sql_->run("INSERT INTO " + sql_->facts() +
                    " (name, value) VALUES ($1, $2)"
                    " ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING 1",
                {name, value});
  if (!recorded) return Unexpected{recorded.error()};
  const Result<Sql::Rows> raised = sql_->run(raise_purge_epoch(*sql_), {});
  if (!raised) return Unexpected{raised.error()};
  // About no key: the store's own entry.
  const std::string id = hex(sha256(name + value + audit.actor + audit.action + audit.reason));
  const Result<Sql::Rows> written =
      sql_->run(sql_->audit_insert(),
                {"store", name, "0", "", value, audit.actor, audit.action, audit.reason, id});
  if (!written) return Unexpected{written.error()};
  const Result<Sql::Rows> committed = sql_->run("COMMIT", {});
  if (!committed) return Unexpected{committed.error()};
  return Done{};
}

Upkeep::Result<std::vector<std::string>> SqlUpkeep::stored_policies() {
  const Result<Sql::Rows> rows =
      sql_->run("SELECT DISTINCT CAST(k.policy AS text) FROM pawl.keys k", {});
  if (!rows) return Unexpected{rows.error()};
  std::vector<std::string> policies;
  for (const Sql::Row& row : *rows) policies.push_back(text_at(row, 0));
  return policies;
}

Upkeep::Result<KeyPage> SqlUpkeep::unsettled(const Scope& after_scope, const Key& after_key,
                                             std::size_t rows_max) {
  const Result<Sql::Rows> rows = sql_->run(
      "SELECT k.scope_id, k.idempotency_key, k.status FROM pawl.keys k"
      " WHERE (k.scope_id, k.idempotency_key) > ($1, $2)"
      " ORDER BY k.scope_id, k.idempotency_key LIMIT CAST($3 AS bigint)",
      {after_scope.text, after_key.text, std::to_string(rows_max)});
  if (!rows) return Unexpected{rows.error()};
  KeyPage page;
  page.is_last = rows->size() < rows_max;
  for (const Sql::Row& row : *rows) {
    page.last_scope.text = text_at(row, 0);
    page.last_key.text = text_at(row, 1);
    const std::string status = text_at(row, 2);
    const bool wanted = status != "completed" && status != "expired";
    if (wanted) page.keys.emplace_back(page.last_scope, page.last_key);
  }
  return page;
}

Upkeep::Result<std::size_t> SqlUpkeep::doubt_messages() {
  const Result<Sql::Rows> rows = sql_->run(
      "UPDATE pawl.outbox SET first_sent_at = created_at WHERE (scope_id, id) IN"
      " (SELECT scope_id, id FROM pawl.outbox WHERE status IN ('pending', 'sending', 'dead')"
      " AND first_sent_at IS NULL LIMIT 500)"
      " AND status IN ('pending', 'sending', 'dead') AND first_sent_at IS NULL RETURNING 1",
      {});
  if (!rows) return Unexpected{rows.error()};
  return rows->size();
}

Upkeep::Result<std::uint64_t> SqlUpkeep::number(const std::string& sql) {
  const Result<Sql::Rows> rows = sql_->run(sql, {});
  if (!rows) return Unexpected{rows.error()};
  return rows->empty() ? 0 : static_cast<std::uint64_t>(number_at(rows->front(), 0));
}

Upkeep::Result<StoreOverview::Counts> SqlUpkeep::by_status(const std::string& table) {
  const Result<Sql::Rows> rows = sql_->run(
      "SELECT status, count(*) FROM pawl." + table + " GROUP BY status ORDER BY status", {});
  if (!rows) return Unexpected{rows.error()};
  StoreOverview::Counts counts;
  for (const Sql::Row& row : *rows) {
    counts.emplace_back(text_at(row, 0), static_cast<std::uint64_t>(number_at(row, 1)));
  }
  return counts;
}

Upkeep::Result<StoreOverview> SqlUpkeep::overview() {
  const auto version = number("SELECT " + sql_->schema_version());
  if (!version) return Unexpected{version.error()};
  const auto epoch =
      number("SELECT CAST(value AS bigint) FROM pawl.meta WHERE name = 'purge_epoch'");
  if (!epoch) return Unexpected{epoch.error()};
  const auto now = number("SELECT " + sql_->now());
  if (!now) return Unexpected{now.error()};
  auto keys = by_status("keys");
  if (!keys) return Unexpected{keys.error()};
  auto outbox = by_status("outbox");
  if (!outbox) return Unexpected{outbox.error()};
  const auto evidence = number("SELECT count(*) FROM pawl.evidence");
  if (!evidence) return Unexpected{evidence.error()};
  const auto audit = number("SELECT count(*) FROM pawl.audit");
  if (!audit) return Unexpected{audit.error()};
  return StoreOverview{static_cast<int>(*version),
                       static_cast<std::int64_t>(*epoch),
                       Instant(Duration(static_cast<std::int64_t>(*now))),
                       std::move(*keys),
                       std::move(*outbox),
                       *evidence,
                       *audit};
}

}  // namespace pawl::cases
