// The recovery point: the last phase that committed, as one text in the record, so that it commits,
// is fenced, taken over and reaped with it. This is the one place that knows how it is written:
//
//   charge?payment=pay_1&~as=4f1c...&~sending=1767225600000000&~status=201&~field=...&~body=...
//
// The name of the next phase of a flow and what earlier phases handed on; then, where an external
// call may have been sent, its key and the time of the first try (the send intent); last, where
// reconciliation has found the answer to that call, the answer. What the library writes itself
// begins with '~', which everything else escapes.
//
// Owners behind the key API and the SQL functions may store any other text: it is compared and
// handed back as it is.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pawl/types/record.hpp"
#include "src/core/decision.hpp"

namespace pawl {

// Stored before the first byte of an external call: perhaps it was sent.
struct SendIntent {
  Instant first_sent_at;
  std::string key;  // the derived key it was, or would have been, sent with
  friend bool operator==(const SendIntent&, const SendIntent&) = default;
};

struct RecoveryPoint {
  std::string phase;
  std::map<std::string, std::string> state;  // what phases handed on
  std::optional<SendIntent> sending = {};
  std::optional<Response> found = {};  // the answer to that call, by reconciliation
  friend bool operator==(const RecoveryPoint&, const RecoveryPoint&) = default;
};

inline constexpr std::size_t state_bytes_max = 4096;

std::string encode(const RecoveryPoint& point);
// Nothing for what `encode` does not write: it is never guessed at.
std::optional<RecoveryPoint> decode_recovery_point(std::string_view text);

// Letters, digits, '-' and '_'; 1 to 64 of them.
bool is_phase_name(std::string_view name);
// For a message to people, of any text: what stands where a phase's name would.
std::string_view phase_of(std::string_view recovery_point);

// The recovery point of a half-done flow with the answer to its call of unknown outcome. That is
// not the flow's own answer: the phase that made the call records it, as if it had come in time,
// and the phases after it are run.
//
// Nothing where no call has a send intent, where the answer says (Idempotency-Key) that it is
// another call's, and where its body was too large to keep.
std::optional<std::string> with_answer(const std::string& recovery_point,
                                       const StoredResponse& answer);
// The call was not executed: without its send intent, the phase makes it again.
std::string without_call(const std::string& recovery_point);

// A flow that has got somewhere and has no answer yet: to go on with it takes its recovery point,
// the request it keeps, and the phases that its route declares.
bool is_half_done(const Record& record);
// Half done by a flow of another name, or requested by something that is no flow: that could only
// begin it afresh, or go on in phases that are not its own. It is not taken over.
bool belongs_elsewhere(const Record& record, const Request& request);

// Until when a lease runs once its owner has come to another recovery point. Always another end
// than before, and an odd microsecond, where renewals write even ones: a renewal that was under way
// meanwhile can neither pass its guard nor take the row for its own. The same rule as pawl.advance
// (schema/postgres/0007_advance.sql).
Instant advanced_lease(Instant before, Instant wanted);

}  // namespace pawl
