// The outbox: messages that a service promised in the transaction in which it completed its key,
// where their rows lie, and the destination that they go to.
//
// What a row may do is src/core/outbox, what it is known by src/libpawl/derived_key. The table and
// the worker (node_outbox.cpp) are models of src/adapters/*/outbox.cpp and of
// src/gateway/outbox_worker.cpp in a few lines, until those can run here themselves.
#pragma once

#include <map>

#include "src/core/outbox.hpp"
#include "tests/sim/upstream.hpp"

namespace pawl::sim {

class Outbox {
 public:
  explicit Outbox(Outside& outside);

  // The table. All of it happens at once, in the store.
  void enqueue(const Record& held, const std::string& body);
  std::vector<OutboxRow> claim(const std::string& owner, Duration lease, std::size_t rows_max,
                               bool in_doubt);
  bool write(const OutboxRow& next, bool needs_lease);

  // The destination. `act` is what it does with a request, `has` what its books show.
  void act(const OutboxRow& row);
  [[nodiscard]] bool has(const OutboxRow& row, Duration when) const;

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
  std::map<std::string, OutboxRow> rows_;       // by derived key
  std::map<std::string, std::string> name_of_;  // what each row says, by derived key
  std::vector<Message> messages_;
  std::map<std::string, Duration> acted_;  // by derived key: when it was done last
};

}  // namespace pawl::sim
