// ReconciliationStore: what was done about each record whose outcome is not known, and what
// providers told.
//
// The record stays the truth and only the engine's resolve changes it. A case counts questions
// before they are sent, so that a crash cannot make it forget them; it keeps several nodes from
// asking at once; and it remembers everything for whoever is called at night.
//
// From any thread. After an error nothing was written, or, where it is `in_doubt`, that is not
// known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pawl/types/expected.hpp"
#include "pawl/types/record.hpp"
#include "pawl/types/time.hpp"
#include "src/ports/store.hpp"

namespace pawl {

// The record it is about, by the fence of the owner that is doubted.
struct CaseId {
  Scope scope;
  Key key;
  Fence fence;
};

enum class CaseState {
  open,      // it is asked about, from next_at on
  dead,      // nobody is asked any more: an operator, or an event
  released,  // found not executed; an event may still know better
  closed,    // settled
};

template <>
struct Names<CaseState> {
  static constexpr NameTable<CaseState, 4> table{{{CaseState::open, "open"},
                                                  {CaseState::dead, "dead"},
                                                  {CaseState::released, "released"},
                                                  {CaseState::closed, "closed"}}};
};

struct Case {
  CaseId id;
  std::string subject;   // the derived key
  std::string resource;  // the other name that an event may know it by; empty: none
  std::string source;    // who was named first under this fence; empty: nobody yet
  CaseState state = CaseState::open;
  int attempts = 0;
  int absent = 0;  // how often in a row it was not there, asked late enough
  Instant next_at{};
  Instant opened_at{};
  Instant changed_at{};
  Instant began_at{};  // when the attempt that is doubted began; 0: not known
  std::string last_result;
};

struct CaseNote {
  Instant at{};
  Fence fence;
  std::string source;
  std::string result;
  std::string detail;
};

// How a question ended.
struct CaseChange {
  CaseState state = CaseState::open;
  int absent = 0;
  Instant next_at{};
  CaseNote note;
};

// What a provider told. Final ones may complete a record; the others are only remembered.
struct WebhookEvent {
  std::string subject;
  // Of the request, where the event named them; else empty.
  Scope scope;
  Key key;
  std::string source;
  std::string id;
  bool is_final = false;
  bool declined = false;  // final, and nothing happened, whatever the response's status is
  Instant happened_at{};
  Instant received_at{};
  StoredResponse response;
  std::string applied_as;  // empty while it waits
  friend bool operator==(const WebhookEvent&, const WebhookEvent&) = default;
};

struct AuditRow {
  Instant at{};
  Fence fence;
  std::string before;  // empty in rows that older versions wrote
  std::string after;
  AuditEntry entry;
};

class ReconciliationStore {
 public:
  virtual ~ReconciliationStore() = default;

  // Opens the case if need be, counts one attempt, and keeps everybody else from asking until
  // `until`. Nothing: it is not due, somebody is at it, it is dead, or it is about a later owner.
  // What is dead because there was nobody to ask can be taken by somebody who has one.
  struct CaseClaim {
    CaseId id;
    std::string subject;
    std::string resource;
    std::string source;
    Instant now{};
    Instant until{};
    Instant began_at{};
  };
  virtual Task<StoreResult<std::optional<Case>>> take(CaseClaim claim) = 0;

  // What became of it, with its note in the same commit. Not for a later owner's case.
  virtual Task<StoreResult<Done>> change(CaseId id, CaseChange change) = 0;

  // Asked about again from `note.at` on, as if for the first time, with its note in the same
  // commit. False: there is none that is dead, and nothing was written.
  virtual Task<StoreResult<bool>> reopen(Scope scope, Key key, CaseNote note) = 0;

  // Durable when it returns. False: it was there already.
  virtual Task<StoreResult<bool>> keep_event(WebhookEvent event) = 0;
  virtual Task<StoreResult<std::vector<WebhookEvent>>> events_of(std::string subject) = 0;
  virtual Task<StoreResult<Done>> applied(WebhookEvent event, std::string as) = 0;
  // Final events that wait and are due, those that waited longest first.
  virtual Task<StoreResult<std::vector<WebhookEvent>>> waiting_events(Instant now,
                                                                      std::size_t events_max) = 0;
  // Nothing can be done about it yet: it goes on waiting, and is not due before then.
  virtual Task<StoreResult<Done>> postpone(WebhookEvent event, Instant until) = 0;
  // Whatever an event under this subject may be about: by the derived key, or by the resource.
  virtual Task<StoreResult<std::vector<Case>>> cases_of(std::string subject) = 0;

  virtual Task<StoreResult<std::optional<Case>>> find(Scope scope, Key key) = 0;
  virtual Task<StoreResult<std::vector<CaseNote>>> notes_of(Scope scope, Key key) = 0;
  virtual Task<StoreResult<std::vector<AuditRow>>> audit_of(Scope scope, Key key) = 0;
  virtual Task<StoreResult<std::vector<LateEvidence>>> evidence_of(Scope scope, Key key) = 0;

  // Unknown records of that route, in scopes that begin so, that may be asked about by now.
  virtual Task<StoreResult<std::vector<CaseId>>> undetermined(std::string scope_prefix,
                                                              std::string route, Instant now,
                                                              std::size_t cases_max) = 0;

  // Dead letters: unknown records that nobody is asked about.
  virtual Task<StoreResult<std::size_t>> count_dead() = 0;
  // And those of async routes: accepted, not executed, out of attempts (`is_dead_letter`).
  virtual Task<StoreResult<std::size_t>> count_async_dead() = 0;

  // Forgets events, notes and finished cases from before then; a bounded number. How many.
  virtual Task<StoreResult<std::size_t>> reap(Instant before) = 0;

  // Why the last call that failed has failed: a sentence for an operator.
  [[nodiscard]] virtual std::string trouble() const = 0;
};

}  // namespace pawl
