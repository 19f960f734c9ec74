// Keys for the calls we make ourselves: the same in every try, and nobody else's.
#pragma once

#include <string>
#include <string_view>

#include "pawl/types/key.hpp"
#include "pawl/types/time.hpp"

namespace pawl {

// Of a foreign phase's call.
std::string phase_key(const Scope& scope, const Key& key, std::string_view phase);

// Of an outbox row, in the life of the key that began then: what pawl.enqueue derives, digit for
// digit.
std::string outbox_key(const Scope& scope, const Key& key, std::string_view destination,
                       std::string_view step, Instant created_at);
// As it was derived before lives were part of it: rows of that time may still be there.
std::string former_outbox_key(const Scope& scope, const Key& key, std::string_view destination,
                              std::string_view step);

// Run::id.
std::string run_id(const Scope& scope, const Key& key, Instant created_at, std::string_view of);

}  // namespace pawl
