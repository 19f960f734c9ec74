#include "src/adapters/postgres/phase_transaction.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "pawl/types/json.hpp"
#include "src/adapters/postgres/doubts.hpp"
#include "src/adapters/postgres/row.hpp"
#include "src/core/sealed.hpp"
#include "src/core/utf8.hpp"

namespace pawl::postgres {
namespace {

constexpr const char* stale_fence = "PW001";
constexpr const char* promise_taken = "PW002";
constexpr const char* connection_lost = "08006";

#define PAWL_EQUALS " OPERATOR(pg_catalog.=) "
#define PAWL_MICROS(column) \
  "(extract(epoch FROM " column ") OPERATOR(pg_catalog.*) 1000000::pg_catalog.numeric)::bigint"
#define PAWL_SAME_KEY                                                                    \
  "scope_id" PAWL_EQUALS "$1 AND idempotency_key" PAWL_EQUALS "$2 AND fence" PAWL_EQUALS \
  "$3::bigint"

// After advance: the record as it will be, if it is this owner's.
constexpr const char* see_advanced =
    "SELECT " PAWL_MICROS("locked_until") " FROM pawl.keys WHERE " PAWL_SAME_KEY
                                          " AND owner" PAWL_EQUALS "$4 AND status" PAWL_EQUALS
                                          "'in_progress'";
// After complete.
constexpr const char* see_completed = "SELECT " PAWL_MICROS("completed_at") ", " PAWL_MICROS(
    "expires_at") " FROM pawl.keys WHERE " PAWL_SAME_KEY " AND owner" PAWL_EQUALS
                  "$4 AND status" PAWL_EQUALS "'completed'";
// pawl.complete stores an empty body for none; none means "too large to keep".
constexpr const char* withhold_body =
    "UPDATE pawl.keys SET response_body = NULL WHERE " PAWL_SAME_KEY " AND status" PAWL_EQUALS
    "'completed'";

// It takes every answer for one in clear.
constexpr const char* mark_sealed =
    "UPDATE pawl.keys SET response_schema_version = $4::integer WHERE " PAWL_SAME_KEY
    " AND status" PAWL_EQUALS "'completed'";

// Nor does it take a field of any bytes, as the store does.
constexpr const char* keep_headers =
    "UPDATE pawl.keys SET response_headers = $4::pg_catalog.jsonb WHERE " PAWL_SAME_KEY
    " AND status" PAWL_EQUALS "'completed'";

constexpr const char* see_data_key =
    "SELECT 1 FROM pawl.data_keys WHERE scope_id" PAWL_EQUALS "$1 AND generation" PAWL_EQUALS
    "$2::bigint AND wrapped OPERATOR(pg_catalog.<>) ''";

#undef PAWL_SAME_KEY
#undef PAWL_MICROS
#undef PAWL_EQUALS

// For functions that take text: they write it down so that it is read as it was given.
std::string json_headers(const Headers& headers) {
  std::string text = "[";
  for (const Header& header : headers) {
    if (text.size() > 1) text += ',';
    text.append("[").append(json::quote(header.name)).append(",");
    text.append(json::quote(header.value)).append("]");
  }
  return text + "]";
}

bool is_text_field(const Header& header) { return is_text(header.name) && is_text(header.value); }

Instant instant_of(const std::optional<std::string>& microseconds) {
  return Instant(Duration(std::stoll(microseconds.value())));
}

// Values as libpq wants them.
class Parameters {
 public:
  explicit Parameters(const std::vector<Value>& values) {
    texts_.reserve(values.size());
    for (const Value& value : values) std::visit(*this, value);
  }
  void operator()(std::nullptr_t) { add(nullptr, 0, 0, 0); }
  void operator()(std::int64_t number) {
    texts_.push_back(std::to_string(number));
    add(texts_.back().c_str(), 0, 0, 0);
  }
  void operator()(const std::string& text) {
    texts_.push_back(text);
    if (text.find('\0') != std::string::npos) {
      throw DatabaseError("22021", "a text parameter has a zero byte; pass it as pawl::Bytes");
    }
    add(texts_.back().c_str(), 0, 0, 0);
  }
  void operator()(const Bytes& bytes) {
    constexpr Oid bytea = 17;
    texts_.push_back(bytes.bytes);
    add(texts_.back().data(), static_cast<int>(bytes.bytes.size()), 1, bytea);
  }
  [[nodiscard]] int count() const { return static_cast<int>(values_.size()); }
  [[nodiscard]] const Oid* types() const { return types_.data(); }
  [[nodiscard]] const char* const* values() const { return values_.data(); }
  [[nodiscard]] const int* lengths() const { return lengths_.data(); }
  [[nodiscard]] const int* formats() const { return formats_.data(); }

 private:
  void add(const char* value, int length, int format, Oid type) {
    values_.push_back(value);
    lengths_.push_back(length);
    formats_.push_back(format);
    types_.push_back(type);
  }
  std::vector<std::string> texts_;
  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
  std::vector<Oid> types_;
};

}  // namespace

void throw_failure(PGconn* connection, const PGresult* result, Until until) {
  if (result == nullptr) {
    throw DatabaseError(connection_lost, "PostgreSQL: " + silence(connection, until));
  }
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  std::string message = PQresultErrorMessage(result);
  while (!message.empty() && message.back() == '\n') message.pop_back();
  if (state != nullptr && std::string_view(state) == stale_fence) {
    const char* detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
    throw Superseded{detail == nullptr ? message : detail};
  }
  if (state != nullptr && std::string_view(state) == promise_taken) throw PromiseTaken(message);
  throw DatabaseError(state == nullptr ? connection_lost : state, "PostgreSQL: " + message);
}

PostgresPhaseTransaction::~PostgresPhaseTransaction() {
  const auto is_idle = [&] {
    return PQstatus(connection_) == CONNECTION_OK &&
           PQtransactionStatus(connection_) == PQTRANS_IDLE;
  };
  if (!is_idle() && PQstatus(connection_) == CONNECTION_OK) {
    const Result rolled_back = ask(connection_, "ROLLBACK", waits_.soon());
  }
  // What the phase has set, locked or made in its session is no business of the next one's.
  bool clean = is_idle();
  if (clean) {
    const Result forgotten = ask(connection_, "DISCARD ALL", waits_.soon());
    clean = PQresultStatus(forgotten.get()) == PGRES_COMMAND_OK && is_idle();
  }
  pool_.give(clean ? std::move(session_) : nullptr);
}

pawl::Rows PostgresPhaseTransaction::query(const std::string& sql,
                                           const std::vector<Value>& parameters) {
  demand_open();  // outside of it each statement would commit by itself
  const Parameters given(parameters);
  // Without parameters several statements may stand in one text.
  const Values values{.count = given.count(),
                      .types = given.types(),
                      .values = given.values(),
                      .lengths = given.lengths(),
                      .formats = given.formats()};
  const Until until = waits_.later();
  const Result result = parameters.empty() ? ask(connection_, sql.c_str(), until)
                                           : ask(connection_, sql.c_str(), values, until);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    throw_failure(connection_, result.get(), until);
  }
  pawl::Rows rows(static_cast<std::size_t>(PQntuples(result.get())));
  for (int at = 0; at < PQntuples(result.get()); ++at) {
    Row& row = rows[static_cast<std::size_t>(at)];
    for (int column = 0; column < PQnfields(result.get()); ++column) {
      const bool null = PQgetisnull(result.get(), at, column) != 0;
      row.push_back(null ? std::nullopt
                         : std::optional<std::string>(PQgetvalue(result.get(), at, column)));
    }
  }
  return rows;
}

void PostgresPhaseTransaction::demand_open() {
  if (PQtransactionStatus(connection_) != PQTRANS_IDLE) return;
  throw DatabaseError("25000",
                      "the transaction was ended inside the phase; leave COMMIT and ROLLBACK to "
                      "pawl");
}

// One row or nothing of this transaction is kept.
pawl::Rows PostgresPhaseTransaction::see(const char* sql, const Record& held) {
  pawl::Rows rows =
      query(sql, {held.scope.text, held.key.text, held.fence.number, held.owner.text});
  if (rows.size() != 1) throw Superseded{"the record has another owner"};
  return rows;
}

std::string PostgresPhaseTransaction::enqueue(const Record& held, const OutboxItem& item) {
  demand_open();
  const pawl::Rows rows =
      query("SELECT pawl.enqueue($1, $2, $3::bigint, $4, $5, $6, $7::jsonb, $8)",
            {held.scope.text, held.key.text, held.fence.number, item.destination, Bytes{item.body},
             item.path, json_headers(item.headers), item.step});
  return rows.at(0).at(0).value_or("");
}

Record PostgresPhaseTransaction::advance(const Record& held, const std::string& recovery_point) {
  demand_open();
  query("SELECT pawl.advance($1, $2, $3::bigint, $4)",
        {held.scope.text, held.key.text, held.fence.number, recovery_point});
  const pawl::Rows rows = see(see_advanced, held);
  Record next = held;
  next.recovery_point = recovery_point;
  std::get<InProgress>(next.state).locked_until = instant_of(rows[0][0]);
  return next;
}

Record PostgresPhaseTransaction::complete(const Record& held, const StoredResponse& response) {
  demand_open();
  const bool all_text = std::ranges::all_of(response.headers, is_text_field);
  query("SELECT pawl.complete($1, $2, $3::bigint, $4::integer, $5::jsonb, $6)",
        {held.scope.text, held.key.text, held.fence.number, std::int64_t{response.status},
         json_headers(all_text ? response.headers : Headers{}), Bytes{response.body.value_or("")}});
  if (!all_text) {
    query(keep_headers,
          {held.scope.text, held.key.text, held.fence.number, encode_headers(response.headers)});
  }
  if (is_sealed(response)) {
    query(mark_sealed, {held.scope.text, held.key.text, held.fence.number,
                        std::int64_t{response.schema_version}});
  }
  if (!response.body) query(withhold_body, {held.scope.text, held.key.text, held.fence.number});
  const pawl::Rows rows = see(see_completed, held);
  Record next = held;
  next.state = Completed{response, instant_of(rows[0][0])};
  next.expires_at = instant_of(rows[0][1]);
  next.last_error.clear();
  return next;
}

bool PostgresPhaseTransaction::has_data_key(const Scope& scope, int generation) {
  return !query(see_data_key, {scope.text, std::int64_t{generation}}).empty();
}

Commit PostgresPhaseTransaction::commit() {
  demand_open();
  session_->notices->wait_cancelled = false;
  const Until until = waits_.later();
  const Result result = ask(connection_, "COMMIT", until);
  if (!result) {
    ++doubts();
    return Commit::in_doubt;
  }
  if (session_->notices->wait_cancelled) return make_sure();
  if (PQresultStatus(result.get()) == PGRES_COMMAND_OK) {
    // An aborted transaction answers COMMIT with ROLLBACK, and calls that a success.
    if (std::string_view(PQcmdStatus(result.get())) == "COMMIT") return Commit::done;
    throw DatabaseError("25P02",
                        "an earlier statement of the phase had failed; it was rolled back");
  }
  const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
  // On a distributed server a COMMIT that fails for lack of a connection may have happened.
  if (state == nullptr || std::string_view(state).starts_with("08")) {
    ++doubts();
    return Commit::in_doubt;
  }
  throw_failure(connection_, result.get(), until);
}

// It is committed here, and perhaps nowhere else. Once something that comes later in the log has
// got to the standby, it has too.
Commit PostgresPhaseTransaction::make_sure() {
  ++doubts();
  session_->notices->wait_cancelled = false;
  const std::string sql =
      "BEGIN; SET LOCAL synchronous_commit = " + session_->facts.synchronous_commit + "; " +
      barrier_sql + "; COMMIT";
  const Result result = ask(connection_, sql.c_str(), waits_.later());
  const bool sure =
      PQresultStatus(result.get()) == PGRES_COMMAND_OK && !session_->notices->wait_cancelled;
  return sure ? Commit::done : Commit::in_doubt;
}

}  // namespace pawl::postgres
