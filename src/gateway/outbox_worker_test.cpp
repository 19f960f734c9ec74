// The outbox worker with a real store, whose n-th call fails, and a real server.
#include "src/workers/outbox_worker.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

#include "src/adapters/os/random.hpp"
#include "src/adapters/os/sleepers.hpp"
#include "src/adapters/os/system_clock.hpp"
#include "src/adapters/sqlite/test_support.hpp"
#include "src/gateway/http_destinations.hpp"
#include "src/gateway/request_log.hpp"
#include "src/node/open_store.hpp"
#include "src/node/run_here.hpp"
#include "tests/support/upstream_server.hpp"

namespace pawl::gateway {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;
using testing::Behaviour;
using testing::ReceivedRequest;
using testing::UpstreamServer;

enum class Fault { unavailable, in_doubt };

// The machine's clock, of a process that can be stopped for a while.
class StoppableClock final : public Clock {
 public:
  [[nodiscard]] BootTime now() const override { return real_.now() + stopped_.load(); }
  Task<void> sleep_until(BootTime when) override {
    co_await real_.sleep_until(when - stopped_.load());
  }
  void stop_for(Duration time) { stopped_ = stopped_.load() + time; }

 private:
  os::SystemClock real_;
  std::atomic<Duration> stopped_{Duration{0}};
};

enum class Call { claim, write };
constexpr Duration stop = 150s;

// What neither of the stores below changes.
class PassedOn : public OutboxStore {
 public:
  explicit PassedOn(OutboxStore& inner) : inner_(inner) {}

  Task<StoreResult<OutboxCounts>> count() override { return inner_.count(); }
  Task<StoreResult<std::vector<OutboxRow>>> list(OutboxQuery query) override {
    return inner_.list(std::move(query));
  }
  Task<StoreResult<std::optional<OutboxRow>>> find(std::string id) override {
    return inner_.find(std::move(id));
  }
  Task<StoreResult<Changed>> change(std::string id, OutboxAction action, OutboxAuthor author,
                                    Transition transition) override {
    return inner_.change(std::move(id), action, std::move(author), std::move(transition));
  }
  [[nodiscard]] std::string trouble() const override { return "a fault"; }

 protected:
  OutboxStore& inner_;
};

// The process is stopped for `stop` after the first call of a kind has done its work.
class SlowOutbox final : public PassedOn {
 public:
  SlowOutbox(OutboxStore& inner, StoppableClock& clock, Call slow)
      : PassedOn(inner), clock_(clock), slow_(slow) {}

  Task<StoreResult<OutboxClaimed>> claim(OutboxClaim claim) override {
    StoreResult<OutboxClaimed> result = co_await inner_.claim(std::move(claim));
    if (result && !result->rows.empty()) stop_after(Call::claim);
    co_return result;
  }
  Task<StoreResult<bool>> write(OutboxWrite write) override {
    const StoreResult<bool> result = co_await inner_.write(std::move(write));
    stop_after(Call::write);
    co_return result;
  }

 private:
  void stop_after(Call done) {
    if (done != slow_ || stopped_) return;
    stopped_ = true;
    clock_.stop_for(stop);
  }

  StoppableClock& clock_;
  const Call slow_;
  bool stopped_ = false;
};

// Claims and writes are counted together; the n-th fails.
class FaultyOutbox final : public PassedOn {
 public:
  FaultyOutbox(OutboxStore& inner, int fails_at, Fault fault)
      : PassedOn(inner), fails_at_(fails_at), fault_(fault) {}

  Task<StoreResult<OutboxClaimed>> claim(OutboxClaim claim) override {
    return disturbed(inner_.claim(std::move(claim)));
  }
  Task<StoreResult<bool>> write(OutboxWrite write) override {
    return disturbed(inner_.write(std::move(write)));
  }

 private:
  // A task that is not awaited has not begun.
  template <class T>
  Task<StoreResult<T>> disturbed(Task<StoreResult<T>> call) {
    const bool now = calls_++ == fails_at_;
    if (now && fault_ == Fault::unavailable) co_return Unexpected{StoreError::unavailable};
    StoreResult<T> result = co_await std::move(call);
    if (now) co_return Unexpected{StoreError::in_doubt};
    co_return result;
  }

  const int fails_at_;
  const Fault fault_;
  int calls_ = 0;
};

class NoMetrics final : public OutboxMetrics {
 public:
  void outbox_settled(std::string_view, OutboxResult) override {}
  void outbox_depth(const std::vector<OutboxDepth>&) override {}
  void outbox_breaker(std::string_view, bool) override {}
};

constexpr const char* row_id = "00000000-0000-4000-8000-000000000001";

class OutboxWorkerTest : public ::testing::Test {
 protected:
  OutboxWorkerTest() {
    auto opened = open_store("sqlite:" + directory_.file(), {.create = true});
    EXPECT_TRUE(opened) << opened.error();
    store_ = std::move(*opened);
    auto connection = sqlite::Connection::open(directory_.file(), sqlite::WhenMissing::fail, {});
    EXPECT_EQ(
        connection->run("INSERT INTO outbox (scope_id, id, idempotency_key, destination,"
                        " derived_key, next_attempt_at, created_at) VALUES ('a',"
                        " '00000000-0000-4000-8000-000000000001', 'k', 'provider', 'd', 0, 0)"),
        SQLITE_OK);
  }

  static config::Destination destination(const UpstreamServer& server) {
    config::Destination one;
    one.name = "provider";
    one.url.host = "127.0.0.1";
    one.url.port = server.port();
    one.rules.dedupes = false;
    one.rules.backoff_min = 1ms;
    one.rules.backoff_max = 5ms;
    one.rules.timeout = 20s;
    one.lease = 200ms;  // what a lost claim costs
    return one;
  }

  // Runs a worker until the row has left its queue; how it ended.
  OutboxStatus work(OutboxStore& store, const UpstreamServer& server) {
    os::SystemClock clock;
    return work(store, destination(server), clock);
  }
  OutboxStatus work(OutboxStore& store, const config::Destination& to, Clock& clock) {
    const std::vector<config::Destination> destinations{to};
    net::io_context context(1);
    os::SystemEntropy entropy;
    http::Deadlines deadlines(clock);
    NoMetrics metrics;
    RequestLog log(config::LogFormat::human);
    os::AsioSleepers sleepers(context.get_executor());
    HttpDestinations there(destinations, deadlines);
    const workers::OutboxPorts ports{store, clock, entropy, sleepers, metrics, log};
    workers::OutboxWorker worker(ports, there.settings(), context.get_executor());
    std::atomic<bool> over = false;
    net::co_spawn(context, deadlines.run(), net::detached);
    net::co_spawn(context, worker.run(), [&over](std::exception_ptr) { over = true; });
    std::thread thread([&] {
      const auto guard = net::make_work_guard(context);
      context.run();
    });
    OutboxStatus status = OutboxStatus::pending;
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (std::chrono::steady_clock::now() < deadline) {
      const auto row = run_here(store_.outbox->find(row_id));
      if (row && *row) status = (*row)->status;
      if (status != OutboxStatus::pending && status != OutboxStatus::sending) break;
      std::this_thread::sleep_for(2ms);
    }
    worker.stop();
    while (!over && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(1ms);
    }
    context.stop();
    thread.join();
    return status;
  }

  sqlite::TempDir directory_;
  OpenStore store_;
};

class OutboxFaults : public OutboxWorkerTest,
                     public ::testing::WithParamInterface<std::tuple<int, Fault>> {};

// The destination does not dedupe: a second call would be a second effect.
TEST_P(OutboxFaults, OneEffectAndDoneWhicheverStoreCallFails) {
  const auto [fails_at, fault] = GetParam();
  UpstreamServer server;
  FaultyOutbox store(*store_.outbox, fails_at, fault);
  EXPECT_EQ(work(store, server), OutboxStatus::done);
  EXPECT_EQ(server.effects("d"), 1U);
}

INSTANTIATE_TEST_SUITE_P(All, OutboxFaults,
                         ::testing::Combine(::testing::Range(0, 5),
                                            ::testing::Values(Fault::unavailable, Fault::in_doubt)),
                         [](const auto& which) {
                           return std::string(std::get<1>(which.param) == Fault::in_doubt
                                                  ? "InDoubtAt"
                                                  : "UnavailableAt") +
                                  std::to_string(std::get<0>(which.param));
                         });

TEST_F(OutboxWorkerTest, AResetIsUnknownAfterOneCall) {
  UpstreamServer server;
  server.behave(Behaviour::reset());
  EXPECT_EQ(work(*store_.outbox, server), OutboxStatus::unknown);
  EXPECT_EQ(server.effects("d"), 1U);
}

class OutboxWindow : public OutboxWorkerTest, public ::testing::WithParamInterface<Call> {};

// It was sent a moment ago, and the destination forgets the key while the worker is stopped: what
// the claim said of the time, or what was right before the mark was committed, is right no more.
TEST_P(OutboxWindow, EndsWhileTheStoreIsAskedAndNothingIsSentAnyMore) {
  UpstreamServer server;
  auto connection = sqlite::Connection::open(directory_.file(), sqlite::WhenMissing::fail, {});
  ASSERT_EQ(connection->run("UPDATE outbox SET attempt = 1, first_sent_at = unixepoch() * 1000000"),
            SQLITE_OK);
  config::Destination to = destination(server);
  to.rules.dedupes = true;
  to.rules.timeout = stop + 50s;
  to.rules.dedupe_window =
      to.rules.timeout + 100s;  // closes for a new call before the stop is over
  StoppableClock clock;
  SlowOutbox store(*store_.outbox, clock, GetParam());
  EXPECT_EQ(work(store, to, clock), OutboxStatus::unknown);
  EXPECT_EQ(server.effects("d"), 0U);
}

INSTANTIATE_TEST_SUITE_P(All, OutboxWindow, ::testing::Values(Call::claim, Call::write),
                         [](const auto& which) {
                           return which.param == Call::claim ? "Claim" : "Mark";
                         });

}  // namespace
}  // namespace pawl::gateway
