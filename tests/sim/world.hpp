// One world, from one seed: built, troubled, healed, judged.
#pragma once

#include <map>
#include <set>

#include "tests/sim/consumers.hpp"
#include "tests/sim/events.hpp"
#include "tests/sim/outbox.hpp"

namespace pawl::sim {

struct WorldOptions {
  std::uint64_t seed = 0;
  std::set<std::uint64_t> spared;  // strikes that do not happen: how a seed is shrunk
  bool history = false;
};

class World {
 public:
  explicit World(WorldOptions options);
  ~World();

  // Stops at the first broken promise.
  void run();

  [[nodiscard]] const Checker& checker() const { return checker_; }
  [[nodiscard]] const Chaos& chaos() const { return chaos_; }
  [[nodiscard]] const History& history() const { return history_; }
  [[nodiscard]] const ClientCounts& clients() const { return clients_.counts(); }
  [[nodiscard]] const ConsumerCounts& consumers() const { return consumers_.counts(); }
  [[nodiscard]] std::uint64_t events() const { return events_.count(); }
  [[nodiscard]] std::uint64_t messages() const { return outbox_.count(); }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] std::uint64_t seed() const { return options_.seed; }

 private:
  bool run_until(Duration when);
  void trouble();
  void plan_restore();
  void plan_corruption();
  void purge_one();
  void restore(const Server::Backup& backup, Instant since);
  void make_truce();
  void heal();
  void mend();
  void watch_leaks();
  void note(const std::string& what);

  WorldOptions options_;
  History history_;
  Chaos chaos_;
  Scheduler scheduler_;
  Checker checker_;
  Server server_;
  Ledger ledger_;
  Outside outside_;
  Stream stream_;
  std::vector<std::unique_ptr<Node>> nodes_;
  Outbox outbox_;
  Events events_;
  Clients clients_;
  Consumers consumers_;
  std::map<Identity, std::pair<Fence, Duration>> leaks_;  // since when
  std::uint64_t steps_ = 0;
};

}  // namespace pawl::sim
