#include "bench/reaper.hpp"

#include "src/adapters/os/random.hpp"
#include "src/adapters/os/system_clock.hpp"
#include "src/engine/pace.hpp"
#include "testing/counting.hpp"
#include "testing/run.hpp"

namespace pawl::bench {
namespace {

std::size_t reap(Store& store, const std::atomic<bool>& stop) {
  os::SystemClock clock;
  os::SystemEntropy entropy;
  testing::CountingMetrics metrics;
  Engine engine(store, clock, entropy, metrics);
  return testing::run(reap_at_pace(engine, clock, stop));
}

}  // namespace

Reaper::Reaper(Store& store) : thread_([this, &store] { deleted_ = reap(store, stop_); }) {}

Reaper::~Reaper() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

std::size_t Reaper::stop() {
  stop_ = true;
  thread_.join();
  return deleted_;
}

}  // namespace pawl::bench
