// The store's writes, one row each. They are made on the caller's thread, applied on the writer's
// (again, if the transaction has to be repeated), and read by the caller once it is awake again.
#pragma once

#include <memory>
#include <optional>

#include "src/adapters/resume/waiter.hpp"
#include "src/adapters/sqlite/row.hpp"
#include "src/adapters/sqlite/session.hpp"
#include "src/ports/store.hpp"

namespace pawl::sqlite {

// The writes of one call: whoever made them sleeps until the last one is done.
struct WriteGroup {
  std::unique_ptr<waiting::Waiter> waiter;
  std::size_t unfinished = 0;
  Instant store_time;
  std::int64_t purge_epoch = 0;
};

class Write {
 public:
  virtual ~Write() = default;
  // Within a transaction. SQLITE_OK, or the error that stopped it; then nothing of this
  // transaction will be kept.
  virtual int apply(Session& session, Instant now) = 0;

  std::size_t bytes = 0;
  WriteGroup* group = nullptr;
  std::optional<StoreError> error;  // set by the writer; if none, the write was committed
};

class InsertWrite final : public Write {
 public:
  explicit InsertWrite(Record&& fresh);
  int apply(Session& session, Instant now) override;
  StoreResult<Written> result(const WriteGroup& done) &&;

 private:
  SharedRecord fresh_;
  EncodedRow row_;
  bool inserted_ = false;
  std::optional<Record> current_;  // where it was not; nothing: cannot be understood
};

class ReplaceWrite final : public Write {
 public:
  explicit ReplaceWrite(Replacement&& change);
  int apply(Session& session, Instant now) override;
  StoreResult<Written> result(const WriteGroup& done) &&;

 private:
  int write_audit(Session& session, Instant now);

  SharedRecord next_;
  Guard expected_;
  std::optional<AuditEntry> audit_;
  EncodedRow row_;
  bool replaced_ = false;
  bool found_ = false;
  std::optional<Record> current_;
};

class EraseWrite final : public Write {
 public:
  explicit EraseWrite(Erasure erasure);
  int apply(Session& session, Instant now) override;
  [[nodiscard]] bool erased() const { return erased_; }

 private:
  Erasure erasure_;
  bool erased_ = false;
};

class EvidenceWrite final : public Write {
 public:
  explicit EvidenceWrite(LateEvidence evidence);
  int apply(Session& session, Instant now) override;

 private:
  LateEvidence evidence_;
  std::optional<std::string> headers_;
};

// Reads one row: SQLITE_ROW, SQLITE_DONE or an error. SQLITE_ROW without a record: it cannot be
// understood.
int find_row(Session& session, const Scope& scope, const Key& key, std::optional<Record>& row);

}  // namespace pawl::sqlite
