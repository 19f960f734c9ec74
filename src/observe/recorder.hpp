// Observe mode's memory: requests hand it what they saw and go on; a background job does the rest.
// Nothing here can fail a request or make it wait. What does not fit is dropped, and counted.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "src/boundary/near_duplicates.hpp"
#include "src/observe/predict.hpp"
#include "src/ports/clock.hpp"
#include "src/ports/gateway_metrics.hpp"
#include "src/ports/log.hpp"
#include "src/ports/observation_store.hpp"
#include "src/ports/sleeper.hpp"

namespace pawl::observe {

struct RecorderOptions {
  std::size_t requests_max = 20'000;              // waiting
  std::size_t bytes_max = std::size_t{32} << 20;  // of them
  std::size_t batch_max = 256;
  std::size_t callers_max = 1000;  // named in the tallies; the others share one name
  Duration linger = std::chrono::milliseconds(20);  // so that batches are worth their commit
  Duration pause = std::chrono::milliseconds(500);  // between tries while the store is unavailable
  Duration reap_every = std::chrono::minutes(1);
  Duration tallies_kept = std::chrono::days(30);
  Duration flush_timeout = std::chrono::seconds(5);  // at the end
};

class Recorder {
 public:
  static constexpr std::string_view unauthenticated = "unauthenticated";
  static constexpr std::string_view others = "others";

  // `watches`: some route is observed. Otherwise it only clears away what was observed once.
  Recorder(const FingerprintSecrets& secrets, ObservationStore& observations,
           GatewayMetrics& metrics, Log& log, const Clock& clock, bool watches,
           RecorderOptions options = {});
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Until `stop`, and then it writes what is left, for a moment. On the sleepers' thread; once.
  Task<void> run(Sleepers& sleepers);
  // From any thread.
  void stop();
  void set_watching(bool watches) { watches_ = watches; }

  // Any thread, never blocks for longer than it takes to note it. False: dropped; then there is
  // nothing to say about its end either.
  bool saw(ObservedRequest observed);
  void ended(ObservedOutcome ending);

  [[nodiscard]] const RecorderOptions& options() const { return options_; }

 private:
  using Batch = std::vector<Observation>;

  // False: it is time to stop, and nothing is left.
  Task<bool> wait_for_work(Sleeper& sleeper);
  Batch take();
  Task<void> examine(Batch& batch);
  void examine(ObservedRequest& observed);
  Task<void> record(const Batch& batch, Sleeper& sleeper);
  Task<bool> try_to_record(const Batch& batch);
  std::vector<Tally> tallied(const Batch& batch, const std::vector<PredictedDecision>& would,
                             const std::map<std::string, std::uint64_t>& dropped,
                             const PredictionContext& context);
  void count(const Batch& batch, const std::vector<PredictedDecision>& would);
  std::string named(const std::string& scope);
  void drop(const Batch& batch);
  Task<void> reap();
  void note(bool recorded);
  Task<bool> store_answers();
  bool must_stop();
  Task<bool> pause(Sleeper& sleeper, Duration duration);  // false: it is time to stop
  void give_back(const Batch& batch);

  const FingerprintSecrets& secrets_;
  ObservationStore& observations_;
  GatewayMetrics& metrics_;
  Log& log_;
  const Clock& clock_;
  std::atomic<bool> watches_;
  const RecorderOptions options_;

  std::mutex mutex_;
  std::weak_ptr<Wakeable> sleeper_;               // under mutex_; the job's
  std::deque<Observation> waiting_;               // under mutex_
  std::size_t requests_ = 0;                      // under mutex_; those taken included
  std::size_t bytes_ = 0;                         // under mutex_; likewise
  std::map<std::string, std::uint64_t> dropped_;  // under mutex_; by route, not yet tallied
  bool stopping_ = false;                         // under mutex_

  // The job's own.
  NearDuplicates near_duplicates_;
  std::set<std::string> named_;
  bool failing_ = false;
  BootTime reap_at_;
  BootTime flush_until_ = BootTime::max();
};

}  // namespace pawl::observe
