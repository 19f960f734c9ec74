// Observe mode's memory: requests hand it what they saw and go on; a thread of its own does the
// rest. Nothing here can delay or fail a request. What does not fit is dropped, and counted.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "src/boundary/near_duplicates.hpp"
#include "src/gateway/predict.hpp"
#include "src/gateway/request_log.hpp"
#include "src/ports/clock.hpp"
#include "src/ports/gateway_metrics.hpp"
#include "src/ports/observation_store.hpp"

namespace pawl::gateway {

struct ObserverOptions {
  std::size_t sightings_max = 20'000;             // waiting
  std::size_t bytes_max = std::size_t{32} << 20;  // of them
  std::size_t batch_max = 256;
  std::size_t callers_max = 1000;  // named in the tallies; the others share one name
  Duration linger = std::chrono::milliseconds(20);  // so that batches are worth their commit
  Duration pause = std::chrono::milliseconds(500);  // between tries while the store is away
  Duration reap_every = std::chrono::minutes(1);
  Duration tallies_kept = std::chrono::days(30);
  Duration flush_timeout = std::chrono::seconds(5);  // at the end
};

class Recorder {
 public:
  static constexpr std::string_view nobody = "unauthenticated";
  static constexpr std::string_view others = "others";

  // `watches`: some route is observed. Otherwise it only clears away what was observed once.
  Recorder(const config::Config& config, ObservationStore& observations, GatewayMetrics& metrics,
           RequestLog& log, const Clock& clock, bool watches, ObserverOptions options = {});
  ~Recorder() { stop(); }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void start();
  // Writes what is left, for a moment, and ends the thread.
  void stop();

  // Any thread, never blocks for longer than it takes to note it. False: dropped; then there is
  // nothing to say about its end either.
  bool saw(ObservedRequest observed);
  void ended(ObservedOutcome ending);

  [[nodiscard]] const ObserverOptions& options() const { return options_; }

 private:
  using Batch = std::vector<Observation>;

  void run();
  Batch take();
  void look_at(ObservedRequest& observed);
  void record(const Batch& batch);
  bool try_to_record(const Batch& batch);
  std::vector<Tally> tallied(const Batch& batch, const std::vector<PredictedDecision>& would,
                             const std::map<std::string, std::uint64_t>& dropped,
                             const PredictionContext& context);
  void count(const Batch& batch, const std::vector<PredictedDecision>& would);
  std::string named(const std::string& scope);
  void drop(const Batch& batch);
  void reap();
  void note(const Expected<Done, std::string>& tried);
  bool store_answers();
  bool must_stop();
  bool pause(Duration duration);  // false: it is time to stop

  const FingerprintSecrets& secrets_;
  ObservationStore& observations_;
  GatewayMetrics& metrics_;
  RequestLog& log_;
  const Clock& clock_;
  const bool watches_;
  const ObserverOptions options_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Observation> waiting_;               // under mutex_
  std::size_t sightings_ = 0;                     // under mutex_; those taken included
  std::size_t bytes_ = 0;                         // under mutex_; likewise
  std::map<std::string, std::uint64_t> dropped_;  // under mutex_; by route, not yet tallied
  bool stopping_ = false;                         // under mutex_

  // The thread's own.
  NearDuplicates near_duplicates_;
  std::set<std::string> named_;
  bool in_trouble_ = false;
  BootTime reap_at_;
  BootTime flush_until_ = BootTime::max();
  std::thread thread_;
};

}  // namespace pawl::gateway
