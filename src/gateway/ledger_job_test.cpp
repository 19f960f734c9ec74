#include "src/gateway/ledger_job.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "src/adapters/os/sleepers.hpp"
#include "src/adapters/os/system_clock.hpp"

namespace pawl::gateway {
namespace {

using namespace std::chrono_literals;

// Has no records; remembers what it was told.
class FakeLedger final : public LedgerStore {
 public:
  Task<StoreResult<LedgerPage>> page(LedgerQuery) override {
    LedgerPage page;
    page.is_last = true;
    co_return page;
  }
  Task<StoreResult<bool>> take_comparison(std::string source, Duration) override {
    taken.push_back(source);
    co_return is_due;
  }
  Task<StoreResult<Done>> compared(Comparison comparison, Duration next_in) override {
    noted.push_back(comparison);
    pauses.push_back(next_in);
    co_return Done{};
  }
  Task<StoreResult<std::vector<Comparison>>> comparisons() override {
    on_shown();
    co_return std::vector<Comparison>{};
  }
  [[nodiscard]] std::string trouble() const override { return "away"; }

  bool is_due = true;
  
  std::function<void()> on_shown = [] {};
  std::vector<std::string> taken;
  std::vector<Comparison> noted;
  std::vector<Duration> pauses;
};

class LedgerJobTest : public ::testing::Test {
 protected:
  LedgerJobTest() {
    config::Source source;
    source.name = "provider";
    source.ledger.emplace();
    source.ledger->every = 1h;
    config.sources.push_back(source);
  }

  LedgerJob make() {
    return {config,
            ledger,
            []() -> Expected<std::unique_ptr<LedgerWorkspace>, std::string> {
              return Unexpected{std::string("no room")};
            },
            deadlines,
            sleepers,
            metrics,
            log};
  }
  void run(LedgerJob& job) {
    boost::asio::co_spawn(context, job.run(), [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
    context.run();
  }

  boost::asio::io_context context{1};
  os::SystemClock clock;
  http::Deadlines deadlines{clock};
  os::AsioSleepers sleepers{context.get_executor()};
  config::Config config;
  FakeLedger ledger;
  NoGatewayMetrics metrics;
  RequestLog log{config::LogFormat::human};
};

TEST_F(LedgerJobTest, WhatCannotBeComparedIsNotedAndTriedAgainSoon) {
  LedgerJob job = make();
  ledger.on_shown = [&] { job.stop(); };
  run(job);
  ASSERT_EQ(ledger.noted.size(), 1U);
  EXPECT_EQ(ledger.noted[0].source, "provider");
  EXPECT_EQ(ledger.noted[0].result, "");
  EXPECT_EQ(ledger.noted[0].trouble, "no room");
  EXPECT_EQ(ledger.pauses[0], Duration(5min));
  EXPECT_FALSE(job.busy());
}

TEST_F(LedgerJobTest, LeavesToOthersWhatIsNotDue) {
  ledger.is_due = false;
  LedgerJob job = make();
  ledger.on_shown = [&] { job.stop(); };
  run(job);
  EXPECT_EQ(ledger.taken.size(), 1U);
  EXPECT_TRUE(ledger.noted.empty());
}

TEST_F(LedgerJobTest, IsBusyFromTheMomentItIsRunUntilItIsOver) {
  LedgerJob job = make();
  EXPECT_FALSE(job.busy());
  Task<void> running = job.run();
  EXPECT_TRUE(job.busy()) << "whoever stops it must wait for it from here on";
  job.stop();
  boost::asio::co_spawn(context, std::move(running), [](std::exception_ptr) {});
  context.run();
  EXPECT_FALSE(job.busy());
  EXPECT_TRUE(ledger.taken.empty());
}

TEST_F(LedgerJobTest, DoesNothingWhereNothingIsScheduled) {
  config.sources[0].ledger->every = Duration{0};
  LedgerJob job = make();
  run(job);
  EXPECT_FALSE(job.busy());
  EXPECT_TRUE(ledger.taken.empty());
}

}  // namespace
}  // namespace pawl::gateway
