#include "src/adapters/postgres/sql_session.hpp"

#include "src/adapters/postgres/doubts.hpp"
#include "src/adapters/postgres/failures.hpp"
#include "src/adapters/postgres/migrate.hpp"

namespace pawl::postgres {
namespace {

constexpr const char* settings =
    "SELECT pg_catalog.set_config('synchronous_commit', $1, true),"
    " pg_catalog.set_config('search_path', $2, true),"
    " pg_catalog.set_config('lock_timeout',"
    " coalesce($3, pg_catalog.current_setting('lock_timeout')), true)";

bool only_reads(const std::string& sql) { return sql.starts_with("SELECT"); }

TextValues values_of(const sql::Parameters& parameters) {
  TextValues values;
  values.reserve(parameters.size());
  for (const auto& parameter : parameters) {
    values.push_back(parameter ? parameter->c_str() : nullptr);
  }
  return values;
}

sql::Rows rows_of(const PGresult* result) {
  sql::Rows rows;
  const int columns = PQnfields(result);
  for (int i = 0; i < PQntuples(result); ++i) {
    sql::Row row;
    for (int j = 0; j < columns; ++j) {
      if (PQgetisnull(result, i, j) != 0) {
        row.emplace_back();
      } else {
        row.emplace_back(std::string(PQgetvalue(result, i, j),
                                     static_cast<std::size_t>(PQgetlength(result, i, j))));
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

bool is_good(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

std::string sqlstate_of(const PGresult* error) {
  const char* state = PQresultErrorField(error, PG_DIAG_SQLSTATE);
  return state == nullptr ? "" : state;
}

// The session has ended, or the server cannot tell: the commit may have come first.
bool leaves_doubt(const std::string& sqlstate) {
  return sqlstate.empty() || sqlstate == "40003" || sqlstate.starts_with("08") ||
         sqlstate.starts_with("57P");
}

}  // namespace

SqlSession::SqlSession(std::string url, Options options)
    : url_(std::move(url)), options_(options) {}

// In an outage each attempt may take as long as a connection may; whatever is queued would wait for
// one of its own.
std::optional<std::string> SqlSession::ready() {
  if (session_) return std::nullopt;
  if (!connect_trouble_.empty() && std::chrono::steady_clock::now() < connect_again_at_) {
    return connect_trouble_;
  }
  std::optional<std::string> trouble = connect();
  connect_trouble_ = trouble.value_or("");
  connect_again_at_ = std::chrono::steady_clock::now() + options_.reconnect_after;
  return trouble;
}

std::optional<std::string> SqlSession::connect() {
  Expected<Established, std::string> established = establish(url_, options_);
  if (!established) return established.error();
  if (!schema_known_) {
    const Until until = std::chrono::steady_clock::now() + options_.operation_timeout;
    std::optional<std::string> trouble = schema_trouble(established->connection.get(), until);
    if (trouble) return trouble;
    schema_known_ = true;
  }
  if (established->facts.direct) {
    std::optional<std::string> trouble = listen_to_all(established->connection.get());
    if (trouble) return trouble;
  }
  session_ = std::move(*established);
  return std::nullopt;
}

void SqlSession::listen(std::vector<std::string> channels, Heard heard) {
  channels_ = std::move(channels);
  heard_ = std::move(heard);
  session_.reset();  // the next one listens, or does not
}

std::optional<std::string> SqlSession::listen_to_all(PGconn* connection) {
  const Until until = std::chrono::steady_clock::now() + options_.operation_timeout;
  for (const std::string& channel : channels_) {
    const Result result = ask(connection, ("LISTEN " + channel).c_str(), until);
    if (!result) return silence(connection, until);
    if (!is_good(result.get())) return refusal(connection, result.get());
  }
  return std::nullopt;
}

void SqlSession::hear() {
  PGconn* const connection = session_->connection.get();
  for (;;) {
    const std::unique_ptr<PGnotify, decltype(&PQfreemem)> said(PQnotifies(connection), PQfreemem);
    if (!said) return;
    const bool ours = said->be_pid == PQbackendPID(connection);
    if (!ours && heard_) heard_(said->relname, said->extra);
  }
}

waiting::Idle::Wait SqlSession::wait() {
  if (channels_.empty()) return {};
  if (!session_) return {.milliseconds = static_cast<int>(options_.reconnect_after.count())};
  if (!session_->facts.direct) return {};
  hear();  // what came with an answer is read from no socket again
  return {.descriptor = PQsocket(session_->connection.get())};
}

void SqlSession::awake() {
  if (!session_) {
    static_cast<void>(ready());  // tried again if it could not
    return;
  }
  const bool sound = PQconsumeInput(session_->connection.get()) == 1;
  sound ? hear() : session_.reset();
}

bool SqlSession::has_standbys() const {
  return session_->facts.has_standbys || has_waited_for_standby();
}

bool SqlSession::is_doubtful() const { return has_standbys() && doubts_settled_ != doubts(); }

bool SqlSession::in_transaction() const {
  return session_ && PQtransactionStatus(session_->connection.get()) != PQTRANS_IDLE;
}

Unexpected<sql::Error> SqlSession::failed(StoreError kind, std::string why) {
  session_.reset();
  return Unexpected{sql::Error{kind, std::move(why)}};
}

Unexpected<sql::Error> SqlSession::unanswered(Until until, Commits commits) {
  ++doubts();
  const StoreError kind = commits == Commits::yes ? StoreError::in_doubt : StoreError::unavailable;
  return failed(kind, silence(session_->connection.get(), until));
}

Unexpected<sql::Error> SqlSession::refused(const PGresult* error, Commits commits) {
  const std::string sqlstate = sqlstate_of(error);
  const bool in_doubt = commits == Commits::yes && leaves_doubt(sqlstate);
  const StoreError kind = in_doubt ? StoreError::in_doubt : error_of_one_row(sqlstate);
  std::string why = refusal(session_->connection.get(), error);
  if (kind != StoreError::contended) return failed(kind, std::move(why));
  roll_back();  // a row that another transaction holds says nothing against the connection
  return Unexpected{sql::Error{kind, std::move(why)}};
}

sql::Result<Result> SqlSession::send(const char* sql, const Parameters& parameters,
                                     Commits commits) {
  const TextValues values = values_of(parameters);
  const Until until = std::chrono::steady_clock::now() + options_.operation_timeout;
  session_->notices->wait_cancelled = false;
  const Values given{.count = static_cast<int>(values.size()), .values = values.data()};
  Result result = ask(session_->connection.get(), sql, given, until);
  if (!result) return unanswered(until, commits);
  if (session_->notices->wait_cancelled) {
    ++doubts();
    return failed(StoreError::in_doubt, wait_cancelled_text);
  }
  if (!is_good(result.get())) return refused(result.get(), commits);
  hear();
  return result;
}

sql::Result<std::vector<sql::Rows>> SqlSession::send_each(const std::string& sql,
                                                          const std::vector<Parameters>& each,
                                                          Commits commits) {
  std::vector<TextValues> values;
  values.reserve(each.size());
  for (const Parameters& parameters : each) values.push_back(values_of(parameters));
  const Until until = std::chrono::steady_clock::now() + options_.operation_timeout;
  session_->notices->wait_cancelled = false;
  const auto results = ask_each(session_->connection.get(), sql.c_str(), values, until);
  if (!results) return unanswered(until, commits);
  if (session_->notices->wait_cancelled) {
    ++doubts();
    return failed(StoreError::in_doubt, wait_cancelled_text);
  }
  std::vector<Rows> all;
  for (const Result& result : *results) {
    if (!is_good(result.get())) return refused(result.get(), commits);
    all.push_back(rows_of(result.get()));
  }
  if (all.size() == each.size()) return all;
  return failed(commits == Commits::yes ? StoreError::in_doubt : StoreError::unavailable,
                "the server did not answer every statement");
}

// Behind a pooler a statement by itself could meet any session, with any search_path: it gets a
// transaction that says which. So does what is read after a commit in doubt: its transaction has
// something to commit that the standby must have too.
sql::Result<sql::Rows> SqlSession::run(const std::string& sql, const Parameters& parameters) {
  if (std::optional<std::string> trouble = ready()) {
    return failed(StoreError::unavailable, std::move(*trouble));
  }
  const bool alone = !in_transaction();
  if (alone && (!session_->facts.direct || is_doubtful())) {
    sql::Result<std::vector<Rows>> all = run_each(sql, {parameters});
    if (!all) return Unexpected{all.error()};
    return std::move(all->front());
  }
  const Commits commits = alone && !only_reads(sql) ? Commits::yes : Commits::no;
  const sql::Result<Result> answer = send(sql.c_str(), parameters, commits);
  if (!answer) return Unexpected{answer.error()};
  return rows_of(answer->get());
}

sql::Result<std::vector<sql::Rows>> SqlSession::run_each(const std::string& sql,
                                                         const std::vector<Parameters>& each) {
  if (std::optional<std::string> trouble = ready()) {
    return failed(StoreError::unavailable, std::move(*trouble));
  }
  const bool alone = !in_transaction();
  if (!alone || (session_->facts.direct && !is_doubtful())) {
    const Commits commits = alone && !only_reads(sql) ? Commits::yes : Commits::no;
    return send_each(sql, each, commits);
  }
  const sql::Result<Done> begun = begin(sql::Durability::durable, sql::LockWait::patient);
  if (!begun) return Unexpected{begun.error()};
  sql::Result<std::vector<Rows>> all = send_each(sql, each, Commits::no);
  if (!all) return all;
  const sql::Result<Done> committed = commit();
  if (committed) return all;
  // Nothing is written by reading, so nothing is in doubt.
  sql::Error error = committed.error();
  if (only_reads(sql) && error.kind == StoreError::in_doubt) error.kind = StoreError::unavailable;
  return Unexpected{std::move(error)};
}

sql::Result<Done> SqlSession::begin(sql::Durability durability, sql::LockWait wait) {
  if (std::optional<std::string> trouble = ready()) {
    return failed(StoreError::unavailable, std::move(*trouble));
  }
  const sql::Result<Result> begun = send("BEGIN", {}, Commits::no);
  if (!begun) return Unexpected{begun.error()};
  const bool durable = durability == sql::Durability::durable;
  Parameters values{durable ? session_->facts.synchronous_commit : "off", search_path,
                    std::nullopt};
  if (wait == sql::LockWait::brief) values.back() = batch_lock_timeout;
  const sql::Result<Result> set = send(settings, values, Commits::no);
  if (!set) return Unexpected{set.error()};
  doubts_at_begin_ = durable ? doubts().load() : doubts_settled_;
  if (durable && is_doubtful()) return confirm_reads();
  return Done{};
}

sql::Result<Done> SqlSession::confirm_reads() {
  if (!in_transaction()) {
    return Unexpected{sql::Error{StoreError::unavailable, "there is no transaction to confirm"}};
  }
  if (!has_standbys()) return Done{};
  const sql::Result<Result> marked = send(barrier_sql, {}, Commits::no);
  if (!marked) return Unexpected{marked.error()};
  return Done{};
}

sql::Result<Done> SqlSession::commit() {
  // Never by itself: whoever lost its transaction has been told.
  if (!in_transaction()) {
    return Unexpected{sql::Error{StoreError::unavailable, "there is no transaction to commit"}};
  }
  const sql::Result<Result> answer = send("COMMIT", {}, Commits::yes);
  if (!answer) return Unexpected{answer.error()};
  // A transaction that has failed is rolled back instead, and that is no error to the server.
  if (std::string_view(PQcmdStatus(answer->get())) == "COMMIT") {
    doubts_settled_ = doubts_at_begin_;
    return Done{};
  }
  return failed(StoreError::unavailable, "the server rolled the transaction back");
}

void SqlSession::roll_back() {
  if (!in_transaction()) return;
  static_cast<void>(send("ROLLBACK", {}, Commits::no));  // where it fails the connection is gone
}

}  // namespace pawl::postgres
