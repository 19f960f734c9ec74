// The upstream: a payment service without any idempotency of its own, the worst one to stand
// before. On a transactional route it commits through its fence instead (design section 7).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/engine/engine.hpp"
#include "src/ports/upstream.hpp"
#include "tests/sim/node_clock.hpp"
#include "tests/sim/store.hpp"

namespace pawl::sim {

// What the provider has on its books: who reconciles asks here.
class Ledger {
 public:
  struct Entry {
    int life;
    Fence fence;
    Duration when;
    StoredResponse response;
  };
  using Told = std::function<void(const Identity&, const Entry&)>;

  void add(const Identity& identity, Entry entry) {
    if (told_) told_(identity, entry);
    entries_[identity].push_back(std::move(entry));
  }
  // Whoever is to be told of every entry.
  void tell(Told told) { told_ = std::move(told); }
  // What is known at `when` about the key, as this record stands for it: a payment where there is
  // one, else the newest refusal.
  [[nodiscard]] const Entry* find(const Checker& checker, const Identity& identity, Fence fence,
                                  Duration when) const;

 private:
  Told told_;
  std::map<Identity, std::vector<Entry>> entries_;
};

// Everything outside the nodes that a call meets.
class Outbox;
class Events;

struct Outside {
  std::uint64_t seed;
  Scheduler& scheduler;
  Server& server;
  Checker& checker;
  Chaos& chaos;
  History& history;
  Ledger& ledger;
  Outbox& outbox;
  Events& events;
  std::optional<Restoration> restoration = {};
  std::uint64_t sends = 0;
  std::uint64_t questions = 0;
};

// Where a node may be struck while the upstream has its request.
inline constexpr const char* after_sending = "the upstream's answer";

// One request on its way: made by a node for a client's body, used once.
class Call final : public Upstream {
 public:
  Call(Outside& outside, Process& process, const NodeClock& clock, Identity identity, Body body,
       std::string who);

  Task<Outcome> send(const Record& attempt, SendGate& gate, BootTime deadline) override;
  // Of the attempt it was sent for; 0 if it never was.
  [[nodiscard]] Fence fence() const { return fence_; }

 private:
  struct Script;
  struct Arrival;
  Script draw(const StoredPolicy& policy);
  static void serve(Outside& outside, Arrival& arrival, const Script& script);
  void note(const std::string& what) const;

  Outside& outside_;
  Process& process_;
  const NodeClock& clock_;
  Identity identity_;
  Body body_;
  std::string who_;
  Stream stream_;
  Fence fence_;
};

std::string text_of(Body body);

}  // namespace pawl::sim
