// From writes to statements, and from what came back to answers. Nothing here waits.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "src/adapters/postgres/connection.hpp"
#include "src/adapters/postgres/queue.hpp"

namespace pawl::postgres {

// The statements of a batch of one kind, sorted. `note_id` names its rows in pawl.due.
std::vector<Query> statements_for(const Writes& batch, std::int64_t note_id, bool distributed);

// Gives each write of the batch its answer, as far as the results say it. Returned is what has to
// be read first: insertions whose key was taken, replacements that missed.
// `results`: of the statements of that kind, in their order.
Writes answer(const Writes& batch, StoreClock now, std::span<const Rows> results);

// A sorted batch, parted by kind.
std::vector<Writes> by_kind(const Writes& batch);

// The statement that reads `writes`, and the answers it gives. Those in the returned list have to
// be tried again: what was in the way is gone, or only the stored request was.
Query read_again(const Writes& writes);
Writes answer_again(const Writes& writes, const std::vector<Rows>& results);

// Rows of the columns of `columns()`, by identity. Nothing: it cannot be understood.
using Found = std::map<std::string, std::optional<Record>, std::less<>>;
Found read_records(const Rows& rows);

Query find_query(const std::vector<std::pair<Scope, Key>>& keys);

// The clock and the purge epoch as `begin` brought them back, the first result of every exchange.
StoreClock store_clock(const std::vector<Rows>& results);

// A guard as the statements take it: three arrays.
std::vector<Parameter> guard_parameters(const std::vector<Guard>& guards);

}  // namespace pawl::postgres
