// What sources tell by themselves: events about what is on the provider's books, in any order,
// twice, late, by clocks that are off, to any node; and events of somebody who may not speak.
//
// Nodes keep them as the gateway does. What follows from them is the reconciler's.
#pragma once

#include <array>
#include <set>

#include "src/ports/reconciliation_store.hpp"
#include "tests/sim/node.hpp"

namespace pawl::sim {

// As it travels: a node that keeps it dates it.
struct SourceEvent {
  WebhookEvent event;
  std::optional<Instant> happened_at;
};

class Events {
 public:
  Events(Outside& outside, std::vector<std::unique_ptr<Node>>& nodes);

  // What an event is about. Nobody in this world may ask but its judge, and who is fair.
  [[nodiscard]] Identity identity_of(const WebhookEvent& event) const;
  // Keys of this world live for seconds, and a provider's clock is believed to a minute: what an
  // earlier life did within that minute is left out.
  void leave_out_close_ones(std::vector<WebhookEvent>& events) const;
  // It was found to agree with what is stored.
  void check_agreement(const WebhookEvent& event) const;

  void kept() { ++kept_count_; }
  [[nodiscard]] std::uint64_t count() const { return kept_count_; }

 private:
  struct About {
    Identity identity;
    int life = 0;
  };

  void tell(const Identity& identity, const Ledger::Entry& entry);
  void tell_lies(const Identity& identity, Stream& stream);
  [[nodiscard]] WebhookEvent event_about(const Identity& identity, const std::string& source,
                                         int life);
  // To one node; told again later until one of them says that it is durable.
  void deliver(SourceEvent event, Duration at, int tries);

  Outside& outside_;
  std::vector<std::unique_ptr<Node>>& nodes_;
  Stream stream_;
  bool there_are_any_;
  std::array<Duration, 2> skew_;
  std::uint64_t told_ = 0;
  std::uint64_t kept_count_ = 0;
  std::map<std::string, About> about_;  // by id
};

}  // namespace pawl::sim
