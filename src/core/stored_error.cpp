#include "src/core/stored_error.hpp"

namespace pawl {
namespace {

// Stored since this fact is kept: rows that other versions have written must read right, and theirs
// must read ours. It comes last, after the reason.
constexpr std::string_view dead_lettered_mark = ", and nobody is asked any more";

}  // namespace

std::string stored_error(const Record& record) {
  std::string text = record.last_error;
  const auto* unknown = std::get_if<Unknown>(&record.state);
  if (unknown != nullptr && unknown->dead_lettered) text += dead_lettered_mark;
  return text;
}

void read_stored_error(Record& record, std::string text) {
  if (auto* waits = std::get_if<Pending>(&record.state)) {
    waits->resolved_not_executed = text == not_executed_error;
  } else if (auto* released = std::get_if<FailedRetryable>(&record.state)) {
    released->resolved_not_executed = text == not_executed_error;
  } else if (auto* unknown = std::get_if<Unknown>(&record.state)) {
    unknown->dead_lettered = text.ends_with(dead_lettered_mark);
    if (unknown->dead_lettered) text.resize(text.size() - dead_lettered_mark.size());
  }
  record.last_error = std::move(text);
}

}  // namespace pawl
