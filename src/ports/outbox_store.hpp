// Where the outbox's rows lie, as its worker and an operator see them. Rows are put there by
// pawl.enqueue and Transaction::enqueue, in a transaction of the caller's.
//
// Any number of workers and nodes at once: a claim is a lease under an owner token that nobody has
// used before, and every write of an owner changes nothing once another owner has the row.
//
// From any thread. After an error nothing was written, or, where it is `in_doubt`, that is not
// known.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pawl/types/expected.hpp"
#include "src/core/outbox.hpp"
#include "src/ports/store.hpp"

namespace pawl {

struct OutboxClaim {
  std::string destination;
  std::string owner;  // never used before
  Duration lease{};
  std::size_t rows_max = 0;
  bool in_doubt = false;  // rows that are unknown, to be asked about; else those to be sent
};

struct OutboxClaimed {
  Instant now{};  // the store's, before the claim
  std::vector<OutboxRow> rows;
};

// `next` in place of the row that `next.owner` has. Of it the columns count that a worker changes:
// status, attempt, times, provider_id, response_code, last_error, asked, absent.
struct OutboxWrite {
  OutboxRow next;
  bool needs_lease = false;  // and only while its lease has not ended
};

struct OutboxCount {
  std::string destination;
  OutboxStatus status = OutboxStatus::pending;
  std::uint64_t rows = 0;
  Instant oldest{};  // when the oldest of them was enqueued
};

struct OutboxQuery {
  std::optional<OutboxStatus> status;
  std::optional<std::string> destination;
  bool discarded = false;  // those too
  std::size_t rows_max = 100;
};

struct OutboxAuthor {
  std::string actor;
  std::string reason;
};

// Why a row was not changed. Nothing was written then.
struct OutboxRefusal {
  enum class Kind { no_such_row, by_transition };
  Kind kind = Kind::by_transition;
  std::string why;  // of a transition: a sentence for an operator
  friend bool operator==(const OutboxRefusal&, const OutboxRefusal&) = default;
};

struct OutboxCounts {
  Instant now{};  // the store's
  std::vector<OutboxCount> counts;
};

class OutboxStore {
 public:
  virtual ~OutboxStore() = default;

  // Takes rows that are due and that nobody has, those that waited longest first.
  virtual Task<StoreResult<OutboxClaimed>> claim(OutboxClaim claim) = 0;

  // Was the row still its owner's? Durable when it returns. Repeating it after an error is
  // harmless. Writes that come while another one commits may share the next commit.
  virtual Task<StoreResult<bool>> write(OutboxWrite write) = 0;

  // What is not done and not discarded, by destination and status.
  virtual Task<StoreResult<OutboxCounts>> count() = 0;

  // Without bodies. The oldest first.
  virtual Task<StoreResult<std::vector<OutboxRow>>> list(OutboxQuery query) = 0;

  virtual Task<StoreResult<std::optional<OutboxRow>>> find(std::string id) = 0;

  // Changes one row as `transition` says and writes an audit row with it, in one transaction.
  // `transition` is called on a thread of the store's.
  using Changed = Expected<OutboxRow, OutboxRefusal>;
  using Transition = std::function<Changed(const OutboxRow& row, Instant now)>;
  virtual Task<StoreResult<Changed>> change(std::string id, OutboxAction action,
                                            OutboxAuthor author, Transition transition) = 0;

  // Why the last call that failed has failed: a sentence for an operator.
  [[nodiscard]] virtual std::string trouble() const = 0;
};

}  // namespace pawl
