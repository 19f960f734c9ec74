// Where the outbox's rows lie, as its worker and an operator see them. Rows are put there by
// pawl.enqueue and Transaction::enqueue, in a transaction of the caller's.
//
// Any number of workers and nodes at once: a claim is a lease under an owner token that nobody has
// used before, and every write of an owner changes nothing once another owner has the row.
//
// Blocking: for a thread of its own that may wait, and for the command line. One thread at a time.
// Errors are sentences for an operator; then nothing was written, or that is not known.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pawl/types/expected.hpp"
#include "src/core/outbox.hpp"

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
  Instant oldest{};  // when the oldest of them was promised
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

class OutboxStore {
 public:
  virtual ~OutboxStore() = default;

  // Takes rows that are due and nobody's, those that waited longest first.
  virtual Expected<OutboxClaimed, std::string> claim(const OutboxClaim& claim) = 0;

  // All durable when it returns. For each, in order: was it still this owner's? Repeating a write
  // after an error is harmless.
  virtual Expected<std::vector<bool>, std::string> write(
      const std::vector<OutboxWrite>& writes) = 0;

  // What is not done and not discarded, by destination and status.
  virtual Expected<std::vector<OutboxCount>, std::string> count() = 0;

  // Without bodies. The oldest first.
  virtual Expected<std::vector<OutboxRow>, std::string> list(const OutboxQuery& query) = 0;

  virtual Expected<std::optional<OutboxRow>, std::string> find(const std::string& id) = 0;

  // Changes one row as `order` says and writes an audit row with it, in one transaction. The error
  // is why not: no such row, the order's own refusal, or the store's trouble. `transition` is
  // `ordered`.
  using Transition =
      std::function<Expected<OutboxRow, std::string>(const OutboxRow& row, Instant now)>;
  virtual Expected<OutboxRow, std::string> change(const std::string& id, OutboxAction action,
                                                  const OutboxAuthor& author,
                                                  const Transition& transition) = 0;

  // The store's time.
  virtual Expected<Instant, std::string> time() = 0;

  // Lets the connection go; the next call makes another.
  virtual void disconnect() = 0;
};

}  // namespace pawl
