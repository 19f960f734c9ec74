#include "src/adapters/postgres/reconciliation_store.hpp"

#include "src/adapters/postgres/blocking.hpp"
#include "src/adapters/postgres/row.hpp"
#include "src/adapters/sql/upkeep.hpp"

namespace pawl::postgres {
namespace {

class PostgresSql final : public cases::Sql {
 public:
  PostgresSql(std::string url, Options options) : connection_(std::move(url), options) {}

  Expected<Rows, std::string> run(const std::string& sql,
                                  const std::vector<std::string>& parameters) override {
    const BlockingSession::Parameters values(parameters.begin(), parameters.end());
    const BlockingSession::Answer answer = connection_.run(sql.c_str(), values);
    if (!answer) return Unexpected{answer.error()};
    const int columns = PQnfields(answer->handle());
    Rows rows;
    for (int i = 0; i < answer->count(); ++i) {
      Row row;
      for (int j = 0; j < columns; ++j) {
        row.push_back(answer->null(i, j) ? std::nullopt : std::optional(answer->text(i, j)));
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }

  Expected<Done, std::string> begin() override {
    const BlockingSession::Answer begun = connection_.begin();
    if (!begun) return Unexpected{begun.error()};
    return Done{};
  }

  void disconnect() override { connection_.disconnect(); }

  [[nodiscard]] std::string micros(const std::string& column) const override {
    return "(extract(epoch FROM " + column + ") * 1000000)::bigint";
  }
  [[nodiscard]] std::string hexadecimal(const std::string& column) const override {
    return "encode(" + column + ", 'hex')";
  }
  [[nodiscard]] std::string audit_columns() const override {
    return micros("recorded_at") + ", fence, status_before, status, actor, action, reason";
  }
  [[nodiscard]] std::string audit_insert() const override {
    return "INSERT INTO pawl.audit (scope_id, idempotency_key, fence, status_before, status, actor,"
           " action, reason, id, recorded_at) VALUES ($1, $2, CAST($3 AS bigint), $4, $5, $6, $7,"
           " $8, decode($9, 'hex'), now()) ON CONFLICT (scope_id, id) DO NOTHING";
  }
  [[nodiscard]] std::string evidence_time() const override { return "recorded_at"; }
  [[nodiscard]] std::string audit_time() const override { return "recorded_at"; }
  [[nodiscard]] std::string trail_id() const override { return "scope_id, id"; }
  [[nodiscard]] std::string instant(const std::string& parameter) const override {
    return "(timestamptz 'epoch' + CAST(" + parameter + " AS bigint) * interval '1 microsecond')";
  }
  [[nodiscard]] std::string now() const override { return micros("now()"); }
  [[nodiscard]] std::string facts() const override { return "pawl.facts"; }
  [[nodiscard]] std::string schema_version() const override {
    return "max(version) FROM pawl.schema_migrations";
  }
  // The notes name every key in such a status; the table has no index on it.
  [[nodiscard]] std::string keys_in(const std::string& status) const override {
    return "FROM (SELECT DISTINCT d.scope_id, unnest(d.idempotency_keys) COLLATE \"C\""
           " AS idempotency_key FROM pawl.due d WHERE d.kind = '" +
           status + "') n JOIN pawl.keys k USING (scope_id, idempotency_key)";
  }
  [[nodiscard]] std::string is_async() const override { return "k.policy ->> 'mode' = 'async'"; }
  [[nodiscard]] std::string tidy_dead() const override {
    return "DELETE FROM pawl.due d WHERE d.kind = 'failed_retryable' AND NOT EXISTS (SELECT 1 FROM"
           " unnest(d.idempotency_keys) AS n(idempotency_key) JOIN pawl.keys k"
           " ON k.scope_id = d.scope_id AND k.idempotency_key = n.idempotency_key COLLATE \"C\""
           " WHERE k.status = 'failed_retryable')";
  }
  [[nodiscard]] std::optional<Headers> decode_headers(std::string_view text) const override {
    return text.empty() ? Headers{} : postgres::decode_headers(text);
  }

 private:
  BlockingSession connection_;
};

}  // namespace

std::unique_ptr<ReconciliationStore> cases_in(std::string url, Options options) {
  return std::make_unique<cases::SqlReconciliationStore>(
      std::make_unique<PostgresSql>(std::move(url), options));
}

std::unique_ptr<Upkeep> upkeep_in(std::string url, Options options) {
  return std::make_unique<cases::SqlUpkeep>(std::make_unique<PostgresSql>(std::move(url), options));
}

}  // namespace pawl::postgres
