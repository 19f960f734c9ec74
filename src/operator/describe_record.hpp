// What is known of a record, and what may be done about it: for the operator who has to decide.
#pragma once

#include <optional>
#include <string>

#include "src/ports/reconciliation_store.hpp"

namespace pawl {

// Where a key is found, as the commands of an operator name it.
struct KeyPlace {
  Scope scope;
  Key key;
  std::string store;  // as --store was given; may have a password in it
};

// "2024-06-01 12:00:00 UTC"
std::string when(Instant at);

// Where it stands, why, and what the next request with its key gets. No line has anything in it
// that a terminal would obey.
std::string state_in_words(const Record& record, const std::optional<Case>& about, Instant now);

// Of an unknown one: what a person can do, as commands for a shell. Empty: there is nothing to do.
std::string next_step(const Record& record, const std::optional<Case>& about,
                      const KeyPlace& place);

// "pawl VERB KEY --scope SCOPE MORE --store STORE", quoted for a shell. A password is not repeated:
// "$STORE" stands for such a store.
std::string command_for(const std::string& verb, const KeyPlace& place, const std::string& more);
// The same for a place that is not named by its key.
std::string store_option(const std::string& store);

}  // namespace pawl
