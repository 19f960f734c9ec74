// A consumer: a program of its own that takes messages from a queue and does the work itself, by
// leave of the key API. It stops and dies like any program; what it knew dies with it.
#pragma once

#include "tests/sim/client.hpp"

namespace pawl::sim {

struct ConsumerCounts {
  std::uint64_t deliveries = 0;
  std::uint64_t calls = 0;  // that came to their end: answered, or given up
  std::uint64_t answered = 0;
  std::array<std::uint64_t, 9> decisions{};
  std::array<std::uint64_t, key_verbs> written{};
  std::array<std::uint64_t, key_verbs> refused{};
};

// A message, handed to one consumer. The token of the attempt is made of its number, so that no two
// deliveries have the same.
struct Delivery {
  Identity identity;
  Body body;
  BoundaryPolicy policy;
  std::uint64_t number = 0;
  bool careless = false;  // acts without a look at its lease
  bool in_steps = false;  // says how far it has come
  std::function<void(bool finished)> acknowledge;
};

class Consumer {
 public:
  Consumer(Outside& outside, std::vector<std::unique_ptr<Node>>& nodes,
           const FingerprintSecrets& secrets, ConsumerCounts& counts, int number);
  ~Consumer();

  void start();
  // Lost if the consumer is down: the queue will deliver it again.
  void take(std::shared_ptr<Delivery> delivery);
  // Faults are over: whatever still held it back is gone.
  void heal();

 private:
  struct Run;
  struct Job;
  class Gate;

  Process::Fate fate(const char* place);
  void crash();

  Task<void> handle(Run& run, std::shared_ptr<Delivery> delivery);
  // Nothing: it is not granted. `finished` says whether it need not be asked for again.
  Task<bool> obtain(Run& run, Job& job, bool& finished);
  Task<bool> act(Run& run, Job& job);
  Task<void> keep_alive(Run& run, std::shared_ptr<Job> job);
  Task<bool> settle(Run& run, Job& job, const Outcome& outcome);
  Task<bool> renew(Run& run, Job& job);
  Task<bool> advance(Run& run, Job& job, std::string_view to);
  // Repeats a write until it is heard what came of it: true if it was done.
  Task<bool> write(Run& run, Job& job, const KeyExchange& exchange);
  Task<std::optional<KeyHeard>> ask(Run& run, Job& job, KeyExchange exchange);
  Task<void> forge(Run& run, Job& job);
  Task<void> rest(Run& run, Duration time);
  [[nodiscard]] KeyExchange call_of(const Job& job, KeyVerb verb) const;
  void note(const std::string& what) const;

  Outside& outside_;
  std::vector<std::unique_ptr<Node>>& nodes_;
  const FingerprintSecrets& secrets_;
  ConsumerCounts& counts_;
  std::string name_;
  Stream stream_;
  Duration clock_offset_;
  std::int64_t drift_ppm_;
  std::unique_ptr<Run> run_;
};

}  // namespace pawl::sim
