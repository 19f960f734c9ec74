// What a store records about itself.
#include "src/adapters/sql/purge_epoch.hpp"
#include "src/adapters/sql/row_reader.hpp"
#include "src/adapters/sql/upkeep.hpp"
#include "src/core/sha256.hpp"

namespace pawl::sql {
namespace {

Result<std::optional<std::string>> find_fact(Session& session, const std::string& name) {
  const Result<Rows> rows =
      session.run("SELECT value FROM " + session.facts() + " WHERE name = $1", {name});
  if (!rows) return Unexpected{rows.error()};
  if (rows->empty()) return std::optional<std::string>();
  return std::optional<std::string>(RowReader(rows->front()).text());
}

Result<Done> declare_fact(Session& session, const std::string& name, const std::string& value,
                          const AuditEntry& audit) {
  Result<Transaction> transaction = Transaction::begin(session);
  if (!transaction) return Unexpected{transaction.error()};
  const Result<Rows> recorded =
      session.run("INSERT INTO " + session.facts() +
                      " (name, value) VALUES ($1, $2)"
                      " ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING 1",
                  {name, value});
  if (!recorded) return Unexpected{recorded.error()};
  const Result<Rows> raised = session.run(raise_purge_epoch(session));
  if (!raised) return Unexpected{raised.error()};
  // About no key: the store's own entry.
  const std::string id = hex(sha256(name + value + audit.actor + audit.action + audit.reason));
  const Result<Rows> written =
      session.run(session.audit_insert(),
                  {"store", name, "0", "", value, audit.actor, audit.action, audit.reason, id, ""});
  if (!written) return Unexpected{written.error()};
  return transaction->commit();
}

Result<bool> replace(Session& session, const std::string& name,
                     const std::optional<std::string>& expected, const std::string& value) {
  const Result<Rows> written =
      expected ? session.run("UPDATE " + session.facts() +
                                 " SET value = $2 WHERE name = $1 AND value = $3 RETURNING value",
                             {name, value, *expected})
               : session.run("INSERT INTO " + session.facts() +
                                 " (name, value) VALUES ($1, $2)"
                                 " ON CONFLICT (name) DO NOTHING RETURNING value",
                             {name, value});
  if (!written) return Unexpected{written.error()};
  return !written->empty();
}

}  // namespace

Task<StoreResult<std::optional<std::string>>> SqlUpkeep::fact(std::string name) {
  return port_.run<std::optional<std::string>>(
      [name = std::move(name)](Session& session) { return find_fact(session, name); });
}

Task<StoreResult<Done>> SqlUpkeep::declare(std::string name, std::string value, AuditEntry audit) {
  return port_.run<Done>([name = std::move(name), value = std::move(value),
                          audit = std::move(audit)](Session& session) {
    return declare_fact(session, name, value, audit);
  });
}

Task<StoreResult<bool>> SqlUpkeep::replace_fact(std::string name,
                                                std::optional<std::string> expected,
                                                std::string value) {
  return port_.run<bool>([name = std::move(name), expected = std::move(expected),
                          value = std::move(value)](Session& session) {
    return replace(session, name, expected, value);
  });
}

}  // namespace pawl::sql
