// What sources tell by themselves: events about what is on the provider's books, in any order,
// twice, late, from two sources whose clocks are off, to any node.
//
// What an event means is src/reconcile's. What keeps it and what looks at it again is a model of
// src/workers/reconciler_events.cpp in a few lines, until that can run here itself.
#pragma once

#include <array>
#include <set>

#include "src/reconcile/event.hpp"
#include "tests/sim/node.hpp"

namespace pawl::sim {

// As it travels, and as it is kept.
struct SourceEvent {
  std::string source;
  std::string id;
  Identity identity;
  int life = 0;  // nobody in this world may look at it but to be fair: see `about`
  std::optional<Instant> happened_at;
  reconcile::KeptEvent kept;
  StoredResponse response;
};

class Events {
 public:
  Events(Outside& outside, std::vector<std::unique_ptr<Node>>& nodes);

  // The store's table. False: it was there already.
  bool keep(const SourceEvent& event);
  // Those that are about the record's key. Keys of this world live for seconds, and a provider's
  // clock is believed to a minute: what an earlier life did within that minute is left out.
  [[nodiscard]] std::vector<SourceEvent> about(const Record& record) const;

  [[nodiscard]] std::uint64_t count() const { return kept_count_; }

 private:
  void tell(const Identity& identity, const Ledger::Entry& entry);
  // To one node; told again later until one of them says that it is durable.
  void deliver(SourceEvent event, Duration at, int tries);

  Outside& outside_;
  std::vector<std::unique_ptr<Node>>& nodes_;
  Stream stream_;
  bool there_are_any_;
  std::array<Duration, 2> skew_;
  std::uint64_t told_ = 0;
  std::uint64_t kept_count_ = 0;
  std::map<Identity, std::vector<SourceEvent>> table_;
  std::set<std::pair<std::string, std::string>> known_;
};

}  // namespace pawl::sim
