// The engine: the core's decisions carried out over a store and an upstream.
//
// An Engine belongs to one thread: all its coroutines run on one executor, and its leases need no
// lock. A program with several threads has an engine on each; they meet in the store like nodes do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pawl/types/metrics.hpp"
#include "pawl/types/outcome.hpp"
#include "src/core/decision.hpp"
#include "src/core/store_time.hpp"
#include "src/ports/clock.hpp"
#include "src/ports/entropy.hpp"
#include "src/ports/store.hpp"
#include "src/ports/upstream.hpp"

namespace pawl {

class Orphans;  // src/engine/orphans.hpp

// The store was put back from a backup. What happened between `since`, when the backup was made,
// and `at`, when it was put back, is forgotten: a key that may have been used then is not new, for
// a retention after it.
struct Restoration {
  Instant since;
  Instant at;
  Instant until;
  // An operator vouches for the clocks of all clients: the time in a UUID of version 7 is believed.
  bool trust_uuidv7 = false;
  friend bool operator==(const Restoration&, const Restoration&) = default;
};

struct EngineOptions {
  int rounds_max = 8;  // of a write that keeps losing its race
  Duration settle_timeout =
      std::chrono::seconds(10);  // how long an outcome is tried to be recorded
  Duration retry_pause = std::chrono::milliseconds(50);  // doubled per try, with jitter
  Duration retry_pause_max = std::chrono::seconds(2);
  std::size_t pass_rows_max = 500;
  SettleOptions settle;
  // Shared by the engines of a process; one of its own where there is none.
  std::shared_ptr<Orphans> orphans;
};

// What reserve found. On Execute the record is ours: in progress under our owner and fence.
struct Reservation {
  Decision decision;
  SharedRecord record;  // as it is stored; on Restored, as it would have been
  bool begun = false;   // new work, by this very reservation: executed, or left to a worker
};

// A record we own, kept alive by `renew` until it is settled or given up.
struct Lease {
  // in_progress, with the lease as last confirmed. Shared: a renewal puts another in its place
  // while the request that was sent under this one is still under way.
  SharedRecord record;
  // When it is over: by the node's own clock, and the same moment by the store's. Set together,
  // and only by a clock that is to be trusted.
  BootTime ends;
  Instant ends_at;
  BootTime renew_until;  // past this a hung owner does not hold its key any longer
  bool lost = false;     // another owner settled it or took it over
  SettleOptions settle;  // of its route
  // When this owner tried to record its answer: a completion of another date is the service's own.
  std::vector<Instant> completing_at;
};

// What became of an execution.
struct Settlement {
  SharedRecord record;       // as it is stored now
  bool recorded = false;     // our outcome is what is stored
  bool superseded = false;   // the fence had moved on: our outcome was kept as evidence
  bool uncommitted = false;  // a 2xx of a transactional route whose service did not complete
};

// What an owner outside of this process holds, as it names it with every write (the key API).
struct Grant {
  Scope scope;
  Key key;
  Owner owner;
  Fence fence;
};

// How far such an owner has come: from the recovery point that it holds to the next one.
struct Step {
  std::string after;
  std::string to;
};

// What became of such an owner's write.
struct GrantWrite {
  bool done = false;              // as it was asked for, by this call or by an earlier one
  std::optional<Record> current;  // the record now; where not done, nothing of it was changed
};

// Whether an answer under this grant may tell of something that happened, given what is there now:
// under an earlier fence, or where the record has gone. Under a later one nothing was ever granted.
bool is_evidence(const Grant& grant, const std::optional<Record>& found);

struct NotFound {};
using ResolveFailure = std::variant<StoreError, ResolveRefusal, NotFound>;

struct PassReport {
  std::size_t seen = 0;
  std::size_t changed = 0;
  std::size_t waiting = 0;  // sweep: to be resumed
};

// What a guarded request comes to.
struct Refused {  // no execution: a replay, a conflict, a misuse, ...
  Reservation reservation;
};
struct Executed {
  Outcome outcome;
  StoreResult<Settlement> settlement;
  // Where the settlement failed: with it the outcome can be tried to be recorded later on.
  std::shared_ptr<Lease> lease;
};
struct Unreserved {  // fail closed: nothing was sent
  StoreError error;
};
using Guarded = std::variant<Refused, Executed, Unreserved>;

class Engine {
 public:
  Engine(Store& store, Clock& clock, Entropy& entropy, Metrics& metrics,
         EngineOptions options = {});

  // Asks the store for its time; afterwards it is known. Call before the first request, and now and
  // then when idle.
  Task<StoreResult<Done>> sync_time();
  [[nodiscard]] const StoreTime& time() const { return time_; }
  // The newest that the store has told.
  [[nodiscard]] std::int64_t purge_epoch() const { return purge_epoch_; }

  // While it is in force, a key that the store does not know is refused (decision Restored).
  void set_restored(std::optional<Restoration> restoration) { restoration_ = restoration; }
  // Whether a key without a record may have been used in the time that the store has forgotten.
  [[nodiscard]] bool is_forgotten(const Key& key, Instant now) const;

  // Reserves the key, sends once if that is what was decided, settles. From the reservation to the
  // settlement it must not be cancelled; run it in a coroutine of its own.
  Task<Guarded> guard(const Request& request, const Policy& policy, Upstream& upstream);

  Task<StoreResult<Reservation>> reserve(const Request& request, const Policy& policy);

  // For an owner outside of this process, under the token it brings. Repeating it is harmless: it
  // is granted again what it holds. What could not be confirmed is left to its lease, since the
  // same token may have been granted it through another node.
  Task<StoreResult<Reservation>> reserve_for(Owner owner, const Request& request,
                                             const Policy& policy);

  // What reserve would find, with nothing written. Nothing: it would be new work.
  Task<StoreResult<std::optional<Reservation>>> peek(const Request& request, const Policy& policy);
  Task<StoreResult<std::optional<Reservation>>> peek_for(Owner owner, const Request& request,
                                                         const Policy& policy);

  // Writes of such an owner. Refused (not done, nothing changed) unless the record has its token
  // and its fence. Each may be repeated.
  //
  // The outcome, from in_progress or, late, from unknown and failed_retryable.
  Task<StoreResult<GrantWrite>> settle_for(Grant grant, const Outcome& outcome,
                                           SettleOptions options);
  // An answer that settle_for refused although it is evidence: kept for reconciliation. `found`
  // is what settle_for has shown.
  Task<StoreResult<Done>> keep_refused(Grant grant, std::optional<Record> found,
                                       const Outcome& outcome, SettleOptions options);
  // The lease anew.
  Task<StoreResult<GrantWrite>> renew_for(Grant grant);
  // The lease anew and the next recovery point. Refused where the record is at neither end of the
  // step: a call that was delayed must not take its owner back.
  Task<StoreResult<GrantWrite>> advance_for(Grant grant, Step step);
  // What is left of a lease, at least: what such an owner may be told. Nothing while the store's
  // clock is not to be trusted: it cannot be told.
  [[nodiscard]] Duration lease_left(const Record& record) const;

  // Starts keeping a reservation's lease. Hold it until settled; dropping it stops the renewal.
  std::shared_ptr<Lease> hold(SharedRecord record);

  // A worker's claim on a pending record, or on a flow whose lease is over: the lease under which
  // it may be executed. Nothing where it lost a race, or where it is too late.
  Task<StoreResult<std::shared_ptr<Lease>>> claim(const Record& pending);

  // Sends once under a lease, and settles.
  Task<Executed> execute(std::shared_ptr<Lease> lease, Upstream& upstream);

  // May this owner write its first byte? At least a third of the lease must be left, after a
  // renewal if need be.
  Task<bool> may_send(Lease& lease);

  // Records the outcome. Tries until `settle_timeout`; a failure means that the record goes the way
  // of an expired lease, and the client must be told that the outcome is unknown.
  Task<StoreResult<Settlement>> settle(Lease& lease, const Outcome& outcome);

  // One pass each. Bounded by `pass_rows_max`; any number of nodes may run them at once.
  Task<StoreResult<PassReport>> renew();            // leases past a third of their time
  Task<StoreResult<PassReport>> sweep();            // leases of owners that are gone
  Task<StoreResult<PassReport>> reap();             // records past their retention
  Task<StoreResult<PassReport>> release_orphans();  // reservations whose acknowledgement was lost

  // The audited way out of `unknown`. `actor` and `reason` are written with it. `about`: the fence
  // of the record the result is about, where known; a result about an earlier one is refused.
  Task<Expected<Record, ResolveFailure>> resolve(Scope scope, Key key, Finding finding,
                                                 std::string actor, std::string reason,
                                                 std::optional<Fence> about = std::nullopt);

 private:
  Attempt new_attempt();
  Attempt attempt_of(Owner owner);
  Task<StoreResult<Reservation>> reserve_as(Attempt attempt, const Request& request,
                                            const Policy& policy);
  // In place of a reservation while the store may have forgotten the key: what is there is judged
  // as ever, what is not there is not new.
  Task<StoreResult<Reservation>> reserve_forgotten(Attempt attempt, const Request& request,
                                                   const Policy& policy);
  Task<StoreResult<Done>> need_time();
  Task<StoreResult<GrantWrite>> stay_alive(const Grant& grant, const std::optional<Step>& step);
  Task<StoreResult<Reservation>> look_up(const Request& request, const Policy& policy,
                                         const Attempt& attempt);
  Task<StoreResult<std::optional<Reservation>>> look_at(const Request& request,
                                                        const Policy& policy,
                                                        const Attempt& attempt);
  Task<StoreResult<Written>> insert_or_read(Record fresh);
  Task<StoreResult<Written>> replace(Replacement replacement);
  Task<StoreResult<Written>> observed(Task<StoreResult<Written>> write, BootTime asked);
  Task<void> pause(int tries);
  [[nodiscard]] Instant settling_time(const Lease& lease) const;
  // What `held`, no longer the record, had come to.
  Task<StoreResult<Done>> keep_late_evidence(const Record& held, const Outcome& outcome,
                                             const SettleOptions& options, BootTime deadline);
  void remember_orphan(const Scope& scope, const Key& key, const StoredPolicy& policy,
                       const Attempt& attempt);
  Reservation counted(Decision decision, const SharedRecord& current, const Attempt& attempt);
  Task<StoreResult<Written>> free_orphan(SharedRecord orphan, Record freed);
  Task<void> release_orphan(Scope scope, Key key, Owner owner);
  [[nodiscard]] std::optional<Record> released_orphan(const Record& record) const;
  void date(Lease& lease) const;
  [[nodiscard]] BootTime lease_end(const Record& record) const;
  bool apply_renewal(Lease& lease, const Replacement& sent, const StoreResult<Written>& written);

  Store& store_;
  Clock& clock_;
  Entropy& entropy_;
  Metrics& metrics_;
  EngineOptions options_;
  StoreTime time_;
  std::size_t sweep_rows_;  // how far a sweep looks
  std::list<std::weak_ptr<Lease>> leases_;
  std::shared_ptr<Orphans> orphans_;
  std::optional<Restoration> restoration_;
  std::int64_t purge_epoch_ = 0;
};

}  // namespace pawl
