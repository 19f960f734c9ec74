// The worker on a store whose n-th call fails, before or after it has done its work.
#include "src/gateway/outbox_worker.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

#include "src/adapters/os/random.hpp"
#include "src/adapters/os/system_clock.hpp"
#include "src/adapters/sqlite/outbox_store.hpp"
#include "src/adapters/sqlite/test_support.hpp"
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

// The process is stopped for `stop` after the first call of a kind has done its work.
class SlowOutbox final : public OutboxStore {
 public:
  SlowOutbox(OutboxStore& inner, StoppableClock& clock, Call slow)
      : inner_(inner), clock_(clock), slow_(slow) {}

  Expected<OutboxClaimed, std::string> claim(const OutboxClaim& claim) override {
    auto result = inner_.claim(claim);
    if (result && !result->rows.empty()) stop_after(Call::claim);
    return result;
  }
  Expected<std::vector<bool>, std::string> write(const std::vector<OutboxWrite>& writes) override {
    auto result = inner_.write(writes);
    stop_after(Call::write);
    return result;
  }
  Expected<std::vector<OutboxCount>, std::string> count() override { return inner_.count(); }
  Expected<std::vector<OutboxRow>, std::string> list(const OutboxQuery& query) override {
    return inner_.list(query);
  }
  Expected<std::optional<OutboxRow>, std::string> find(const std::string& id) override {
    return inner_.find(id);
  }
  Expected<OutboxRow, std::string> change(const std::string& id, OutboxAction action,
                                          const OutboxAuthor& author,
                                          const Transition& transition) override {
    return inner_.change(id, action, author, transition);
  }
  Expected<Instant, std::string> time() override { return inner_.time(); }
  void disconnect() override { inner_.disconnect(); }

 private:
  void stop_after(Call done) {
    if (done != slow_ || stopped_) return;
    stopped_ = true;
    clock_.stop_for(stop);
  }

  OutboxStore& inner_;
  StoppableClock& clock_;
  const Call slow_;
  bool stopped_ = false;
};

// Claims and writes are counted together; the n-th fails.
class FaultyOutbox final : public OutboxStore {
 public:
  FaultyOutbox(OutboxStore& inner, int fails_at, Fault fault)
      : inner_(inner), fails_at_(fails_at), fault_(fault) {}

  Expected<OutboxClaimed, std::string> claim(const OutboxClaim& claim) override {
    return disturbed<OutboxClaimed>([&] { return inner_.claim(claim); });
  }
  Expected<std::vector<bool>, std::string> write(const std::vector<OutboxWrite>& writes) override {
    return disturbed<std::vector<bool>>([&] { return inner_.write(writes); });
  }
  Expected<std::vector<OutboxCount>, std::string> count() override { return inner_.count(); }
  Expected<std::vector<OutboxRow>, std::string> list(const OutboxQuery& query) override {
    return inner_.list(query);
  }
  Expected<std::optional<OutboxRow>, std::string> find(const std::string& id) override {
    return inner_.find(id);
  }
  Expected<OutboxRow, std::string> change(const std::string& id, OutboxAction action,
                                          const OutboxAuthor& author,
                                          const Transition& transition) override {
    return inner_.change(id, action, author, transition);
  }
  Expected<Instant, std::string> time() override { return inner_.time(); }
  void disconnect() override { inner_.disconnect(); }

 private:
  template <class T, class Call>
  Expected<T, std::string> disturbed(Call call) {
    const bool now = calls_++ == fails_at_;
    if (now && fault_ == Fault::unavailable) return Unexpected{std::string("a fault")};
    Expected<T, std::string> result = call();
    if (now) return Unexpected{std::string("a fault, afterwards")};
    return result;
  }

  OutboxStore& inner_;
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
    sqlite::opened(directory_.file());
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
    const OutboxWorld world{destinations, store, deadlines, clock, entropy, metrics, log};
    OutboxWorker worker(world, context.get_executor());
    net::co_spawn(context, deadlines.run(), net::detached);
    net::co_spawn(context, worker.run(), net::detached);
    std::thread thread([&] {
      const auto guard = net::make_work_guard(context);
      context.run();
    });
    sqlite::SqliteOutbox observer(directory_.file());
    OutboxStatus status = OutboxStatus::pending;
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (std::chrono::steady_clock::now() < deadline) {
      const auto row = observer.find(row_id);
      if (row && *row) status = (*row)->status;
      const bool over = status != OutboxStatus::pending && status != OutboxStatus::sending;
      if (over) break;
      std::this_thread::sleep_for(2ms);
    }
    worker.stop();
    while (worker.busy() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(1ms);
    }
    context.stop();
    thread.join();
    return status;
  }

  sqlite::TempDir directory_;
};

class OutboxFaults : public OutboxWorkerTest,
                     public ::testing::WithParamInterface<std::tuple<int, Fault>> {};

// The destination does not dedupe: a second call would be a second effect.
TEST_P(OutboxFaults, OneEffectAndDoneWhicheverStoreCallFails) {
  const auto [fails_at, fault] = GetParam();
  UpstreamServer server;
  sqlite::SqliteOutbox inner(directory_.file());
  FaultyOutbox store(inner, fails_at, fault);
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
  sqlite::SqliteOutbox store(directory_.file());
  EXPECT_EQ(work(store, server), OutboxStatus::unknown);
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
  sqlite::SqliteOutbox inner(directory_.file());
  SlowOutbox store(inner, clock, GetParam());
  EXPECT_EQ(work(store, to, clock), OutboxStatus::unknown);
  EXPECT_EQ(server.effects("d"), 0U);
}

INSTANTIATE_TEST_SUITE_P(All, OutboxWindow, ::testing::Values(Call::claim, Call::write),
                         [](const auto& which) {
                           return which.param == Call::claim ? "Claim" : "Mark";
                         });

}  // namespace
}  // namespace pawl::gateway
