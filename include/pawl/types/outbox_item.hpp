// A message for the outbox, as a service enqueues it.
#pragma once

#include <string>

#include "pawl/types/http.hpp"
#include "pawl/types/sql.hpp"

namespace pawl {

// An external call: enqueued now, and made by a worker once this transaction has committed.
struct OutboxItem {
  std::string destination;  // a destination that the worker's configuration names
  std::string path = "/";
  Headers headers = {};
  std::string body = {};
  // Distinguishes two messages to one destination. Empty: the phase and the message's number in
  // it, so that a phase that runs again after a rollback enqueues the same.
  std::string step = {};
};

// Another message is already enqueued where this one was to be: the same destination and step,
// another path or body. Nothing was enqueued. Give each call a step of its own.
class PromiseTaken : public DatabaseError {
 public:
  explicit PromiseTaken(const std::string& what) : DatabaseError("PW002", what) {}
};

}  // namespace pawl
