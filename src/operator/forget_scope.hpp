// Erases what a scope has sealed in the store: its data keys go, and with them every request,
// answer, event and message that they sealed. The records stay as tombstones.
#pragma once

#include <string>

#include "src/operator/refusal.hpp"
#include "src/ports/data_key_store.hpp"

namespace pawl {

struct ForgetOrder {
  Scope scope;
  bool open_too = false;  // although keys of it are not finished
  OrderedBy by;
};

// How many data keys were erased.
Task<OrRefusal<std::size_t>> forget_scope(Store& store, DataKeyStore& keys, ForgetOrder order);

}  // namespace pawl
