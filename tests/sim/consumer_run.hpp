// What one run of a consumer holds in memory.
#pragma once

#include "tests/sim/consumer.hpp"

namespace pawl::sim {

struct Consumer::Run {
  Run(Outside& outside, Process::Oracle oracle, Duration offset, std::int64_t drift_ppm)
      : process(std::make_shared<Process>(outside.scheduler, std::move(oracle))),
        clock(outside.scheduler, *process, offset, drift_ppm) {}
  ~Run() { process->clear(); }  // coroutines first: they hold references to all the rest

  std::shared_ptr<Process> process;
  NodeClock clock;
};

// One delivery, from the first call to the last.
struct Consumer::Job {
  std::shared_ptr<Delivery> delivery;
  Stream stream;
  Owner token;
  SharedRecord record;  // as granted
  BootTime lease_ends;  // by the consumer's clock, counted from when it asked
  std::string recovery_point;
  bool over = false;  // done with, or no longer its own
  bool lost = false;  // somebody said that the key is not its own any more
};

}  // namespace pawl::sim
