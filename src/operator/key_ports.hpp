// What questions and orders about single keys need of a store.
#pragma once

#include "src/operator/refusal.hpp"
#include "src/ports/key_directory.hpp"
#include "src/ports/reconciliation_store.hpp"
#include "src/ports/store.hpp"
#include "src/ports/upkeep.hpp"

namespace pawl {

struct KeyPorts {
  Store& store;
  ReconciliationStore& cases;
  KeyDirectory& directory;
  Upkeep& upkeep;
};

// One key, as an order names it.
struct KeyName {
  Scope scope;
  Key key;
};

// Its record; nothing where there is none.
Task<OrRefusal<std::optional<Record>>> find_record(Store& store, KeyName name);

// Why a record whose outcome must be unknown does not allow what was ordered.
std::string why_not_unknown(const std::optional<Record>& record);

inline constexpr const char* no_such_record = "there is no such record; is --scope right?";
inline constexpr const char* lost_race =
    "lost a race with a concurrent update; check it (pawl keys show), then repeat";

}  // namespace pawl
