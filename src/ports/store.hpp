// The store: where records live, and what carries the promise.
//
// A store decides nothing. It applies what the core decided, atomically and durably, and says what
// it found. Two guarded writes do all of it: insert unless taken, and replace what has not changed.
// A third, erase, is for the reaper.
//
// Every method may be called from several coroutines and, unless an adapter says otherwise, from
// several threads at once. Operations that arrive together may share one commit below this port;
// callers read as if they were alone. Arguments are taken by value where a coroutine keeps them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pawl/types/expected.hpp"
#include "pawl/types/names.hpp"
#include "pawl/types/outcome.hpp"
#include "pawl/types/record.hpp"
#include "src/ports/task.hpp"

namespace pawl {

// Named by what the caller may do next.
enum class StoreError {
  unavailable,  // nothing was written: fail closed, the client may retry
  contended,    // nothing was written: lost every round, answer with Retry-After
  in_doubt,     // perhaps written: ask again with the same owner, assume nothing
  unreadable,   // this row cannot be understood (corrupt, newer version): leave it alone, 503
};

template <>
struct Names<StoreError> {
  static constexpr NameTable<StoreError, 4> table{{{StoreError::unavailable, "unavailable"},
                                                   {StoreError::contended, "contended"},
                                                   {StoreError::in_doubt, "in_doubt"},
                                                   {StoreError::unreadable, "unreadable"}}};
};

template <class T>
using StoreResult = Expected<T, StoreError>;

// What a write found. `mine`: the row is as this caller wrote it, just now or in an earlier try
// whose acknowledgement was lost; told by fence, owner, status and lease.
struct Written {
  bool mine = false;
  // The row afterwards. Null only where a replace found no row at all.
  SharedRecord current;
  // The store's clock at some moment between the call and its return.
  Instant store_time;
  // As it was when the row was read: see StoreClock.
  std::int64_t purge_epoch = 0;
};

struct StoreClock {
  Instant now;
  // Raised by every purge. Whoever keeps answers in memory forgets them when it sees a new one.
  std::int64_t purge_epoch = 0;
};

// Who did what by hand, or against the usual order, and why. Written in the same commit as the
// change.
struct AuditEntry {
  std::string actor;
  std::string action;  // "resolve", "release", "purge", "late-answer", ...
  std::string reason;
  friend bool operator==(const AuditEntry&, const AuditEntry&) = default;
};

struct Replacement {
  Record next;
  Guard expected;
  std::optional<AuditEntry> audit;
};

// An answer that came too late to count: its owner had lost the record. Outlives the record.
struct LateEvidence {
  Scope scope;
  Key key;
  Fence fence;
  Owner owner;
  Fingerprint fingerprint;
  int attempt = 1;
  Evidence evidence = Evidence::sent;
  std::optional<StoredResponse> response;
  std::string detail;
  friend bool operator==(const LateEvidence&, const LateEvidence&) = default;
};

struct Erasure {
  Scope scope;
  Key key;
  Guard expected;
};

// A page of work for a background pass: rows of any scope, oldest first.
struct PassQuery {
  Instant now;
  std::size_t rows_max = 500;
};

class Store {
 public:
  virtual ~Store() = default;

  // Inserts each record unless its (scope, key) is taken, and shows what is there. Results are in
  // the order of the arguments; one bad row never fails its neighbours. Two records of one key in a
  // batch: one wins, the other is shown it.
  virtual Task<std::vector<StoreResult<Written>>> insert_or_read(std::vector<Record> fresh) = 0;

  // Writes `next` only over a row in which `expected` holds. Repeating it is harmless. What a
  // record was accepted under (fingerprint, method, path, route, policy, created_at) is fixed while
  // its fence stands: a replacement that keeps the fence need not write it again.
  virtual Task<std::vector<StoreResult<Written>>> replace(std::vector<Replacement> batch) = 0;

  // Deletes each row in which `expected` holds; true where it did.
  virtual Task<StoreResult<std::vector<bool>>> erase(std::vector<Erasure> batch) = 0;

  virtual Task<StoreResult<std::optional<Record>>> find(Scope scope, Key key) = 0;

  // The store's clock, and its purge epoch, at some moment between the call and its return.
  virtual Task<StoreResult<StoreClock>> time() = 0;

  // in_progress with a lease that ended at or before `now`.
  virtual Task<StoreResult<std::vector<Record>>> lapsed(PassQuery query) = 0;
  // completed, failed_retryable, pending and expired past `expires_at`. Never in_progress, never
  // unknown, and not what is kept however old it is: flows half done.
  virtual Task<StoreResult<std::vector<Record>>> past_retention(PassQuery query) = 0;
  // unknown with `reconcile_after` at or before `now`.
  virtual Task<StoreResult<std::vector<Record>>> undetermined(PassQuery query) = 0;

  // pending, created and not to be left alone at `now` (`Pending::not_before`): work for the
  // workers of async routes. Those that were to be tried first come first.
  virtual Task<StoreResult<std::vector<Record>>> pending(PassQuery query) = 0;

  // How many records of a scope are pending, in_progress or unknown; so many at most.
  virtual Task<StoreResult<std::size_t>> count_active(Scope scope, std::size_t up_to) = 0;

  virtual Task<StoreResult<Done>> keep_evidence(LateEvidence evidence) = 0;

  // How many rows the last passes met that cannot be understood (corrupt, a newer version). They
  // are stepped over: nothing but their own keys waits for them.
  [[nodiscard]] virtual std::size_t unreadable_rows() const { return 0; }

  // One-row forms of the two writes.
  Task<StoreResult<Written>> insert_or_read_one(Record fresh);
  Task<StoreResult<Written>> replace_one(Replacement replacement);
};

}  // namespace pawl
