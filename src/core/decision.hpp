// The decision: what a request may do, given what is on record.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "pawl/types/policy.hpp"
#include "pawl/types/record.hpp"

namespace pawl {

// A request that wants its key. Its meaning was hashed under today's rules; `meant_then` hashes it
// again under a record's own, so that a rotated secret or a changed rule never turns an honest
// retry into misuse.
struct Request {
  Scope scope;
  Key key;
  Fingerprint fingerprint;
  std::function<bool(const Fingerprint& stored, const FingerprintRules& rules_then)> meant_then;
  std::string method;
  std::string path;
  std::string route;
  std::string credentials;              // where no caller was chosen: a digest; see StoredPolicy
  std::optional<StoredRequest> stored;  // async routes: what the worker will send
};

// One try at a request: who, and when by the store's clock.
struct Attempt {
  Owner owner;
  Instant now;
  // False while store time and the node's own clock drift apart: then nothing expires and no lease
  // lapses, because a clock that jumped must not make a key new.
  bool clock_trusted = true;
  // The owner token came from outside (the key API): its holder may have acted under it already, so
  // a lease of its own that is over is unknown like any other. And it is good for one attempt: a
  // call with it that comes late must not take the key for an owner that has long released it.
  bool may_have_acted = false;
  // The store was put back from a backup and has forgotten keys: one that it does not know may have
  // been used, so it is not new.
  bool forgotten = false;
};

struct Execute {  // the only decision that may touch the upstream
  friend bool operator==(const Execute&, const Execute&) = default;
};
struct Replay {
  StoredResponse response;
  friend bool operator==(const Replay&, const Replay&) = default;
};
struct InFlight {
  Duration lease_left;
  bool pending = false;  // accepted, waiting for a worker
  friend bool operator==(const InFlight&, const InFlight&) = default;
};
struct Misuse {
  friend bool operator==(const Misuse&, const Misuse&) = default;
};
struct Undetermined {
  Duration until_reconciled;
  friend bool operator==(const Undetermined&, const Undetermined&) = default;
};
struct Gone {
  friend bool operator==(const Gone&, const Gone&) = default;
};

// The owner's token, brought from outside, has had its attempt: released, or its lease is over.
struct Spent {
  friend bool operator==(const Spent&, const Spent&) = default;
};

// The record was made by other credentials, and no way to tell callers apart is configured.
struct Unproven {
  friend bool operator==(const Unproven&, const Unproven&) = default;
};

// The store was restored from a backup, and this key may have been used after it was made.
struct Restored {
  friend bool operator==(const Restored&, const Restored&) = default;
};

using Decision =
    std::variant<Execute, Replay, InFlight, Misuse, Undetermined, Gone, Spent, Unproven, Restored>;

enum class DecisionKind {
  execute,
  replay,
  in_flight,
  misuse,
  undetermined,
  gone,
  spent,
  unproven,
  restored
};

DecisionKind kind_of(const Decision& decision);

// The words of the metric pawl_reserve_total{decision}.
template <>
struct Names<DecisionKind> {
  static constexpr NameTable<DecisionKind, 9> table{{{DecisionKind::execute, "created"},
                                                     {DecisionKind::replay, "replay"},
                                                     {DecisionKind::in_flight, "in_progress"},
                                                     {DecisionKind::misuse, "key_misuse"},
                                                     {DecisionKind::undetermined, "unknown"},
                                                     {DecisionKind::gone, "expired"},
                                                     {DecisionKind::spent, "spent"},
                                                     {DecisionKind::unproven, "caller_unproven"},
                                                     {DecisionKind::restored, "store_restored"}}};
};

// The answer, and what must be written before it may be acted on.
struct Verdict {
  Decision decision;
  std::optional<Record> next;
};

// The record of a key that was never used: in_progress under this attempt, or pending on an async
// route.
Record first_record(const Request& request, const Policy& policy, const Attempt& attempt);

// Design section 3, row by row. Pure: it has never heard of databases or status codes. It may be
// asked only before anything was sent under `attempt`, or with `may_have_acted`.
Verdict decide(const Record& record, const Request& request, const Policy& policy,
               const Attempt& attempt);

// A worker's claim on a pending record, or on a flow that its owner abandoned: the same record, in
// progress under a higher fence. Nothing if it is neither.
std::optional<Record> claimed(const Record& record, const Attempt& attempt);

}  // namespace pawl
