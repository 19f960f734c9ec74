#include "src/observe/recorder.hpp"

#include <gmock/gmock.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

#include "src/adapters/os/sleepers.hpp"

namespace pawl::observe {
namespace {

using namespace std::chrono_literals;

// Remembers rows and tallies; can be made to fail, or to wait.
class FakeObservations final : public ObservationStore {
 public:
  Task<StoreResult<Done>> apply(std::vector<ObservedKey> keys, Transition transition) override {
    co_return apply_here(keys, transition);
  }
  StoreResult<Done> apply_here(const std::vector<ObservedKey>& keys, const Transition& transition) {
    std::unique_lock lock(mutex);
    ++calls;
    changed.notify_all();
    changed.wait(lock, [this] { return !held; });
    const bool poisoned = std::ranges::find(keys, poison) != keys.end();
    if (std::exchange(throws, false)) throw std::bad_alloc();
    if (fails || poisoned) return Unexpected{StoreError::unavailable};
    Found found;
    for (const ObservedKey& key : keys) {
      found.push_back(rows.contains(key) ? std::optional(rows[key]) : std::nullopt);
    }
    if (asks_twice) static_cast<void>(transition(found, Instant{} + 1h));
    const ObservationUpdate judged = transition(found, Instant{} + 1h);
    for (const ObservedChange& change : judged.changes) rows[change.next.id] = change.next;
    for (const Tally& tally : judged.tallies) tallies[tally.would] += tally.requests;
    for (const Tally& tally : judged.tallies) scopes.insert(tally.scope);
    return Done{};
  }
  Task<StoreResult<std::size_t>> reap(Duration) override {
    const std::lock_guard lock(mutex);
    ++reaped;
    changed.notify_all();
    co_return std::size_t{0};
  }
  Task<StoreResult<Summary>> summary(Duration) override { co_return Summary{}; }
  [[nodiscard]] std::string trouble() const override { return "away"; }

  void wait_for(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, 30s, condition));
  }
  void set(bool& flag, bool value) {
    const std::lock_guard lock(mutex);
    flag = value;
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool held = false;
  bool fails = false;
  bool throws = false;  // once
  bool asks_twice = false;
  ObservedKey poison;
  int calls = 0;
  int reaped = 0;
  std::map<ObservedKey, ObservedRow> rows;
  std::map<std::string, std::uint64_t> tallies;
  std::set<std::string> scopes;
};

class CountingMetrics final : public GatewayMetrics {
 public:
  void request(std::string_view, int) override {}
  void upstream_took(std::string_view, Duration) override {}
  void duplicate(std::string_view) override {}
  void replayed(bool) override {}
  void misuse(std::string_view) override {}
  void decided_in_memory(std::string_view) override {}
  void near_duplicate(std::string_view) override { ++near; }
  void hinted() override {}
  void unguarded(std::string_view) override {}
  void observed(std::string_view, std::string_view would) override {
    const std::lock_guard lock(mutex);
    ++by_would[std::string(would)];
  }
  void observation_dropped() override { ++dropped; }
  void refused(std::string_view) override {}
  void connection_refused(std::string_view) override {}
  void reconciled(std::string_view) override {}
  void disproved_too_late() override {}
  void webhook(std::string_view) override {}
  void dead_letters(std::size_t) override {}
  void async_dead_letters(std::size_t) override {}
  void compared(std::string_view, const LedgerCounts&, Instant) override {}

  std::mutex mutex;
  std::map<std::string, int> by_would;
  std::atomic<int> dropped = 0;
  std::atomic<int> near = 0;
};

class NoLog final : public Log {
 public:
  void say(std::string_view /*level*/, std::string_view /*what*/) override {}
};

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] BootTime now() const override {
    return BootTime(
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
  }
  Task<void> sleep_until(BootTime) override { co_return; }
};

class ObserverTest : public ::testing::Test {
 protected:
  ObserverTest() {
    options.linger = 0ms;
    options.pause = 1ms;
  }

  Recorder& start() {
    observer.emplace(secrets, observations, metrics, log, clock, true, options);
    boost::asio::co_spawn(context, observer->run(sleepers), [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
    thread = std::thread([this] { context.run(); });
    return *observer;
  }

  // Returns when all that can be written is.
  void stop() {
    if (!thread.joinable()) return;
    observer->stop();
    thread.join();
  }
  ~ObserverTest() override { stop(); }

  ObservedRequest observed(const std::string& digest, const std::string& body = "one") {
    ObservedRequest one;
    one.route = {"payments", std::make_shared<BoundaryPolicy>(policy), 5s};
    one.id = {"caller:a", digest};
    one.owner = Owner{"owner-" + std::to_string(++owners_)};
    one.at = clock.now();
    one.method = "POST";
    one.body = body;
    return one;
  }

  const FingerprintSecrets secrets;
  BoundaryPolicy policy;
  FakeObservations observations;
  CountingMetrics metrics;
  NoLog log;
  SteadyClock clock;
  RecorderOptions options;
  std::optional<Recorder> observer;
  boost::asio::io_context context{1};
  os::AsioSleepers sleepers{context.get_executor()};
  std::thread thread;

 private:
  int owners_ = 0;
};

TEST_F(ObserverTest, RecordsWhatItSawBeforeItEnds) {
  start();
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(observer->saw(observed(std::to_string(i % 500))));
  stop();
  EXPECT_EQ(metrics.by_would["created"], 500);
  EXPECT_EQ(metrics.by_would["in_progress"], 500);
  EXPECT_EQ(observations.rows.size(), 500U);
  EXPECT_EQ(metrics.dropped, 0);
}

TEST_F(ObserverTest, CountsOnceWhereItIsAskedTwice) {
  observations.asks_twice = true;
  start();
  const ObservedRequest first = observed("k");
  observer->saw(first);
  observer->ended({first.id, first.owner, clock.now(), NotSent{}});
  stop();
  EXPECT_EQ(metrics.by_would["created"], 1);
  EXPECT_EQ(observations.tallies["created"], 1U);
  EXPECT_EQ(observations.rows.begin()->second.status, "failed_retryable");
}

TEST_F(ObserverTest, AFullQueueDropsAndSaysSoLater) {
  options.requests_max = 3;
  observations.held = true;
  start();
  EXPECT_TRUE(observer->saw(observed("a")));
  observations.wait_for([&] { return observations.calls > 0; });
  EXPECT_TRUE(observer->saw(observed("b")));
  EXPECT_TRUE(observer->saw(observed("c")));
  EXPECT_FALSE(observer->saw(observed("d"))) << "what is being written still counts";
  EXPECT_EQ(metrics.dropped, 1);
  observations.set(observations.held, false);
  stop();
  EXPECT_EQ(metrics.by_would["created"], 3);
  EXPECT_EQ(observations.tallies["dropped"], 1U);
}

TEST_F(ObserverTest, BodiesAreBoundedByTheirBytes) {
  options.bytes_max = 10'000;
  observations.held = true;
  start();
  EXPECT_FALSE(observer->saw(observed("a", std::string(10'000, 'x'))));
  EXPECT_TRUE(observer->saw(observed("b", std::string(6'000, 'x'))));
  EXPECT_FALSE(observer->saw(observed("c", std::string(6'000, 'x'))));
  EXPECT_TRUE(observer->saw(observed("d")));
  observations.set(observations.held, false);
}

TEST_F(ObserverTest, HoldsABatchWhileTheStoreIsAway) {
  observations.fails = true;
  start();
  observer->saw(observed("a"));
  observations.wait_for([&] { return observations.calls > 10; });
  observations.set(observations.fails, false);
  stop();
  EXPECT_EQ(metrics.by_would["created"], 1);
  EXPECT_EQ(metrics.dropped, 0);
}

TEST_F(ObserverTest, GivesUpABatchThatCannotBeWritten) {
  observations.poison = {"caller:a", "bad"};
  options.batch_max = 1;
  start();
  observer->saw(observed("bad"));
  observer->saw(observed("good"));
  observations.wait_for([&] { return observations.tallies["created"] == 1; });
  stop();
  EXPECT_EQ(metrics.dropped, 1);
  EXPECT_EQ(observations.rows.size(), 1U);
}

TEST_F(ObserverTest, GoesOnAfterABatchThatThrewAndGivesItsRoomBack) {
  observations.throws = true;
  options.batch_max = 1;
  options.requests_max = 2;
  start();
  EXPECT_TRUE(observer->saw(observed("first")));
  EXPECT_TRUE(observer->saw(observed("second")));
  observations.wait_for([&] { return observations.tallies["created"] == 1; });
  EXPECT_TRUE(observer->saw(observed("third"))) << "the first one's room is free again";
  stop();
  EXPECT_EQ(metrics.dropped, 1);
  EXPECT_EQ(observations.rows.size(), 2U);
}

TEST_F(ObserverTest, AStoreThatIsAwayDoesNotHoldUpTheEnd) {
  observations.fails = true;
  start();
  for (int i = 0; i < 5; ++i) observer->saw(observed("a"));
  stop();
  EXPECT_EQ(metrics.dropped, 5);
  EXPECT_FALSE(observer->saw(observed("late")));
}

TEST_F(ObserverTest, NamesABoundedNumberOfCallers) {
  options.callers_max = 2;
  start();
  for (const char* caller : {"caller:a", "caller:b", "caller:c", "caller:d", "caller:a"}) {
    ObservedRequest one = observed("k");
    one.id.scope = caller;
    observer->saw(one);
  }
  stop();
  EXPECT_THAT(observations.scopes, ::testing::ElementsAre("caller:a", "caller:b", "others"));
}

TEST_F(ObserverTest, FingerprintsAndNoticesTheDoubleTap) {
  start();
  observer->saw(observed("a", "same"));
  observer->saw(observed("b", "same"));
  ObservedRequest bad = observed("c", "{not json");
  bad.content_type = "application/json";
  observer->saw(bad);
  stop();
  EXPECT_EQ(metrics.near, 1);
  EXPECT_EQ(metrics.by_would["created"], 2);
  EXPECT_EQ(metrics.by_would["body_invalid"], 1);
}

TEST_F(ObserverTest, ClearsAwayWhatIsOld) {
  options.reap_every = 1ms;
  start();
  observations.wait_for([&] { return observations.reaped > 2; });
}

}  // namespace
}  // namespace pawl::observe
