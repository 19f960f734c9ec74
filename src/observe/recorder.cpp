#include "src/observe/recorder.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <tuple>

namespace pawl::observe {
namespace {

namespace net = boost::asio;

constexpr int blame_max = 3;
constexpr int reap_rounds_max = 20;
constexpr Duration idle_reap_every = std::chrono::hours(1);

using TallyKey = std::tuple<std::string, Instant, std::string, std::string>;
using Tallies = std::map<TallyKey, Tally>;

Instant span_of(Instant at) {
  const Duration since_epoch = at.time_since_epoch();
  return Instant(since_epoch - since_epoch % tally_span);
}

Tally& tally_in(Tallies& tallies, const std::string& scope, std::string_view route,
                PredictedDecision would, Instant at) {
  const std::string word(to_text(would));
  Tally& tally = tallies[{scope, span_of(at), std::string(route), word}];
  tally.scope = scope;
  tally.route = route;
  tally.would = word;
  tally.from = span_of(at);
  return tally;
}

std::vector<ObservedKey> keys_of(const std::vector<Observation>& batch) {
  std::set<ObservedKey> keys;
  for (const Observation& each : batch) {
    const auto* observed = std::get_if<ObservedRequest>(&each);
    if (observed == nullptr) {
      keys.insert(std::get<ObservedOutcome>(each).id);
    } else if (!observed->certain) {
      keys.insert(observed->id);
    }
  }
  return {keys.begin(), keys.end()};
}

}  // namespace

Recorder::Recorder(const FingerprintSecrets& secrets, ObservationStore& observations,
                   GatewayMetrics& metrics, Log& log, const Clock& clock, bool watches,
                   RecorderOptions options)
    : secrets_(secrets),
      observations_(observations),
      metrics_(metrics),
      log_(log),
      clock_(clock),
      watches_(watches),
      options_(options),
      reap_at_(clock.now() + options.reap_every) {}

void Recorder::stop() {
  std::shared_ptr<Wakeable> sleeper;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    sleeper = sleeper_.lock();
  }
  if (sleeper) sleeper->wake();
}

bool Recorder::saw(ObservedRequest observed) {
  const std::size_t bytes = observed.bytes();
  std::shared_ptr<Wakeable> sleeper;
  {
    const std::lock_guard lock(mutex_);
    const bool fits = requests_ < options_.requests_max && bytes <= options_.bytes_max &&
                      bytes_ <= options_.bytes_max - bytes;
    if (!fits || stopping_) {
      ++dropped_[std::string(observed.route.name)];
      metrics_.observation_dropped();
      return false;
    }
    ++requests_;
    bytes_ += bytes;
    if (waiting_.empty()) sleeper = sleeper_.lock();  // else it was woken already
    waiting_.emplace_back(std::move(observed));
  }
  if (sleeper) sleeper->wake();
  return true;
}

// Never dropped: there is at most one for each request that was taken, and without it the key
// would seem to be one whose owner died.
void Recorder::ended(ObservedOutcome ending) {
  std::shared_ptr<Wakeable> sleeper;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) sleeper = sleeper_.lock();
    waiting_.emplace_back(std::move(ending));
  }
  if (sleeper) sleeper->wake();
}

Task<bool> Recorder::pause(Sleeper& sleeper, Duration duration) {
  const BootTime end = clock_.now() + duration;
  for (;;) {
    sleeper.rest();  // before the question: a stop from here on wakes it
    if (must_stop()) co_return false;
    const Duration left = end - clock_.now();
    if (left <= Duration{0}) co_return true;
    co_await sleeper.sleep(left);
  }
}

bool Recorder::must_stop() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

Task<void> Recorder::run(Sleepers& sleepers) {
  const std::shared_ptr<Sleeper> sleeper = sleepers.new_sleeper();
  {
    const std::lock_guard lock(mutex_);
    sleeper_ = sleeper;
  }
  for (;;) {
    const bool more = co_await wait_for_work(*sleeper);
    if (!more) break;
    const bool goes_on = co_await pause(*sleeper, options_.linger);
    Batch batch = take();
    try {
      if (!batch.empty()) {
        co_await examine(batch);
        co_await record(batch, *sleeper);
      }
      batch.clear();
      if (goes_on && clock_.now() >= reap_at_) co_await reap();
    } catch (const std::exception& failure) {  // costs these observations, not those to come
      log_.say("error", std::string("observations were given up: ") + failure.what());
      drop(batch);
      give_back(batch);
    }
  }
}

Task<bool> Recorder::wait_for_work(Sleeper& sleeper) {
  for (;;) {
    sleeper.rest();
    {
      const std::lock_guard lock(mutex_);
      if (!waiting_.empty()) co_return true;
      if (stopping_) co_return false;
    }
    const Duration until_reap = reap_at_ - clock_.now();
    if (until_reap <= Duration{0}) co_return true;
    co_await sleeper.sleep(until_reap);
  }
}

Recorder::Batch Recorder::take() {
  Batch batch;
  const std::lock_guard lock(mutex_);
  while (!waiting_.empty() && batch.size() < options_.batch_max) {
    batch.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return batch;
}

// One request's work at a time: those that are served on this thread go in between.
Task<void> Recorder::examine(Batch& batch) {
  const net::any_io_executor executor = co_await net::this_coro::executor;
  for (Observation& each : batch) {
    auto* const observed = std::get_if<ObservedRequest>(&each);
    if (observed == nullptr || observed->certain) continue;
    examine(*observed);
    co_await net::post(executor, net::use_awaitable);
  }
}

// What the guarded path does before it asks the store.
void Recorder::examine(ObservedRequest& observed) {
  const BoundaryPolicy& policy = *observed.route.policy;
  Expected<Fingerprinted, json::Error> made =
      fingerprint(observed.content(), policy.fingerprint, secrets_);
  if (!made) {
    observed.certain = PredictedDecision::body_invalid;
    return;
  }
  observed.fingerprint = std::move(made->fingerprint);
  if (policy.near_duplicates == WhenNearDuplicate::off) return;
  observed.near_duplicate = near_duplicates_.seen_under_another_key(
      Scope{observed.id.scope + observed.client}, observed.fingerprint, Key{observed.id.key},
      observed.at, policy.near_duplicate_window);
}

// Until it is recorded, or cannot be. While the store is unavailable the batch is held, and what
// comes after it waits or is dropped.
Task<void> Recorder::record(const Batch& batch, Sleeper& sleeper) {
  int to_blame = 0;  // how often the store answered before and after, and took anything but this
  for (int tries = 1;; ++tries) {
    const bool last = must_stop();  // asked before: the last try comes after the word to stop
    if (last) flush_until_ = std::min(flush_until_, clock_.now() + options_.flush_timeout);
    bool answered = false;
    if (!last && tries > 1) answered = co_await store_answers();
    const bool recorded = co_await try_to_record(batch);
    if (recorded) break;
    if (answered) answered = co_await store_answers();
    if (answered) ++to_blame;
    if (last || to_blame >= blame_max) {
      drop(batch);
      break;
    }
    static_cast<void>(co_await pause(sleeper, options_.pause));
  }
  give_back(batch);
}

void Recorder::give_back(const Batch& batch) {
  const std::lock_guard lock(mutex_);
  for (const Observation& each : batch) {
    const auto* observed = std::get_if<ObservedRequest>(&each);
    if (observed == nullptr) continue;
    --requests_;
    bytes_ -= observed->bytes();
  }
}

Task<bool> Recorder::try_to_record(const Batch& batch) {
  if (clock_.now() >= flush_until_) co_return false;
  const std::vector<ObservedKey> keys = keys_of(batch);
  std::map<std::string, std::uint64_t> dropped;
  {
    const std::lock_guard lock(mutex_);
    dropped = dropped_;
  }
  std::vector<PredictedDecision> would;
  const ObservationStore::Transition predict = [&](const ObservationStore::Found& found,
                                                   Instant now) {
    const PredictionContext context{.secrets = secrets_, .boot_now = clock_.now(), .now = now};
    Prediction prediction = transition(batch, keys, found, context);
    prediction.written.tallies = tallied(batch, prediction.would, dropped, context);
    would = std::move(prediction.would);
    return std::move(prediction.written);
  };
  const StoreResult<Done> applied = co_await observations_.apply(keys, predict);
  note(applied.has_value());
  if (!applied) co_return false;
  count(batch, would);
  const std::lock_guard lock(mutex_);
  for (const auto& [route, number] : dropped) dropped_[route] -= number;
  std::erase_if(dropped_, [](const auto& entry) { return entry.second == 0; });
  co_return true;
}

// A caller's name, as long as there are not too many of them.
std::string Recorder::named(const std::string& scope) {
  if (named_.contains(scope)) return scope;
  if (named_.size() >= options_.callers_max) return std::string(others);
  named_.insert(scope);
  return scope;
}

std::vector<Tally> Recorder::tallied(const Batch& batch,
                                     const std::vector<PredictedDecision>& would,
                                     const std::map<std::string, std::uint64_t>& dropped,
                                     const PredictionContext& context) {
  Tallies tallies;
  auto verdict = would.begin();
  for (const Observation& each : batch) {
    const auto* observed = std::get_if<ObservedRequest>(&each);
    if (observed == nullptr) continue;
    const Instant at = context.now - (context.boot_now - observed->at);
    Tally& tally = tally_in(tallies, named(observed->id.scope), observed->route.name, *verdict, at);
    const bool doubled =
        observed->near_duplicate &&
        (*verdict == PredictedDecision::created || *verdict == PredictedDecision::near_duplicate);
    ++tally.requests;
    tally.near_duplicates += doubled ? 1U : 0U;
    if (at >= tally.last_at) {
      tally.last_at = at;
      tally.last_key = observed->key_name;
    }
    ++verdict;
  }
  for (const auto& [route, number] : dropped) {
    Tally& tally =
        tally_in(tallies, std::string(others), route, PredictedDecision::dropped, context.now);
    tally.requests += number;
    tally.last_at = context.now;
  }
  std::vector<Tally> all;
  all.reserve(tallies.size());
  for (auto& [key, tally] : tallies) all.push_back(std::move(tally));
  return all;
}

void Recorder::count(const Batch& batch, const std::vector<PredictedDecision>& would) {
  auto verdict = would.begin();
  for (const Observation& each : batch) {
    const auto* observed = std::get_if<ObservedRequest>(&each);
    if (observed == nullptr) continue;
    const std::string_view route = observed->route.name;
    metrics_.observed(route, to_text(*verdict));
    const bool doubled =
        observed->near_duplicate &&
        (*verdict == PredictedDecision::created || *verdict == PredictedDecision::near_duplicate);
    if (doubled) metrics_.near_duplicate(route);
    ++verdict;
  }
}

// Would it take anything at all?
Task<bool> Recorder::store_answers() {
  const std::vector<ObservedKey> no_keys;
  const ObservationStore::Transition nothing = [](const ObservationStore::Found&, Instant) {
    return ObservationUpdate{};
  };
  const StoreResult<Done> answer = co_await observations_.apply(no_keys, nothing);
  co_return answer.has_value();
}

void Recorder::drop(const Batch& batch) {
  const std::lock_guard lock(mutex_);
  for (const Observation& each : batch) {
    const auto* observed = std::get_if<ObservedRequest>(&each);
    if (observed == nullptr) continue;
    ++dropped_[std::string(observed->route.name)];
    metrics_.observation_dropped();
  }
}

void Recorder::note(bool recorded) {
  if (!recorded && !failing_) {
    log_.say("warning", "what observe mode sees cannot be recorded (" + observations_.trouble() +
                            "); requests go on");
  } else if (recorded && failing_) {
    log_.say("info", "what observe mode sees is recorded again");
  }
  failing_ = !recorded;
}

Task<void> Recorder::reap() {
  for (int round = 0; round < reap_rounds_max; ++round) {
    const StoreResult<std::size_t> gone = co_await observations_.reap(options_.tallies_kept);
    if (!gone || *gone == 0 || must_stop()) break;
  }
  reap_at_ = clock_.now() + (watches_ ? options_.reap_every : idle_reap_every);
}

}  // namespace pawl::observe
