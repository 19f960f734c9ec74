// ReconciliationStore: what was done about each record whose outcome is not known, and what
// providers told.
//
// The record stays the truth and only the engine's resolve changes it. A case counts questions
// before they are sent, so that a crash cannot make it forget them; it keeps several nodes from
// asking at once; and it remembers everything for whoever is called at night.
//
// Blocking: for a thread of its own that may wait, and for the command line. One thread at a time.
// Every error is a sentence for an operator; then nothing was written, or that is not known.
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

// A record as a list shows it.
struct ListedKey {
  Scope scope;
  Key key;
  std::string status;
  std::string route;
  std::string method;
  std::string path;
  int attempt = 1;
  Fence fence;
  Instant created_at{};
  std::string last_error;
  std::optional<CaseState> state;  // of its case, where it has one under this fence
  int attempts = 0;
  std::string last_result;
};

// Our records, as a comparison of ledgers reads them: by key, after one of them.
struct LedgerQuery {
  std::vector<std::string> routes;
  Instant since{};
  Scope after_scope;
  Key after_key;
  std::size_t rows_max =
      250;              // to look at, wanted or not: the table may be far larger than the list
  bool bodies = false;  // of answers up to 64 KiB
};

struct LedgerRow {
  Scope scope;
  Key key;
  std::string status;
  int response_code = 0;
  std::optional<std::string> body;
  Instant created_at{};
};

struct LedgerPage {
  std::vector<LedgerRow> rows;  // those that are wanted
  // The last that was looked at: the next page is after it.
  Scope last_scope;
  Key last_key;
  bool is_last = false;
};

// The last comparison with a source's ledger.
struct Comparison {
  std::string source;
  Instant next_at{};
  Instant ended_at{};  // of the last one that was made to the end
  std::string result;  // empty: none was made to the end yet
  std::string trouble;
};

// A record as a search sees it.
struct KeyRef {
  Scope scope;
  Key key;
  Fence fence;
  int attempt = 1;
};

// Where else a key is.
struct ScopesOfKey {
  std::vector<Scope> scopes;
  bool whole = true;  // false: there are more scopes than were looked at
};

// Which records a list shows. Dead: all that wait for an operator, unknown or out of attempts.
enum class Listed { unknown, dead, in_progress, pending };

template <>
struct Names<Listed> {
  static constexpr NameTable<Listed, 4> table{{{Listed::unknown, "unknown"},
                                               {Listed::dead, "dead"},
                                               {Listed::in_progress, "in_progress"},
                                               {Listed::pending, "pending"}}};
};

class ReconciliationStore {
 public:
  template <class T>
  using Result = Expected<T, std::string>;

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
  virtual Result<std::optional<Case>> take(const CaseClaim& taking) = 0;

  // What became of it, with its note in the same commit. Not for a later owner's case.
  virtual Result<Done> change(const CaseId& id, const CaseChange& change) = 0;

  // Asked about again from `now` on, as if for the first time. False: there is none that is dead.
  virtual Result<bool> reopen(const Scope& scope, const Key& key, const CaseNote& note) = 0;

  // Durable when it returns. False: it was there already.
  virtual Result<bool> keep_event(const WebhookEvent& event) = 0;
  virtual Result<std::vector<WebhookEvent>> events_of(const std::string& subject) = 0;
  virtual Result<Done> applied(const WebhookEvent& event, const std::string& as) = 0;
  // Final events that wait and are due to be looked at, those that waited longest first.
  virtual Result<std::vector<WebhookEvent>> waiting_events(Instant now, std::size_t events_max) = 0;
  // Nothing can be done about it yet: it goes on waiting, and is not due before then.
  virtual Result<Done> look_again(const WebhookEvent& event, Instant at) = 0;
  // Whatever an event under this subject may be about: by the derived key, or by the resource.
  virtual Result<std::vector<Case>> cases_of(const std::string& subject) = 0;

  virtual Result<std::optional<Case>> find(const Scope& scope, const Key& key) = 0;
  virtual Result<std::vector<CaseNote>> notes_of(const Scope& scope, const Key& key) = 0;
  virtual Result<std::vector<AuditRow>> audit_of(const Scope& scope, const Key& key) = 0;
  virtual Result<std::vector<LateEvidence>> evidence_of(const Scope& scope, const Key& key) = 0;
  virtual Result<std::vector<ListedKey>> list(Listed which, std::size_t keys_max) = 0;

  // Records by primary key, after this one; fewer than asked for: the last of them.
  virtual Result<std::vector<KeyRef>> keys_after(const Scope& scope, const Key& key,
                                                 std::size_t keys_max) = 0;
  // The scopes in which this key has a record. One look by primary key for each scope there is.
  virtual Result<ScopesOfKey> scopes_of(const Key& key, std::size_t scopes_max) = 0;

  // Dead letters: unknown records that nobody is asked about.
  virtual Result<std::size_t> count_dead() = 0;
  // And those of async routes: accepted, not executed, out of attempts (`is_dead_letter`).
  virtual Result<std::size_t> count_async_dead() = 0;

  // Unknown records of that route, in scopes that begin so, that may be asked about by now.
  virtual Result<std::vector<CaseId>> in_doubt(const std::string& scopes, const std::string& route,
                                               Instant now, std::size_t cases_max) = 0;

  virtual Result<LedgerPage> ledger_page(const LedgerQuery& query) = 0;

  // True: it is due by the store's clock, and whoever asked has that long to make it.
  virtual Result<bool> take_comparison(const std::string& source, Duration takes_at_most) = 0;
  // It was made just now, or could not be: then the last result stays. The next one is due after
  // `next_in`. Of `comparison` only source, result and trouble count.
  virtual Result<Done> compared(const Comparison& comparison, Duration next_in) = 0;
  virtual Result<std::vector<Comparison>> comparisons() = 0;

  // Deletes a record in which `expected` holds, with its audit entry in the same commit. False:
  // it does not hold.
  virtual Result<bool> purge(const Scope& scope, const Key& key, const Guard& expected,
                             const AuditEntry& audit) = 0;

  // Forgets events, notes and finished cases from before then; a bounded number. How many.
  virtual Result<std::size_t> reap(Instant before) = 0;

  // Lets the connection go; the next call makes another.
  virtual void disconnect() = 0;
};

}  // namespace pawl
