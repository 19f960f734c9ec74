#include "src/adapters/sql/outbox_store.hpp"

#include "src/adapters/sql/outbox_rows.hpp"
#include "src/adapters/sql/row_reader.hpp"
#include "src/core/sha256.hpp"

namespace pawl::sql {
namespace {

Result<OutboxCounts> count_rows(Session& session) {
  const std::string counted = "SELECT destination, status, count(*), " +
                              session.micros("min(created_at)") + " FROM pawl.outbox WHERE ";
  const std::string grouped = " GROUP BY destination, status";
  const Result<Instant> now = time_of(session);
  if (!now) return Unexpected{now.error()};
  const Result<Rows> rows =
      session.run(counted + "status IN ('pending', 'sending')" + grouped + " UNION ALL " + counted +
                  "status IN ('dead', 'unknown') AND discarded_at IS NULL" + grouped);
  if (!rows) return Unexpected{rows.error()};
  OutboxCounts counts{*now, {}};
  for (const Row& row : *rows) {
    RowReader next(row);
    OutboxCount one;
    one.destination = next.text();
    one.status = from_text<OutboxStatus>(next.text()).value_or(OutboxStatus::unknown);
    one.rows = next.count();
    one.oldest = next.time();
    counts.counts.push_back(std::move(one));
  }
  return counts;
}

Result<std::vector<OutboxRow>> list_rows(Session& session, const OutboxQuery& query) {
  Parameters parameters{sql::count(query.rows_max)};
  std::string conditions;
  const auto equal = [&](const char* column, const std::string& value) {
    parameters.emplace_back(value);
    conditions.append(" AND ").append(column).append(" = $");
    conditions.append(std::to_string(parameters.size()));
  };
  if (query.status) equal("status", std::string(to_text(*query.status)));
  if (query.destination) equal("destination", *query.destination);
  if (!query.discarded) conditions += " AND discarded_at IS NULL";
  return outbox_rows(session, session.run("SELECT " + outbox_columns(session, Bodies::left_out) +
                                              " FROM pawl.outbox WHERE 1 = 1" + conditions +
                                              " ORDER BY created_at, id LIMIT CAST($1 AS bigint)",
                                          parameters));
}

Result<std::optional<OutboxRow>> first_row(Result<std::vector<OutboxRow>> rows) {
  if (!rows) return Unexpected{rows.error()};
  if (rows->empty()) return std::optional<OutboxRow>();
  return std::optional<OutboxRow>(std::move(rows->front()));
}

// By text: what is no UUID is no row's id, and no error either.
Result<std::optional<OutboxRow>> find_row(Session& session, const std::string& id) {
  return first_row(outbox_rows(session, session.run("SELECT " + outbox_columns(session) +
                                                        " FROM pawl.outbox"
                                                        " WHERE CAST(id AS text) = $1 LIMIT 1",
                                                    {id})));
}

// Within one scope, where a row can be locked on a distributed server too.
Result<std::optional<OutboxRow>> lock_row(Session& session, const OutboxRow& row) {
  return first_row(
      outbox_rows(session, session.run("SELECT " + outbox_columns(session) +
                                           " FROM pawl.outbox WHERE scope_id = $1 AND id = " +
                                           session.outbox_id("$2") + session.for_update(),
                                       {row.scope.text, row.id})));
}

struct Change {
  std::string id;
  OutboxAction action;
  OutboxAuthor author;
  OutboxStore::Transition transition;
};

Result<Done> write_change(Session& session, const Change& change, const OutboxRow& before,
                          const OutboxRow& after, Instant now) {
  const Result<Rows> written =
      session.run(outbox_write_sql(session), outbox_write_parameters(after, before.owner, false));
  if (!written) return Unexpected{written.error()};
  if (written->empty()) {
    return Unexpected{Error{StoreError::contended, "lost the race with a concurrent update"}};
  }
  const std::string name = before.id + ":" + micros(now) + ":" + change.author.actor;
  const Result<Rows> told = session.run(
      session.audit_insert(),
      {before.scope.text, before.key.text, "0", std::string(to_text(before.status)),
       std::string(to_text(after.status)), change.author.actor, std::string(to_text(change.action)),
       change.author.reason, hex(sha256(name)), before.id});
  if (!told) return Unexpected{told.error()};
  return Done{};
}

Result<OutboxStore::Changed> change_row(Session& session, const Change& change) {
  using Changed = OutboxStore::Changed;
  const Changed none = Unexpected{OutboxRefusal{OutboxRefusal::Kind::no_such_row, {}}};
  const Result<std::optional<OutboxRow>> there = find_row(session, change.id);
  if (!there) return Unexpected{there.error()};
  if (!*there) return none;
  Result<Transaction> transaction = Transaction::begin(session);
  if (!transaction) return Unexpected{transaction.error()};
  const Result<std::optional<OutboxRow>> locked = lock_row(session, **there);
  if (!locked) return Unexpected{locked.error()};
  if (!*locked) return none;
  const Result<Instant> now = time_of(session);
  if (!now) return Unexpected{now.error()};
  const OutboxRow& before = **locked;
  Changed after = change.transition(before, *now);
  if (!after) return after;
  const Result<Done> written = write_change(session, change, before, *after, *now);
  if (!written) return Unexpected{written.error()};
  const Result<Done> committed = transaction->commit();
  if (!committed) return Unexpected{committed.error()};
  return after;
}

}  // namespace

Task<StoreResult<OutboxCounts>> SqlOutboxStore::count() {
  return port_.run<OutboxCounts>(count_rows);
}

Task<StoreResult<std::vector<OutboxRow>>> SqlOutboxStore::list(OutboxQuery query) {
  return port_.run<std::vector<OutboxRow>>(
      [query = std::move(query)](Session& session) { return list_rows(session, query); });
}

Task<StoreResult<std::optional<OutboxRow>>> SqlOutboxStore::find(std::string id) {
  return port_.run<std::optional<OutboxRow>>(
      [id = std::move(id)](Session& session) { return find_row(session, id); });
}

Task<StoreResult<OutboxStore::Changed>> SqlOutboxStore::change(std::string id, OutboxAction action,
                                                               OutboxAuthor author,
                                                               Transition transition) {
  return port_.run<Changed>(
      [change = Change{std::move(id), action, std::move(author), std::move(transition)}](
          Session& session) { return change_row(session, change); });
}

}  // namespace pawl::sql
