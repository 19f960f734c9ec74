// The outbox: messages that a service promised in the transaction in which it completed its key,
// where their rows lie, and the destination that they go to.
//
// What a row is known by is src/core/derived_key. The rows lie in the server's outbox, and the
// product's worker and reconciler of the outbox do the rest.
#pragma once

#include <map>

#include "src/core/outbox.hpp"
#include "tests/sim/upstream.hpp"

namespace pawl::sim {

class Outbox {
 public:
  explicit Outbox(Outside& outside);

  // In the service's own transaction.
  void enqueue(const Record& held, const std::string& body);

  // The destination. `act` is what it does with a request, `has` what its books show.
  void first_byte(const OutboxRow& row) const;
  void act(const OutboxRow& row);
  [[nodiscard]] bool has(const std::string& derived_key, Duration when) const;

  [[nodiscard]] const DestinationRules& rules() const { return rules_; }
  [[nodiscard]] std::uint64_t count() const { return messages_.size(); }
  // Once faults have stopped.
  void report(Checker& checker) const;

 private:
  [[nodiscard]] bool is_judged() const;

  struct Message {
    Identity identity;
    std::string name;
    std::string derived_key;
  };

  Outside& outside_;
  DestinationRules rules_;
  std::map<std::string, std::string> name_of_;  // what each row says, by derived key
  std::vector<Message> messages_;
  std::map<std::string, Duration> acted_;  // by derived key: when it was done last
};

}  // namespace pawl::sim
