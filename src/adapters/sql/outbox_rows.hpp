// Rows of the outbox in SQL, both ways.
#pragma once

#include <string>
#include <vector>

#include "src/adapters/sql/session.hpp"
#include "src/ports/outbox_store.hpp"

namespace pawl::sql {

// The columns that `outbox_rows` reads; bodies as hexadecimal digits, or none.
enum class Bodies { wanted, left_out };
std::string outbox_columns(const Dialect& dialect, Bodies bodies = Bodies::wanted);
Result<std::vector<OutboxRow>> outbox_rows(const Session& session, const Result<Rows>& rows);

// Writes `next` over the row of that owner; a row comes back where it was still the owner's. The
// same guard as everywhere: whoever is not the owner changes nothing.
std::string outbox_write_sql(const Dialect& dialect);
Parameters outbox_write_parameters(const OutboxRow& next, const std::string& owner,
                                   bool needs_lease);

}  // namespace pawl::sql
