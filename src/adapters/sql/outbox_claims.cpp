// How a worker gets its rows: by lease columns, many in a statement. Where another transaction
// holds one of them, those beside it are claimed without it.
#include <algorithm>

#include "src/adapters/sql/outbox_rows.hpp"
#include "src/adapters/sql/outbox_store.hpp"
#include "src/adapters/sql/row_reader.hpp"

namespace pawl::sql {
namespace {

// Each costs a moment of waiting, while everybody else waits for this session.
constexpr int contended_max = 8;

using Claimed = Result<std::vector<OutboxRow>>;

std::string free_and_due(const std::string& now) {
  return " AND next_attempt_at <= " + now + " AND (locked_until IS NULL OR locked_until <= " + now +
         ")";
}
std::string wanted(bool in_doubt) {
  return in_doubt ? "destination = $1 AND status = 'unknown' AND discarded_at IS NULL"
                  : "destination = $1 AND status IN ('pending', 'sending')";
}
// With $1 the destination and $2 the time.
std::string is_due(const Dialect& dialect, bool in_doubt) {
  return wanted(in_doubt) + free_and_due(dialect.instant("$2"));
}

std::string any_due_sql(const Dialect& dialect, bool in_doubt) {
  return "SELECT CASE WHEN EXISTS (SELECT 1 FROM pawl.outbox WHERE " + wanted(in_doubt) +
         free_and_due(dialect.current_instant()) + ") THEN 1 ELSE 0 END, " + dialect.clock();
}
// The condition stands twice: a row may have changed while its lock was waited for.
std::string claim_sql(const Dialect& dialect, bool in_doubt, const std::string& which) {
  const std::string until = dialect.instant("$4");
  return "UPDATE pawl.outbox SET owner = $3, locked_until = " + until +
         ", next_attempt_at = " + until + " WHERE " + which + " AND " + is_due(dialect, in_doubt) +
         " RETURNING " + outbox_columns(dialect);
}
std::string claim_first_sql(const Dialect& dialect, bool in_doubt) {
  return claim_sql(dialect, in_doubt,
                   "(scope_id, id) IN (SELECT scope_id, id FROM pawl.outbox WHERE " +
                       is_due(dialect, in_doubt) +
                       " ORDER BY next_attempt_at LIMIT CAST($5 AS bigint))");
}
std::string claim_named_sql(const Dialect& dialect, bool in_doubt) {
  return claim_sql(dialect, in_doubt, "scope_id = $5 AND id = " + dialect.outbox_id("$6"));
}

Parameters claim_parameters(const OutboxClaim& claim, Instant now) {
  return {claim.destination, micros(now), claim.owner, micros(now + claim.lease)};
}

// The first that are due.
Claimed claim_first(Session& session, const OutboxClaim& claim, Instant& now) {
  Result<Transaction> transaction =
      Transaction::begin(session, Durability::durable, LockWait::brief);
  if (!transaction) return Unexpected{transaction.error()};
  const Result<Instant> begun = time_of(session);  // a lock may have been waited for
  if (!begun) return Unexpected{begun.error()};
  now = *begun;
  Parameters parameters = claim_parameters(claim, now);
  parameters.push_back(sql::count(claim.rows_max));
  Claimed rows =
      outbox_rows(session, session.run(claim_first_sql(session, claim.in_doubt), parameters));
  if (!rows) return rows;
  const Result<Done> committed = transaction->commit();
  if (!committed) return Unexpected{committed.error()};
  return rows;
}

// Names of rows.
using Names = std::vector<std::pair<std::string, std::string>>;

Result<Names> due_names(Session& session, const OutboxClaim& claim, Instant now) {
  // Some more than are wanted: those that are held are stepped over.
  const std::size_t enough = claim.rows_max + contended_max;
  const Result<Rows> rows = session.run(
      "SELECT scope_id, CAST(id AS text) FROM pawl.outbox WHERE " +
          is_due(session, claim.in_doubt) + " ORDER BY next_attempt_at LIMIT CAST($3 AS bigint)",
      {claim.destination, micros(now), sql::count(enough)});
  if (!rows) return Unexpected{rows.error()};
  Names names;
  for (const Row& row : *rows) {
    RowReader columns(row);
    std::string scope = columns.text();
    names.emplace_back(std::move(scope), columns.text());
  }
  return names;
}

// All of those that are still due, or none of them.
Claimed claim_named(Session& session, const OutboxClaim& claim, Instant now, Names names) {
  std::ranges::sort(names);  // so that two of them never wait for each other
  std::vector<Parameters> each;
  for (const auto& [scope, id] : names) {
    each.push_back(claim_parameters(claim, now));
    each.back().push_back(scope);
    each.back().push_back(id);
  }
  Result<Transaction> transaction =
      Transaction::begin(session, Durability::durable, LockWait::brief);
  if (!transaction) return Unexpected{transaction.error()};
  Result<std::vector<Rows>> updated =
      session.run_each(claim_named_sql(session, claim.in_doubt), each);
  if (!updated) return Unexpected{updated.error()};
  Rows all;
  for (Rows& some : *updated) std::ranges::move(some, std::back_inserter(all));
  Claimed rows = outbox_rows(session, Result<Rows>(std::move(all)));
  if (!rows) return rows;
  const Result<Done> committed = transaction->commit();
  if (!committed) return Unexpected{committed.error()};
  return rows;
}

// The due ones, in halves, in halves of those, ... until what is held stands alone. What was
// claimed by then is claimed, whatever befalls the rest.
Claimed claim_around_held(Session& session, const OutboxClaim& claim, Instant now) {
  Result<Names> names = due_names(session, claim, now);
  if (!names) return Unexpected{names.error()};
  std::vector<OutboxRow> claimed;
  std::vector<Names> parts;
  if (!names->empty()) parts.push_back(std::move(*names));
  int contended = 0;
  while (!parts.empty() && claimed.size() < claim.rows_max && contended < contended_max) {
    Names part = std::move(parts.back());
    parts.pop_back();
    const std::size_t lacking = claim.rows_max - claimed.size();
    if (part.size() > lacking) {
      const auto rest = part.begin() + static_cast<std::ptrdiff_t>(lacking);
      parts.emplace_back(rest, part.end());
      part.erase(rest, part.end());
    }
    Claimed rows = claim_named(session, claim, now, part);
    if (rows) {
      std::ranges::move(*rows, std::back_inserter(claimed));
      continue;
    }
    if (rows.error().kind != StoreError::contended) {
      if (claimed.empty()) return rows;
      break;
    }
    ++contended;
    if (part.size() == 1) continue;
    const auto middle = part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2);
    parts.emplace_back(middle, part.end());
    parts.emplace_back(part.begin(), middle);
  }
  return claimed;
}

Result<OutboxClaimed> take(Session& session, const OutboxClaim& claim) {
  // Asked first, without a write: nearly always the answer is no.
  const Result<Rows> any = session.run(any_due_sql(session, claim.in_doubt), {claim.destination});
  if (!any) return Unexpected{any.error()};
  RowReader columns(any->front());
  const bool due = columns.number() != 0;
  OutboxClaimed claimed{columns.time(), {}};
  if (!due || claim.rows_max == 0) return claimed;
  Claimed rows = claim_first(session, claim, claimed.now);
  if (!rows && rows.error().kind == StoreError::contended) {
    rows = claim_around_held(session, claim, claimed.now);
  }
  if (!rows) return Unexpected{rows.error()};
  claimed.rows = std::move(*rows);
  std::ranges::sort(claimed.rows, {}, &OutboxRow::created_at);
  return claimed;
}

}  // namespace

Task<StoreResult<OutboxClaimed>> SqlOutboxStore::claim(OutboxClaim claim) {
  PAWL_CHECK(!claim.owner.empty());
  return port_.run<OutboxClaimed>(
      [claim = std::move(claim)](Session& session) { return take(session, claim); });
}

}  // namespace pawl::sql
