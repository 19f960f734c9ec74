// What an operator does about accepted work that is out of attempts (`is_dead_letter`).
#pragma once

#include <optional>

#include "pawl/types/outcome.hpp"

namespace pawl {

// Back into the queue, due now, with all its attempts anew. Nothing where it is no dead letter, or
// its request is not there any more.
std::optional<Record> requeued(const Record& record, Instant now);

// Given up for good: its clients are told so (408 abandoned) for a retention. Nothing where it is
// no dead letter.
std::optional<Record> discarded(const Record& record, Instant now);

}  // namespace pawl
