// Why a question of an operator has no answer, or an order was not carried out.
#pragma once

#include <optional>
#include <string>

#include "pawl/types/expected.hpp"
#include "src/ports/store.hpp"

namespace pawl {

struct Refusal {
  enum class Kind {
    malformed,    // it cannot be meant like this, whatever the store holds: nothing was asked of it
    refused,      // the store holds something that does not allow it: nothing was changed
    unavailable,  // the store did not answer, or not to the end
  };
  Kind kind = Kind::refused;
  std::string sentence;  // for the operator
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

template <class T>
using OrRefusal = Expected<T, Refusal>;

Unexpected<Refusal> malformed(std::string sentence);
Unexpected<Refusal> refused(std::string sentence);
Unexpected<Refusal> unavailable(std::string sentence);
// Of the store of records, which has no sentence of its own.
Unexpected<Refusal> store_failed(StoreError error);

// Of any other port: what it says itself.
template <class Port>
Unexpected<Refusal> port_failed(const Port& port, StoreError error) {
  std::string sentence = port.trouble();
  if (sentence.empty()) return store_failed(error);
  return unavailable(std::move(sentence));
}

// The store's time.
Task<OrRefusal<Instant>> time_of(Store& store);

// Who orders something, and why: both are kept in the audit.
struct OrderedBy {
  std::string actor;  // "alice@host"
  std::string reason;
};

// What is wrong with a reason; nothing where it is one.
std::optional<Refusal> check_reason(const std::string& reason);

// "operator alice@host", as the audit has it.
AuditEntry audit_of(const OrderedBy& by, std::string action);

}  // namespace pawl
