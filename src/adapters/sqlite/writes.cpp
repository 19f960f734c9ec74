#include "src/adapters/sqlite/writes.hpp"

#include "pawl/types/check.hpp"
#include "src/adapters/sqlite/codec.hpp"

namespace pawl::sqlite {
namespace {

// As written by this caller, now or in an earlier try.
bool is_own_write(const Record& current, const Record& written) {
  return current.owner == written.owner && guard_of(current) == guard_of(written);
}

// A guard that no row can fulfil: a lease where there is none, or none where there must be.
bool can_hold(const Guard& guard) {
  return (guard.status == Status::in_progress) == guard.locked_until.has_value();
}

void bind_guard(Statement& statement, int at, const Guard& guard) {
  statement.bind(at, guard.fence.number);
  statement.bind_text(at + 1, to_text(guard.status));
  guard.locked_until ? statement.bind(at + 2, micros(*guard.locked_until))
                     : statement.bind_null(at + 2);
}

}  // namespace

int find_row(Session& session, const Scope& scope, const Key& key, std::optional<Record>& row) {
  Statement& find = session.statements().find;
  const ResetOnExit reset(find);
  find.bind_text(1, scope.text);
  find.bind_text(2, key.text);
  const int code = find.step();
  row.reset();
  if (code == SQLITE_ROW) row = read_row(find);
  return code;
}

InsertWrite::InsertWrite(Record&& fresh)
    : fresh_(std::make_shared<const Record>(std::move(fresh))), row_(encoded(*fresh_)) {
  PAWL_CHECK(!broken_invariant(*fresh_));
  bytes = row_bytes(*fresh_, row_);
}

int InsertWrite::apply(Session& session, Instant) {
  Statement& insert = session.statements().insert;
  bind_row(insert, *fresh_, row_);
  if (const int code = insert.run(); code != SQLITE_OK) return code;
  inserted_ = session.connection().changed_a_row();
  if (inserted_) return SQLITE_OK;
  const int code = find_row(session, fresh_->scope, fresh_->key, current_);
  if (code == SQLITE_DONE) return SQLITE_CORRUPT;  // the unique index has it, the table has not
  return code == SQLITE_ROW ? SQLITE_OK : code;
}

StoreResult<Written> InsertWrite::result(const WriteGroup& done) && {
  if (error) return Unexpected{*error};
  if (inserted_) return Written{true, fresh_, done.store_time, done.purge_epoch};
  if (!current_) return Unexpected{StoreError::unreadable};
  const bool mine = is_own_write(*current_, *fresh_);
  return Written{mine, share(std::move(*current_)), done.store_time, done.purge_epoch};
}

ReplaceWrite::ReplaceWrite(Replacement&& change)
    : next_(std::make_shared<const Record>(std::move(change.next))),
      expected_(change.expected),
      audit_(std::move(change.audit)),
      row_(encoded(*next_)) {
  PAWL_CHECK(!broken_invariant(*next_));
  bytes = row_bytes(*next_, row_);
}

int ReplaceWrite::apply(Session& session, Instant now) {
  replaced_ = false;
  if (can_hold(expected_)) {
    Statement& replace = session.statements().replace;
    bind_row(replace, *next_, row_);
    bind_guard(replace, row_columns + 1, expected_);
    if (const int code = replace.run(); code != SQLITE_OK) return code;
    replaced_ = session.connection().changed_a_row();
    if (replaced_) return audit_ ? write_audit(session, now) : SQLITE_OK;
  }
  const int code = find_row(session, next_->scope, next_->key, current_);
  found_ = code == SQLITE_ROW;
  return found_ || code == SQLITE_DONE ? SQLITE_OK : code;
}

int ReplaceWrite::write_audit(Session& session, Instant now) {
  Statement& audit = session.statements().audit;
  audit.bind(1, micros(now));
  audit.bind_text(2, next_->scope.text);
  audit.bind_text(3, next_->key.text);
  audit.bind(4, next_->fence.number);
  audit.bind_text(5, to_text(expected_.status));
  audit.bind_text(6, to_text(status_of(*next_)));
  audit.bind_text(7, audit_->actor);
  audit.bind_text(8, audit_->action);
  audit.bind_text(9, audit_->reason);
  return audit.run();
}

StoreResult<Written> ReplaceWrite::result(const WriteGroup& done) && {
  if (error) return Unexpected{*error};
  if (replaced_) return Written{true, next_, done.store_time, done.purge_epoch};
  if (!found_) return Written{false, nullptr, done.store_time, done.purge_epoch};
  if (!current_) return Unexpected{StoreError::unreadable};
  const bool mine = is_own_write(*current_, *next_);
  return Written{mine, share(std::move(*current_)), done.store_time, done.purge_epoch};
}

EraseWrite::EraseWrite(Erasure erasure) : erasure_(std::move(erasure)) {
  bytes = 128 + erasure_.scope.text.size() + erasure_.key.text.size();
}

int EraseWrite::apply(Session& session, Instant) {
  erased_ = false;
  if (!can_hold(erasure_.expected)) return SQLITE_OK;
  Statement& erase = session.statements().erase;
  erase.bind_text(1, erasure_.scope.text);
  erase.bind_text(2, erasure_.key.text);
  bind_guard(erase, 3, erasure_.expected);
  if (const int code = erase.run(); code != SQLITE_OK) return code;
  erased_ = session.connection().changed_a_row();
  return SQLITE_OK;
}

EvidenceWrite::EvidenceWrite(LateEvidence evidence) : evidence_(std::move(evidence)) {
  bytes = 256 + evidence_.detail.size();
  if (!evidence_.response) return;
  headers_ = encode_headers(evidence_.response->headers);
  bytes += headers_->size() + (evidence_.response->body ? evidence_.response->body->size() : 0);
}

int EvidenceWrite::apply(Session& session, Instant now) {
  Statement& keep = session.statements().keep_evidence;
  keep.bind_text(1, evidence_.scope.text);
  keep.bind_text(2, evidence_.key.text);
  keep.bind(3, evidence_.fence.number);
  keep.bind_text(4, evidence_.owner.text);
  keep.bind_text(5, evidence_.fingerprint.text);
  keep.bind(6, std::int64_t{evidence_.attempt});
  keep.bind_text(7, to_text(evidence_.evidence));
  bind_response(keep, 8, evidence_.response ? &*evidence_.response : nullptr, headers_);
  keep.bind_text(12, evidence_.detail);
  keep.bind(13, micros(now));
  return keep.run();
}

}  // namespace pawl::sqlite
