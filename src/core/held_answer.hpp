// An answer of the service that left the outcome unknown, as the record remembers it.
#pragma once

#include <string>

#include "pawl/types/record.hpp"

namespace pawl {

// The status that the service answered, of a record that this put where it is; 0: another reason.
int answered_status(const Record& record);

// Whether the service said itself what became of it (Pawl-Outcome), in whatever words.
bool service_said_outcome(const Record& record);

// The setting of a route under which such an answer would have freed its key, like
// on_server_error = "retry". Empty where there is none: then only the service can say more.
std::string freeing_setting(const Record& record);

}  // namespace pawl
