// The record: one row per (scope, key), and the only thing that is ever written about a request.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "pawl/types/fingerprint.hpp"
#include "pawl/types/http.hpp"
#include "pawl/types/key.hpp"
#include "pawl/types/names.hpp"
#include "pawl/types/policy.hpp"
#include "pawl/types/time.hpp"

namespace pawl {

// Rises with every new owner of a record, and never repeats for a key even after the record was
// deleted: the first one is the store's time in microseconds.
struct Fence {
  std::int64_t number = 0;
  friend auto operator<=>(const Fence&, const Fence&) = default;
};

// A random token per attempt. It tells an owner its own write after a lost acknowledgement.
struct Owner {
  std::string text;
  friend auto operator<=>(const Owner&, const Owner&) = default;
};

// How answers are stored by this version. One of a later version is not understood, and so never
// replayed.
inline constexpr int response_schema_version = 1;

// An answer as it is replayed: exact bytes. No body means that it was too large to keep; the
// original was delivered, a replay says so.
struct StoredResponse {
  int status = 0;
  Headers headers;
  std::optional<std::string> body;
  int schema_version = response_schema_version;
  friend bool operator==(const StoredResponse&, const StoredResponse&) = default;
};

// What an async route keeps so that a worker can send it later.
struct StoredRequest {
  std::string target;
  Headers headers;
  std::string body;
  friend bool operator==(const StoredRequest&, const StoredRequest&) = default;
};

// Accepted durably, not yet claimed.
struct Pending {
  Instant not_before{};                // a refused try: when the next one may be made
  bool resolved_not_executed = false;  // as in FailedRetryable
  friend bool operator==(const Pending&, const Pending&) = default;
};
// An owner executes; it is presumed alive until `locked_until`.
struct InProgress {
  Instant locked_at;
  Instant locked_until;
  friend bool operator==(const InProgress&, const InProgress&) = default;
};
// An answer is stored, success or business error. Immutable.
struct Completed {
  StoredResponse response;
  Instant completed_at;
  friend bool operator==(const Completed&, const Completed&) = default;
};
// It is proven, or the upstream has said, that nothing happened: may run again.
struct FailedRetryable {
  // Its outcome was unknown, and reconciliation or an operator has found that it was not executed.
  // A proof of the opposite is still accepted until it is taken over.
  bool resolved_not_executed = false;
  friend bool operator==(const FailedRetryable&, const FailedRetryable&) = default;
};
// It may have happened: only resolve, or the owner's own answer if it still comes, leaves this
// state.
struct Unknown {
  Instant reconcile_after;
  Instant locked_until;  // when the last lease ended: an owner may still be sending a while longer
  Instant locked_at{};   // when the attempt began whose outcome is not known
  bool dead_lettered = false;  // no source is asked any more: an operator must decide, or an event
  friend bool operator==(const Unknown&, const Unknown&) = default;
};
// A tombstone: the key was used and its answer is gone.
struct Expired {
  friend bool operator==(const Expired&, const Expired&) = default;
};

using State = std::variant<Pending, InProgress, Completed, FailedRetryable, Unknown, Expired>;

enum class Status { pending, in_progress, completed, failed_retryable, unknown, expired };

Status status_of(const State& state);

template <>
struct Names<Status> {
  static constexpr NameTable<Status, 6> table{{{Status::pending, "pending"},
                                               {Status::in_progress, "in_progress"},
                                               {Status::completed, "completed"},
                                               {Status::failed_retryable, "failed_retryable"},
                                               {Status::unknown, "unknown"},
                                               {Status::expired, "expired"}}};
};

struct Record {
  Scope scope;
  Key key;
  Fingerprint fingerprint;
  State state;
  Fence fence;
  Owner owner;
  int attempt = 1;
  std::string recovery_point;
  std::string method;
  std::string path;
  std::string route;
  std::optional<StoredRequest> request;
  std::string resource_type;
  std::string resource_id;
  std::string last_error;
  StoredPolicy policy;
  Instant created_at;
  Instant expires_at;

  friend bool operator==(const Record&, const Record&) = default;
};

// As it was read or written. It is never changed, so it may be shared: a record is large, and is
// passed on often.
using SharedRecord = std::shared_ptr<const Record>;
inline SharedRecord share(Record record) {
  return std::make_shared<const Record>(std::move(record));
}

inline Status status_of(const Record& record) { return status_of(record.state); }

// Pending, in_progress or unknown: not finished.
bool is_open(const Record& record);

// failed_retryable, or pending again, by a reconciliation result: still under the token and the
// fence of the owner whose outcome was unknown, which may still settle it.
bool resolved_as_not_executed(const Record& record);

// What must still be true of the row for a write to happen: it was not taken over (fence), not
// settled (status), and its lease not renewed (locked_until, for in_progress).
struct Guard {
  Fence fence;
  Status status = Status::pending;
  std::optional<Instant> locked_until;
  friend bool operator==(const Guard&, const Guard&) = default;
};

Guard guard_of(const Record& record);
bool holds(const Guard& guard, const Record& record);

// Names the execution that produced an answer; the same for all its replays. Derived from what is
// stored, so it needs no column: a fence never repeats for a key.
std::string request_id(const Record& record);

// Checked before every write and after every read. Nothing, or which rule the record breaks.
std::optional<std::string> broken_invariant(const Record& record);

}  // namespace pawl
