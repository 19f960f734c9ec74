// Flows that have got somewhere and have no answer yet.
#pragma once

#include "src/core/decision.hpp"

namespace pawl {

// Whoever goes on with it needs its recovery point, the request it keeps, and the phases that its
// route declares.
bool is_half_done(const Record& record);

// Half done by a flow of another name, or asked for by something that is no flow: whoever asks
// could only begin it afresh, or go on in phases that are not its own. It is not taken over.
bool belongs_elsewhere(const Record& record, const Request& request);

}  // namespace pawl
