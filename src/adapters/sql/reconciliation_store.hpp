// ReconciliationStore in SQL: one set of statements for every store that speaks it.
//
// The statements are few and rare, so they are not worth writing twice; what differs between two
// stores (how a time or bytes are read as text, how a transaction begins) is theirs to say.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/ports/reconciliation_store.hpp"

namespace pawl::cases {

// What one store says differently. Values go in and come out as text.
class Sql {
 public:
  using Row = std::vector<std::optional<std::string>>;
  using Rows = std::vector<Row>;

  virtual ~Sql() = default;

  // Tables are named "pawl.cases" and parameters "$1": a store that says otherwise translates. An
  // error ends the connection, and with it any transaction.
  virtual Expected<Rows, std::string> run(const std::string& sql,
                                          const std::vector<std::string>& parameters) = 0;
  // Begins a transaction that is durable once it is committed.
  virtual Expected<Done, std::string> begin() = 0;
  virtual void disconnect() = 0;

  // SQL that gives the store's time in microseconds.
  [[nodiscard]] virtual std::string now() const = 0;
  // SQL that gives a column of the older tables as microseconds or as hexadecimal digits.
  [[nodiscard]] virtual std::string micros(const std::string& column) const = 0;
  [[nodiscard]] virtual std::string hexadecimal(const std::string& column) const = 0;
  // Audit rows, and how one is written: key, fence, before, after, actor, action, reason, at, id.
  [[nodiscard]] virtual std::string audit_columns() const = 0;
  [[nodiscard]] virtual std::string audit_insert() const = 0;
  // When evidence was kept, and an audit entry written; what tells their rows apart.
  [[nodiscard]] virtual std::string evidence_time() const = 0;
  [[nodiscard]] virtual std::string audit_time() const = 0;
  [[nodiscard]] virtual std::string trail_id() const = 0;
  // A parameter of microseconds, as the older tables keep a time.
  [[nodiscard]] virtual std::string instant(const std::string& parameter) const = 0;
  // The table of what the store records about itself, and an expression for its schema's version.
  [[nodiscard]] virtual std::string facts() const = 0;
  [[nodiscard]] virtual std::string schema_version() const = 0;
  // "FROM ... k": the rows of pawl.keys in this status, found by an index.
  [[nodiscard]] virtual std::string keys_in(const std::string& status) const = 0;
  // A condition: the record in `k` was accepted on an async route.
  [[nodiscard]] virtual std::string is_async() const = 0;
  // A statement that forgets how dead letters were found that are none any more; empty: none is
  // needed.
  [[nodiscard]] virtual std::string tidy_dead() const { return {}; }
  [[nodiscard]] virtual std::optional<Headers> decode_headers(std::string_view text) const = 0;
};

// Every node that sees it empties its caches.
std::string raise_purge_epoch(const Sql& sql);

class SqlReconciliationStore : public ReconciliationStore {
 public:
  explicit SqlReconciliationStore(std::unique_ptr<Sql> sql) : sql_(std::move(sql)) {}

  Result<std::optional<Case>> take(const CaseClaim& taking) override;
  Result<Done> change(const CaseId& id, const CaseChange& change) override;
  Result<bool> reopen(const Scope& scope, const Key& key, const CaseNote& note) override;
  Result<bool> keep_event(const WebhookEvent& event) override;
  Result<std::vector<WebhookEvent>> events_of(const std::string& subject) override;
  Result<Done> applied(const WebhookEvent& event, const std::string& as) override;
  Result<std::vector<WebhookEvent>> waiting_events(Instant now, std::size_t events_max) override;
  Result<Done> look_again(const WebhookEvent& event, Instant at) override;
  Result<std::vector<Case>> cases_of(const std::string& subject) override;
  Result<std::optional<Case>> find(const Scope& scope, const Key& key) override;
  Result<std::vector<CaseNote>> notes_of(const Scope& scope, const Key& key) override;
  Result<std::vector<AuditRow>> audit_of(const Scope& scope, const Key& key) override;
  Result<std::vector<LateEvidence>> evidence_of(const Scope& scope, const Key& key) override;
  Result<std::vector<ListedKey>> list(Listed which, std::size_t keys_max) override;
  Result<std::vector<KeyRef>> keys_after(const Scope& scope, const Key& key,
                                         std::size_t keys_max) override;
  Result<ScopesOfKey> scopes_of(const Key& key, std::size_t scopes_max) override;
  Result<std::size_t> count_dead() override;
  Result<std::size_t> count_async_dead() override;
  Result<std::vector<CaseId>> in_doubt(const std::string& scopes, const std::string& route,
                                       Instant now, std::size_t cases_max) override;
  Result<LedgerPage> ledger_page(const LedgerQuery& query) override;
  Result<bool> take_comparison(const std::string& source, Duration takes_at_most) override;
  Result<Done> compared(const Comparison& comparison, Duration next_in) override;
  Result<std::vector<Comparison>> comparisons() override;
  Result<bool> purge(const Scope& scope, const Key& key, const Guard& expected,
                     const AuditEntry& audit) override;
  Result<std::size_t> reap(Instant before) override;
  void disconnect() override { sql_->disconnect(); }

 private:
  Result<std::vector<ListedKey>> list_in(const std::string& status, const std::string& condition,
                                         std::size_t keys_max);

  // Statements that are committed together; the rows are those of the first.
  struct Statement {
    std::string sql;
    std::vector<std::string> parameters;
  };
  Result<Sql::Rows> together(const std::vector<Statement>& statements);
  Statement note_statement(const Scope& scope, const Key& key, const CaseNote& note);

  std::unique_ptr<Sql> sql_;
};

}  // namespace pawl::cases
