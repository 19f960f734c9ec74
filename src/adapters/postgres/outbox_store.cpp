#include "src/adapters/postgres/outbox_store.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "pawl/types/json.hpp"
#include "src/adapters/postgres/wire.hpp"
#include "src/core/sha256.hpp"

namespace pawl::postgres {
namespace {

// Times travel as microseconds since 1970.
std::string as_micros(const std::string& column) {
  return "(extract(epoch FROM " + column + ") * 1000000)::bigint";
}
std::string as_time(const std::string& micros) {
  return "(timestamptz 'epoch' + " + micros + " * interval '1 microsecond')";
}

std::string columns_of(const std::string& row, const std::string& body) {
  return row + ".scope_id, " + row + ".id, " + row + ".idempotency_key, " + row + ".destination, " +
         row + ".derived_key, " + row + ".method, " + row + ".path, " + row + ".headers, " + body +
         ", " + row + ".status, " + row + ".attempt, " + row + ".owner, " +
         as_micros(row + ".locked_until") + ", " + as_micros(row + ".next_attempt_at") + ", " +
         as_micros(row + ".first_sent_at") + ", " + row + ".provider_id, " + row +
         ".response_code, " + row + ".last_error, " + as_micros(row + ".created_at") + ", " +
         as_micros(row + ".done_at") + ", " + as_micros(row + ".discarded_at") + ", " + row +
         ".asked, " + row + ".absent, " + as_micros(row + ".doubted_at");
}

const std::string columns = columns_of("o", "encode(o.body, 'hex')");

std::string free_and_due(const std::string& row, const std::string& now) {
  return " AND " + row + ".next_attempt_at <= " + now + " AND (" + row +
         ".locked_until IS NULL OR " + row + ".locked_until <= " + now + ")";
}
std::string wanted(const std::string& row, bool in_doubt) {
  const std::string which = in_doubt
                                ? row + ".status = 'unknown' AND " + row + ".discarded_at IS NULL"
                                : row + ".status IN ('pending', 'sending')";
  return row + ".destination = $1 AND " + which;
}

std::string any_due_sql(bool in_doubt) {
  return "SELECT EXISTS (SELECT FROM pawl.outbox o WHERE " + wanted("o", in_doubt) +
         free_and_due("o", "now()") + "), " + as_micros("clock_timestamp()");
}
std::string claim_sql(bool in_doubt) {
  const std::string now = as_time("$2::bigint");
  return "UPDATE pawl.outbox AS o SET owner = $3, locked_until = " + as_time("$4::bigint") +
         ", next_attempt_at = " + as_time("$4::bigint") +
         " WHERE (o.scope_id, o.id) IN (SELECT d.scope_id, d.id FROM pawl.outbox d WHERE " +
         wanted("d", in_doubt) + free_and_due("d", now) +
         " ORDER BY d.next_attempt_at LIMIT $5::bigint) AND " + wanted("o", in_doubt) +
         free_and_due("o", now) + " RETURNING " + columns;
}

// The same guard as everywhere: whoever is not the owner changes nothing.
const std::string write_sql =
    "UPDATE pawl.outbox AS o SET status = w.st, attempt = w.att, locked_until = " +
    as_time("w.lu") + ", next_attempt_at = " + as_time("w.na") +
    ", first_sent_at = " + as_time("w.fs") +
    ", provider_id = w.pid, response_code = w.rc, last_error = w.err, done_at = " +
    as_time("w.da") + ", discarded_at = " + as_time("w.di") +
    ", asked = w.ask, absent = w.abs, doubted_at = " + as_time("w.dou") +
    ", owner = w.ow FROM jsonb_to_recordset($1::jsonb) AS w (s text, i uuid, was text, st text,"
    " att integer, lu bigint, na bigint, fs bigint, pid text, rc integer, err text, da bigint,"
    " di bigint, ow text, lease boolean, ask integer, abs integer, dou bigint)"
    " WHERE o.scope_id = w.s AND o.id = w.i AND o.owner = w.was"
    " AND (NOT w.lease OR (o.locked_until IS NOT NULL AND o.locked_until > now()))"
    " RETURNING o.scope_id, o.id";
constexpr const char* lock_sql =
    "SELECT 1 FROM pawl.outbox o JOIN jsonb_to_recordset($1::jsonb) AS w (s text, i uuid)"
    " ON o.scope_id = w.s AND o.id = w.i ORDER BY o.scope_id, o.id FOR UPDATE OF o";
const std::string count_sql =
    "SELECT o.destination, o.status, count(*), " + as_micros("min(o.created_at)") +
    " FROM pawl.outbox o WHERE o.status IN ('pending', 'sending')"
    " GROUP BY o.destination, o.status UNION ALL"
    " SELECT o.destination, o.status, count(*), " +
    as_micros("min(o.created_at)") +
    " FROM pawl.outbox o WHERE o.status IN ('dead', 'unknown') AND o.discarded_at IS NULL"
    " GROUP BY o.destination, o.status";
const std::string list_sql =
    "SELECT " + columns_of("o", "''") +
    " FROM pawl.outbox o WHERE ($1::text IS NULL OR o.status = $1)"
    " AND ($2::text IS NULL OR o.destination = $2)"
    " AND ($3::boolean OR o.discarded_at IS NULL) ORDER BY o.created_at, o.id LIMIT $4::bigint";
// By text: what is no UUID is no row's id, and no error either.
const std::string find_sql = "SELECT " + columns + " FROM pawl.outbox o WHERE o.id::text = $1";
const std::string lock_one_sql = "SELECT " + columns +
                                 " FROM pawl.outbox o WHERE o.scope_id = $1 AND o.id = $2::uuid"
                                 " FOR UPDATE";
constexpr const char* audit_sql =
    "INSERT INTO pawl.audit (scope_id, id, idempotency_key, fence, status, actor, action, reason,"
    " outbox_id, recorded_at) VALUES ($1, decode($2, 'hex'), $3, 0, $4, $5, $6, $7, $8, now())"
    " ON CONFLICT (scope_id, id) DO NOTHING";

std::int64_t micros(Instant at) { return at.time_since_epoch().count(); }

int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

std::string from_hex(const std::string& text) {
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(digit(text[i]) * 16 + digit(text[i + 1]));
  }
  return bytes;
}

std::optional<Headers> headers_in(const std::string& text) {
  const Expected<json::Value, json::Error> list = json::read(text);
  if (!list || list->kind != json::Kind::array) return std::nullopt;
  Headers headers;
  for (const json::Value& pair : list->items) {
    const bool good = pair.kind == json::Kind::array && pair.items.size() == 2 &&
                      pair.items[0].kind == json::Kind::string &&
                      pair.items[1].kind == json::Kind::string;
    if (!good) return std::nullopt;
    headers.push_back({bytes_of(pair.items[0].text), bytes_of(pair.items[1].text)});
  }
  return headers;
}

// The columns of a row, in the order of `columns_of`.
class Columns {
 public:
  Columns(const TextRows& rows, int row) : rows_(rows), row_(row) {}
  std::string text() { return rows_.text(row_, column_++); }
  std::int64_t number() { return std::stoll(text()); }
  Instant time() { return Instant(Duration(number())); }
  std::optional<Instant> maybe_time() { return maybe(&Columns::time); }
  std::optional<std::int64_t> maybe_number() { return maybe(&Columns::number); }

 private:
  template <class T>
  std::optional<T> maybe(T (Columns::*read)()) {
    if (!rows_.null(row_, column_)) return (this->*read)();
    ++column_;
    return std::nullopt;
  }

  const TextRows& rows_;
  int row_;
  int column_ = 0;
};

OutboxRow row_of(const TextRows& rows, int number) {
  Columns next(rows, number);
  OutboxRow row;
  row.scope.text = next.text();
  row.id = next.text();
  row.key.text = next.text();
  row.destination = next.text();
  row.derived_key = next.text();
  row.method = next.text();
  row.path = next.text();
  const std::optional<Headers> headers = headers_in(next.text());
  row.readable = headers.has_value();
  row.headers = headers.value_or(Headers{});
  row.body = from_hex(next.text());
  row.status = from_text<OutboxStatus>(next.text()).value_or(OutboxStatus::unknown);
  row.attempt = static_cast<int>(next.number());
  row.owner = next.text();
  row.locked_until = next.maybe_time();
  row.next_attempt_at = next.time();
  row.first_sent_at = next.maybe_time();
  row.provider_id = next.text();
  if (const auto code = next.maybe_number()) row.response_code = static_cast<int>(*code);
  row.last_error = next.text();
  row.created_at = next.time();
  row.done_at = next.maybe_time();
  row.discarded_at = next.maybe_time();
  row.asked = static_cast<int>(next.number());
  row.absent = static_cast<int>(next.number());
  row.doubted_at = next.maybe_time();
  return row;
}

std::string item_of(const OutboxRow& next, const std::string& owner, bool needs_lease) {
  const auto time = [](std::optional<Instant> at) {
    return at ? std::to_string(micros(*at)) : std::string("null");
  };
  std::string item = R"({"s":)" + json::quote(next.scope.text);
  item.append(R"(,"i":)").append(json::quote(next.id));
  item.append(R"(,"was":)").append(json::quote(owner));
  item.append(R"(,"st":)").append(json::quote(to_text(next.status)));
  item.append(R"(,"att":)").append(std::to_string(next.attempt));
  item.append(R"(,"lu":)").append(time(next.locked_until));
  item.append(R"(,"na":)").append(time(next.next_attempt_at));
  item.append(R"(,"fs":)").append(time(next.first_sent_at));
  item.append(R"(,"pid":)").append(json::quote(next.provider_id));
  item.append(R"(,"rc":)")
      .append(next.response_code ? std::to_string(*next.response_code) : "null");
  item.append(R"(,"err":)").append(json::quote(next.last_error));
  item.append(R"(,"da":)").append(time(next.done_at));
  item.append(R"(,"di":)").append(time(next.discarded_at));
  item.append(R"(,"ow":)").append(json::quote(next.owner));
  item.append(R"(,"ask":)").append(std::to_string(next.asked));
  item.append(R"(,"abs":)").append(std::to_string(next.absent));
  item.append(R"(,"dou":)").append(time(next.doubted_at));
  return item.append(R"(,"lease":)").append(needs_lease ? "true}" : "false}");
}

}  // namespace

PostgresOutbox::PostgresOutbox(std::string url, Options options)
    : session_(std::move(url), options) {}

Expected<Instant, std::string> PostgresOutbox::time() {
  static const std::string sql = "SELECT " + as_micros("clock_timestamp()");
  const BlockingSession::Answer answer = session_.run(sql.c_str());
  if (!answer) return Unexpected{answer.error()};
  return Columns(*answer, 0).time();
}

Expected<std::vector<OutboxRow>, std::string> PostgresOutbox::rows_of(
    const BlockingSession::Answer& answer) {
  if (!answer) return Unexpected{answer.error()};
  std::vector<OutboxRow> rows;
  for (int i = 0; i < answer->count(); ++i) rows.push_back(row_of(*answer, i));
  return rows;
}

Expected<OutboxClaimed, std::string> PostgresOutbox::claim(const OutboxClaim& claim) {
  PAWL_CHECK(!claim.owner.empty());
  // Asked first, without a write: nearly always the answer is no.
  static const std::array any_due{any_due_sql(false), any_due_sql(true)};
  static const std::array take{claim_sql(false), claim_sql(true)};
  const std::size_t which = claim.in_doubt ? 1 : 0;
  const BlockingSession::Answer any = session_.run(any_due[which].c_str(), {claim.destination});
  if (!any) return Unexpected{any.error()};
  OutboxClaimed claimed{Instant(Duration(std::stoll(any->text(0, 1)))), {}};
  if (any->text(0, 0) != "t" || claim.rows_max == 0) return claimed;
  const BlockingSession::Answer begun = session_.begin();
  if (!begun) return Unexpected{begun.error()};
  const BlockingSession::Answer answer = session_.run(
      take[which].c_str(),
      {claim.destination, std::to_string(micros(claimed.now)), claim.owner,
       std::to_string(micros(claimed.now + claim.lease)), std::to_string(claim.rows_max)});
  Expected<std::vector<OutboxRow>, std::string> rows = rows_of(answer);
  if (!rows) return Unexpected{rows.error()};
  const BlockingSession::Answer ended = session_.commit();
  if (!ended) return Unexpected{ended.error()};
  claimed.rows = std::move(*rows);
  std::ranges::sort(claimed.rows, {}, &OutboxRow::created_at);
  return claimed;
}

Expected<std::vector<bool>, std::string> PostgresOutbox::write(
    const std::vector<OutboxWrite>& writes) {
  std::vector<bool> mine(writes.size(), false);
  if (writes.empty()) return mine;
  std::string items;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const OutboxRow& next = writes[i].next;
    PAWL_CHECK(!next.owner.empty());
    items.append(items.empty() ? "[" : ",");
    items.append(item_of(next, next.owner, writes[i].needs_lease));
    places[{next.scope.text, next.id}] = i;
  }
  items += "]";
  const BlockingSession::Answer begun = session_.begin();
  if (!begun) return Unexpected{begun.error()};
  if (writes.size() > 1) {  // in one order, so that two batches never wait for each other
    const BlockingSession::Answer locked = session_.run(lock_sql, {items});
    if (!locked) return Unexpected{locked.error()};
  }
  const BlockingSession::Answer answer = session_.run(write_sql.c_str(), {items});
  if (!answer) return Unexpected{answer.error()};
  const BlockingSession::Answer ended = session_.commit();
  if (!ended) return Unexpected{ended.error()};
  for (int i = 0; i < answer->count(); ++i) {
    const auto place = places.find({answer->text(i, 0), answer->text(i, 1)});
    if (place != places.end()) mine[place->second] = true;
  }
  return mine;
}

Expected<std::vector<OutboxCount>, std::string> PostgresOutbox::count() {
  const BlockingSession::Answer answer = session_.run(count_sql.c_str());
  if (!answer) return Unexpected{answer.error()};
  std::vector<OutboxCount> counts;
  for (int i = 0; i < answer->count(); ++i) {
    Columns next(*answer, i);
    OutboxCount count;
    count.destination = next.text();
    count.status = from_text<OutboxStatus>(next.text()).value_or(OutboxStatus::unknown);
    count.rows = static_cast<std::uint64_t>(next.number());
    count.oldest = next.time();
    counts.push_back(std::move(count));
  }
  return counts;
}

Expected<std::vector<OutboxRow>, std::string> PostgresOutbox::list(const OutboxQuery& query) {
  std::optional<std::string> status;
  if (query.status) status = std::string(to_text(*query.status));
  return rows_of(
      session_.run(list_sql.c_str(), {status, query.destination, query.discarded ? "true" : "false",
                                      std::to_string(query.rows_max)}));
}

Expected<std::optional<OutboxRow>, std::string> PostgresOutbox::find(const std::string& id) {
  Expected<std::vector<OutboxRow>, std::string> rows =
      rows_of(session_.run(find_sql.c_str(), {id}));
  if (!rows) return Unexpected{rows.error()};
  return rows->empty() ? std::nullopt : std::optional(std::move(rows->front()));
}

Expected<OutboxRow, std::string> PostgresOutbox::change(const std::string& id, OutboxAction action,
                                                        const OutboxAuthor& author,
                                                        const Transition& transition) {
  const Expected<std::optional<OutboxRow>, std::string> there = find(id);
  if (!there) return Unexpected{there.error()};
  if (!*there) return Unexpected{"there is no outbox row " + id};
  const BlockingSession::Answer begun = session_.begin();
  if (!begun) return Unexpected{begun.error()};
  // Within one scope, where a row can be locked on a distributed server too.
  const Expected<std::vector<OutboxRow>, std::string> locked =
      rows_of(session_.run(lock_one_sql.c_str(), {(*there)->scope.text, (*there)->id}));
  if (!locked) return Unexpected{locked.error()};
  const Expected<Instant, std::string> now = time();
  if (!now) return Unexpected{now.error()};
  Expected<OutboxRow, std::string> after = locked->empty()
                                               ? Unexpected{"there is no outbox row " + id}
                                               : transition(locked->front(), *now);
  if (!after) {
    session_.roll_back();
    return after;
  }
  const OutboxRow& before = locked->front();
  const BlockingSession::Answer written =
      session_.run(write_sql.c_str(), {"[" + item_of(*after, before.owner, false) + "]"});
  if (!written) return Unexpected{written.error()};
  const std::string name = before.id + ":" + std::to_string(micros(*now)) + ":" + author.actor;
  const BlockingSession::Answer told =
      session_.run(audit_sql, {before.scope.text, hex(sha256(name)), before.key.text,
                               std::string(to_text(after->status)), author.actor,
                               std::string(to_text(action)), author.reason, before.id});
  if (!told) return Unexpected{told.error()};
  const BlockingSession::Answer ended = session_.commit();
  if (!ended) return Unexpected{ended.error()};
  return after;
}

}  // namespace pawl::postgres
