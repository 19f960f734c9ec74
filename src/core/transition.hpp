// The steps that settling, sweeping and resolving a record share. Each changes the state and what
// goes with it, under the same fence.
#pragma once

#include <string>

#include "pawl/types/record.hpp"

namespace pawl::transition {

void complete(Record& record, StoredResponse response, Instant now);
void release(Record& record, std::string error, Instant now);
// unknown: it may have happened.
void make_unknown(Record& record, std::string error, Instant now);
// It stays in progress without an owner: the next one goes on at the recovery point.
void abandon(Record& record, std::string error, Instant now);
// pending: what waits in the queue now is another try.
void queue_again(Record& record, Instant not_before);

bool has_attempts_left(const Record& record);

}  // namespace pawl::transition
