#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "pawl/node.hpp"
#include "pawl/types/json.hpp"
#include "src/adapters/postgres/ask.hpp"
#include "src/adapters/postgres/doubts.hpp"
#include "src/adapters/postgres/migrate.hpp"
#include "src/adapters/postgres/reconnecting_connection.hpp"
#include "src/adapters/postgres/row.hpp"
#include "src/adapters/postgres/wire.hpp"
#include "src/libpawl/open_here.hpp"
#include "src/libpawl/phase_transaction.hpp"
#include "src/libpawl/pool.hpp"

namespace pawl::detail {
namespace {

using postgres::ask;
using postgres::Result;
using postgres::Until;

constexpr const char* stale_fence = "PW001";
constexpr const char* promise_taken = "PW002";
constexpr const char* connection_lost = "08006";

// A phase that hangs with its record's row locked must not hold it for ever. READ COMMITTED, as the
// guards need it: establish() has seen to that. The search_path is the program's; what is sent here
// beside its own statements names everything in full.
std::string begin_sql(std::chrono::milliseconds statement_max, const std::string& durability) {
  return "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '60s';"
         " SET LOCAL statement_timeout = " +
         std::to_string(statement_max.count()) + "; SET LOCAL synchronous_commit = " + durability;
}

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

// Nor does it take a field of any bytes, as the store does.
constexpr const char* keep_headers =
    "UPDATE pawl.keys SET response_headers = $4::pg_catalog.jsonb WHERE " PAWL_SAME_KEY
    " AND status" PAWL_EQUALS "'completed'";

#undef PAWL_SAME_KEY
#undef PAWL_MICROS
#undef PAWL_EQUALS

// Null: the server has not answered in time, or is gone.
[[noreturn]] void fail(PGconn* connection, const PGresult* result, Until until) {
  if (result == nullptr) {
    throw DatabaseError(connection_lost, "PostgreSQL: " + postgres::silence(connection, until));
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

bool is_text(const Header& header) {
  return postgres::is_text(header.name) && postgres::is_text(header.value);
}

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

using Owned = postgres::Established;

class PostgresBackend final : public TransactionSource {
 public:
  PostgresBackend(std::string url, postgres::Options options, std::size_t connections,
                  std::chrono::milliseconds statement_max)
      : url_(std::move(url)),
        options_(options),
        statement_max_(statement_max),
        pool_(connections, connection_wait_max) {}
  std::unique_ptr<PhaseTransaction> begin() override;
  void give(std::unique_ptr<Owned> connection) { pool_.give(std::move(connection)); }
  std::unique_ptr<Owned> connect() const;

  // What only waits for the server's attention; what may work, or wait for a lock or a standby. The
  // server ends a statement by itself at `statement_max_`: this is for one that does not answer.
  [[nodiscard]] Until soon() const { return Until::clock::now() + options_.operation_timeout; }
  [[nodiscard]] Until later() const {
    return Until::clock::now() + statement_max_ + statement_max_ / 10 + std::chrono::seconds(1);
  }

 private:
  Result send_begin(const Owned& owned) const;

  const std::string url_;
  const postgres::Options options_;
  const std::chrono::milliseconds statement_max_;
  Pool<Owned> pool_;
};

class PostgresWork final : public PhaseTransaction {
 public:
  PostgresWork(PostgresBackend& backend, std::unique_ptr<Owned> owned, OpenHere here)
      : here_(std::move(here)),
        backend_(backend),
        owned_(std::move(owned)),
        connection_(owned_->connection.get()) {}
  ~PostgresWork() override;

  Rows query(const std::string& sql, const std::vector<Value>& parameters) override;
  pg_conn* postgres() override { return connection_; }
  std::string enqueue(const Record& held, const OutboxItem& item) override;
  Record advance(const Record& held, const std::string& recovery_point) override;
  Record complete(const Record& held, const StoredResponse& response) override;
  Commit commit() override;

 private:
  Rows see(const char* sql, const Record& held);
  void demand_open();
  Commit make_sure();

  OpenHere here_;
  PostgresBackend& backend_;
  std::unique_ptr<Owned> owned_;
  PGconn* connection_;
};

std::unique_ptr<Owned> PostgresBackend::connect() const {
  Expected<postgres::Established, std::string> made =
      postgres::establish(url_, options_, postgres::Speaker::program);
  if (!made) throw DatabaseError("08001", "PostgreSQL: " + made.error());
  return std::make_unique<Owned>(std::move(*made));
}

Result PostgresBackend::send_begin(const Owned& owned) const {
  const std::string sql = begin_sql(statement_max_, owned.facts.synchronous_commit);
  return ask(owned.connection.get(), sql.c_str(), soon());
}

std::unique_ptr<PhaseTransaction> PostgresBackend::begin() {
  OpenHere here(this);
  std::optional<std::unique_ptr<Owned>> taken = pool_.take();
  if (!taken) {
    throw DatabaseError("53300",
                        "other phases of this process have had all connections in use for 30s: "
                        "see NodeOptions::connections");
  }
  std::unique_ptr<Owned> owned = std::move(*taken);
  try {
    // A kept connection may have gone while it was idle; nothing was sent on it, so a fresh one
    // will do. A fresh one that fails is trouble.
    const bool kept = owned != nullptr;
    if (!kept) owned = connect();
    Until until = soon();
    Result begun = send_begin(*owned);
    if (kept && PQresultStatus(begun.get()) != PGRES_COMMAND_OK) {
      owned = connect();
      until = soon();
      begun = send_begin(*owned);
    }
    if (PQresultStatus(begun.get()) != PGRES_COMMAND_OK) {
      fail(owned->connection.get(), begun.get(), until);
    }
    return std::make_unique<PostgresWork>(*this, std::move(owned), std::move(here));
  } catch (...) {
    pool_.give(nullptr);
    throw;
  }
}

PostgresWork::~PostgresWork() {
  const auto is_idle = [&] {
    return PQstatus(connection_) == CONNECTION_OK &&
           PQtransactionStatus(connection_) == PQTRANS_IDLE;
  };
  if (!is_idle() && PQstatus(connection_) == CONNECTION_OK) {
    const Result rolled_back = ask(connection_, "ROLLBACK", backend_.soon());
  }
  // What the phase has set, locked or made in its session is no business of the next one's.
  bool clean = is_idle();
  if (clean) {
    const Result forgotten = ask(connection_, "DISCARD ALL", backend_.soon());
    clean = PQresultStatus(forgotten.get()) == PGRES_COMMAND_OK && is_idle();
  }
  backend_.give(clean ? std::move(owned_) : nullptr);
}

Rows PostgresWork::query(const std::string& sql, const std::vector<Value>& parameters) {
  demand_open();  // outside of it each statement would commit by itself
  const Parameters given(parameters);
  // Without parameters several statements may stand in one text.
  const postgres::Values values{.count = given.count(),
                                .types = given.types(),
                                .values = given.values(),
                                .lengths = given.lengths(),
                                .formats = given.formats()};
  const Until until = backend_.later();
  const Result result = parameters.empty() ? ask(connection_, sql.c_str(), until)
                                           : ask(connection_, sql.c_str(), values, until);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    fail(connection_, result.get(), until);
  }
  Rows rows(static_cast<std::size_t>(PQntuples(result.get())));
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

void PostgresWork::demand_open() {
  if (PQtransactionStatus(connection_) != PQTRANS_IDLE) return;
  throw DatabaseError("25000",
                      "the transaction was ended inside the phase; leave COMMIT and ROLLBACK to "
                      "pawl");
}

// One row or nothing of this transaction is kept.
Rows PostgresWork::see(const char* sql, const Record& held) {
  Rows rows = query(sql, {held.scope.text, held.key.text, held.fence.number, held.owner.text});
  if (rows.size() != 1) throw Superseded{"the record has another owner"};
  return rows;
}

std::string PostgresWork::enqueue(const Record& held, const OutboxItem& item) {
  demand_open();
  const Rows rows = query("SELECT pawl.enqueue($1, $2, $3::bigint, $4, $5, $6, $7::jsonb, $8)",
                          {held.scope.text, held.key.text, held.fence.number, item.destination,
                           Bytes{item.body}, item.path, json_headers(item.headers), item.step});
  return rows.at(0).at(0).value_or("");
}

Record PostgresWork::advance(const Record& held, const std::string& recovery_point) {
  demand_open();
  query("SELECT pawl.advance($1, $2, $3::bigint, $4)",
        {held.scope.text, held.key.text, held.fence.number, recovery_point});
  const Rows rows = see(see_advanced, held);
  Record next = held;
  next.recovery_point = recovery_point;
  std::get<InProgress>(next.state).locked_until = instant_of(rows[0][0]);
  return next;
}

Record PostgresWork::complete(const Record& held, const StoredResponse& response) {
  demand_open();
  const bool all_text = std::ranges::all_of(response.headers, is_text);
  query("SELECT pawl.complete($1, $2, $3::bigint, $4::integer, $5::jsonb, $6)",
        {held.scope.text, held.key.text, held.fence.number, std::int64_t{response.status},
         json_headers(all_text ? response.headers : Headers{}), Bytes{response.body.value_or("")}});
  if (!all_text) {
    query(keep_headers, {held.scope.text, held.key.text, held.fence.number,
                         postgres::encode_headers(response.headers)});
  }
  if (!response.body) query(withhold_body, {held.scope.text, held.key.text, held.fence.number});
  const Rows rows = see(see_completed, held);
  Record next = held;
  next.state = Completed{response, instant_of(rows[0][0])};
  next.expires_at = instant_of(rows[0][1]);
  next.last_error.clear();
  return next;
}

Commit PostgresWork::commit() {
  demand_open();
  owned_->notices->wait_cancelled = false;
  const Until until = backend_.later();
  const Result result = ask(connection_, "COMMIT", until);
  if (!result) {
    ++postgres::doubts();
    return Commit::in_doubt;
  }
  if (owned_->notices->wait_cancelled) return make_sure();
  if (PQresultStatus(result.get()) == PGRES_COMMAND_OK) {
    // An aborted transaction answers COMMIT with ROLLBACK, and calls that a success.
    if (std::string_view(PQcmdStatus(result.get())) == "COMMIT") return Commit::done;
    throw DatabaseError("25P02",
                        "an earlier statement of the phase had failed; it was rolled back");
  }
  const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
  // On a distributed server a COMMIT that fails for lack of a connection may have happened.
  if (state == nullptr || std::string_view(state).starts_with("08")) {
    ++postgres::doubts();
    return Commit::in_doubt;
  }
  fail(connection_, result.get(), until);
}

// It is committed here, and perhaps nowhere else. Once something that comes later in the log has
// got to the standby, it has too.
Commit PostgresWork::make_sure() {
  ++postgres::doubts();
  owned_->notices->wait_cancelled = false;
  const std::string sql =
      "BEGIN; SET LOCAL synchronous_commit = " + owned_->facts.synchronous_commit + "; " +
      postgres::barrier_sql + "; COMMIT";
  const Result result = ask(connection_, sql.c_str(), backend_.later());
  const bool sure =
      PQresultStatus(result.get()) == PGRES_COMMAND_OK && !owned_->notices->wait_cancelled;
  return sure ? Commit::done : Commit::in_doubt;
}

}  // namespace

std::unique_ptr<TransactionSource> postgres_backend(const std::string& url, std::size_t connections,
                                                    bool allow_lossy_store,
                                                    std::chrono::milliseconds statement_max) {
  postgres::Options options;
  options.allow_lossy_store = allow_lossy_store;
  return std::make_unique<PostgresBackend>(url, options, connections, statement_max);
}

}  // namespace pawl::detail
