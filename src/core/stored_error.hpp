// What stands in the column last_error: why a record is not completed and, in the same text, the
// two facts of its state that have no column of their own
// (docs/decisions/0032-facts-of-the-state.md). No other file compares that text: above the stores
// these facts are members of the state.
#pragma once

#include <string>
#include <string_view>

#include "pawl/types/record.hpp"

namespace pawl {

// The last error of a record that was resolved as not executed (Pending, FailedRetryable).
inline constexpr std::string_view not_executed_error = "resolved: not executed";

// The text that is stored, and shown to operators.
std::string stored_error(const Record& record);

// Sets the last error and these facts, of a record whose state has been read.
void read_stored_error(Record& record, std::string text);

}  // namespace pawl
