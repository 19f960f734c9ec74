// What providers told about a record, as it came.
#include <cstdlib>

#include "src/adapters/sql/reconciliation_store.hpp"
#include "src/adapters/sql/row_reader.hpp"

namespace pawl::sql {
namespace {

const std::string event_columns =
    "subject, source, event_id, is_final, happened_at, received_at, response_code, response_type,"
    " response_body, applied_as, scope_id, idempotency_key";

WebhookEvent event_of(const Row& row) {
  RowReader columns(row);
  WebhookEvent event;
  event.subject = columns.text();
  event.source = columns.text();
  event.id = columns.text();
  event.is_final = columns.number() != 0;
  event.happened_at = columns.time();
  event.received_at = columns.time();
  const int code = columns.small();
  event.declined = event.is_final && (code < 0 || code >= 400);
  event.response.status = std::abs(code);
  event.response.headers = {{"Content-Type", columns.text()}};
  event.response.body = columns.text();
  event.applied_as = columns.text();
  event.scope.text = columns.text();
  event.key.text = columns.text();
  return event;
}

// A decline whose answer has a success's status is kept with that status below zero.
Result<bool> insert_event(Session& session, const WebhookEvent& event) {
  const bool hidden = event.declined && event.response.status < 400;
  const int code = hidden ? -event.response.status : event.response.status;
  std::string type;
  if (const auto found = find_header(event.response.headers, "Content-Type")) type = *found;
  Result<Transaction> transaction = Transaction::begin(session);
  if (!transaction) return Unexpected{transaction.error()};
  const Result<Rows> rows = session.run(
      "INSERT INTO pawl.webhook_events (subject, source, event_id, is_final, happened_at,"
      " received_at, response_code, response_type, response_body, applied_as, scope_id,"
      " idempotency_key)"
      " VALUES ($1, $2, $3, CAST($4 AS bigint), CAST($5 AS bigint), CAST($6 AS bigint),"
      " CAST($7 AS bigint), $8, $9, '', $10, $11)"
      " ON CONFLICT (subject, source, event_id) DO NOTHING RETURNING event_id",
      {event.subject, event.source, event.id, event.is_final ? "1" : "0", micros(event.happened_at),
       micros(event.received_at), number(code), type, event.response.body.value_or(""),
       event.scope.text, event.key.text});
  if (!rows) return Unexpected{rows.error()};
  // It is there already, and its sender will be told that it is kept. Whoever wrote it, in another
  // process perhaps, may not know yet whether a failover would lose it.
  if (rows->empty()) {
    const Result<Done> confirmed = session.confirm_reads();
    if (!confirmed) return Unexpected{confirmed.error()};
  }
  const Result<Done> committed = transaction->commit();
  if (!committed) return Unexpected{committed.error()};
  return !rows->empty();
}

Result<Done> update_event(Session& session, const std::string& assignment,
                          const WebhookEvent& event, const std::string& value) {
  const Result<Rows> done =
      run_together(session, {{"UPDATE pawl.webhook_events SET " + assignment +
                                  " WHERE subject = $1 AND source = $2 AND event_id = $3",
                              {event.subject, event.source, event.id, value}}});
  if (!done) return Unexpected{done.error()};
  return Done{};
}

}  // namespace

Task<StoreResult<bool>> SqlReconciliationStore::keep_event(WebhookEvent event) {
  return port_.run<bool>(
      [event = std::move(event)](Session& session) { return insert_event(session, event); });
}

Task<StoreResult<std::vector<WebhookEvent>>> SqlReconciliationStore::events_of(
    std::string subject) {
  return port_.run<std::vector<WebhookEvent>>([subject = std::move(subject)](Session& session) {
    return read_rows(session.run("SELECT " + event_columns +
                                     " FROM pawl.webhook_events WHERE subject = $1"
                                     " ORDER BY happened_at, received_at",
                                 {subject}),
                     event_of);
  });
}

// Literals, so that both stores see that the partial index is meant.
Task<StoreResult<std::vector<WebhookEvent>>> SqlReconciliationStore::waiting_events(
    Instant now, std::size_t events_max) {
  return port_.run<std::vector<WebhookEvent>>([now, events_max](Session& session) {
    return read_rows(
        session.run("SELECT " + event_columns +
                        " FROM pawl.webhook_events WHERE applied_as = '' AND is_final = 1"
                        " AND look_at <= CAST($1 AS bigint)"
                        " ORDER BY look_at LIMIT CAST($2 AS bigint)",
                    {micros(now), count(events_max)}),
        event_of);
  });
}

Task<StoreResult<Done>> SqlReconciliationStore::postpone(WebhookEvent event, Instant until) {
  return port_.run<Done>([event = std::move(event), until](Session& session) {
    return update_event(session, "look_at = CAST($4 AS bigint)", event, micros(until));
  });
}

Task<StoreResult<Done>> SqlReconciliationStore::applied(WebhookEvent event, std::string as) {
  return port_.run<Done>([event = std::move(event), as = std::move(as)](Session& session) {
    return update_event(session, "applied_as = $4", event, as);
  });
}

}  // namespace pawl::sql
