// The outcome: what became of a request that was executed, and what that does to its record.
#pragma once

#include <string>
#include <variant>

#include "pawl/types/http.hpp"
#include "pawl/types/names.hpp"
#include "pawl/types/policy.hpp"
#include "pawl/types/record.hpp"

namespace pawl {

// Not one byte of the request was written: it cannot have happened.
struct NotSent {
  std::string why;
};
// Bytes were written and no complete answer came back: it may have happened.
struct Lost {
  enum class How { timeout, reset, bad_response };
  How how = How::timeout;
  std::string why;
};
// A complete answer.
struct Answered {
  Response response;
  // The owner itself has said that this is the answer for good: no status of it is read as a
  // failure.
  bool is_final = false;
  // Its body is not in `response`: too large to hold.
  bool withheld = false;
};

using Outcome = std::variant<NotSent, Lost, Answered>;

enum class Evidence { not_sent, sent, answered };

Evidence evidence_of(const Outcome& outcome);

template <>
struct Names<Evidence> {
  static constexpr NameTable<Evidence, 3> table{{{Evidence::not_sent, "not_sent"},
                                                 {Evidence::sent, "sent"},
                                                 {Evidence::answered, "answered"}}};
};

// What an owner does with its outcome.
enum class Settling {
  complete,  // store the answer
  release,   // failed_retryable: the key may run again
  doubt,     // unknown: it is not executed again until it is reconciled
};

template <>
struct Names<Settling> {
  static constexpr NameTable<Settling, 3> table{{{Settling::complete, "complete"},
                                                 {Settling::release, "release"},
                                                 {Settling::doubt, "unknown"}}};
};

// What a service says about an answer of its own, in the header field Pawl-Outcome: not-executed,
// executed or unknown. It is for the boundary alone: never stored, never delivered.
bool is_pawl_outcome(const Header& header);
// What it says there: one of these three, or "not understood" for any other value, and where
// several fields disagree. Empty: nothing.
std::string_view outcome_said(const Response& response);

// Design section 4: what a failure means, by the rules stored with the attempt.
Settling classify(const Outcome& outcome, const StoredPolicy& policy);

struct SettleOptions {
  std::size_t response_bytes_max = std::size_t{1} << 20;
  // Where an answer names what it made: "header:NAME" or a JSON pointer. Empty: nowhere.
  std::string resource_type;
  std::string resource_id;
  // A worker's try that was not executed: how long the next one is delayed, at least. The caller
  // adds backoff and jitter.
  Duration try_again_in{0};
};

// An answer as it will be replayed: without the fields that belong to another connection, time or
// trace, and without a body that is too large to keep.
StoredResponse storable(const Response& response, const SettleOptions& options);
StoredResponse storable(const Answered& answer, const SettleOptions& options);

// True where `settled` makes a pending record of it: a worker's try that never began, or that was
// refused, with attempts left.
bool goes_back_to_queue(const Record& held, const Outcome& outcome);
// Nothing of its last try ever left. On an async route such a try is not counted.
bool was_not_sent(const Record& record);

// Accepted with 202 and out of attempts. Only a client's repeat or an operator takes it from here:
// it is never reaped, and past its retention it expires at `never`.
bool is_dead_letter(const Record& record);
inline constexpr Instant never{
    std::chrono::sys_days(std::chrono::year(9999) / std::chrono::January / 1)};

// The record as its owner leaves it. Fence and owner stay: settling is not taking over.
Record settled(const Record& held, const Outcome& outcome, Instant now,
               const SettleOptions& options);

// What a background job (sweep, reap) does to a record; all keep the fence.
//
// The lease is over and no client came back. Nothing where it is not over, or where it is to be
// resumed from its recovery point: by a worker that has its request, else by its client, who is
// waited for as long as an answer would be kept.
std::optional<Record> swept(const Record& record, Instant now);

// Past its retention. Nothing where it is not, or never will be (in_progress, unknown).
struct Reaped {
  std::optional<Record> next;  // nothing: delete the row
};
std::optional<Reaped> reaped(const Record& record, Instant now);

// A record of a backup says what was true when that was made. What was not finished then may have
// been executed since, under an owner that is not on record any more: it becomes unknown, under a
// fence that was never given out. Nothing where it was finished.
std::optional<Record> restored(const Record& record, Instant now);

// A reconciliation result for an unknown record, from a webhook, the reconciler or an operator.
struct FoundCompleted {
  StoredResponse response;
};
struct FoundNotExecuted {};
using Finding = std::variant<FoundCompleted, FoundNotExecuted>;

enum class ResolveRefusal {
  not_unknown,   // lost a race: it is settled or resolved already
  too_early,     // an owner may still be sending: wait until upstream_timeout after the lease's end
  bad_response,  // no final HTTP status (200 to 599), or not the answer of a flow's unknown call
};

template <>
struct Names<ResolveRefusal> {
  static constexpr NameTable<ResolveRefusal, 3> table{
      {{ResolveRefusal::not_unknown, "not-unknown"},
       {ResolveRefusal::too_early, "too-early"},
       {ResolveRefusal::bad_response, "bad-response"}}};
};

// `author` becomes the owner of a completed record, so that the author recognises its own write. A
// record found not executed stays its owner's.
Expected<Record, ResolveRefusal> resolved(const Record& record, const Finding& finding,
                                          const Owner& author, Instant now);

}  // namespace pawl
