#include "src/workers/ledger_job.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "src/workers/world_for_tests.hpp"

namespace pawl::workers {
namespace {

using namespace std::chrono_literals;

// Has no records; remembers what was noted.
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
  [[nodiscard]] std::string trouble() const override { return "unavailable"; }

  bool is_due = true;

  std::function<void()> on_shown = [] {};
  std::vector<std::string> taken;
  std::vector<Comparison> noted;
  std::vector<Duration> pauses;
};

class LedgerJobTest : public ::testing::Test {
 protected:
  LedgerJobTest() {
    ledger.source = "provider";
    ledger.every = 1h;
  }

  LedgerJob make() {
    const auto no_workspace = []() -> Expected<std::unique_ptr<LedgerWorkspace>, std::string> {
      return Unexpected{std::string("no room")};
    };
    const auto no_pages = [](const std::string&) { return std::unique_ptr<LedgerPages>(); };
    return {{ledger}, {store, sleepers, metrics, log, no_workspace, no_pages}};
  }
  void run(LedgerJob& job) {
    boost::asio::co_spawn(context, job.run(), [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
    context.run();
  }

  boost::asio::io_context context{1};
  os::AsioSleepers sleepers{context.get_executor()};
  LedgerSettings ledger;
  FakeLedger store;
  NoGatewayMetrics metrics;
  Lines log;
};

TEST_F(LedgerJobTest, WhatCannotBeComparedIsNotedAndTriedAgainSoon) {
  LedgerJob job = make();
  store.on_shown = [&] { job.stop(); };
  run(job);
  ASSERT_EQ(store.noted.size(), 1U);
  EXPECT_EQ(store.noted[0].source, "provider");
  EXPECT_EQ(store.noted[0].result, "");
  EXPECT_EQ(store.noted[0].trouble, "no room");
  EXPECT_EQ(store.pauses[0], Duration(5min));
}

TEST_F(LedgerJobTest, LeavesToOthersWhatIsNotDue) {
  store.is_due = false;
  LedgerJob job = make();
  store.on_shown = [&] { job.stop(); };
  run(job);
  EXPECT_EQ(store.taken.size(), 1U);
  EXPECT_TRUE(store.noted.empty());
}

TEST_F(LedgerJobTest, DoesNothingOnceItWasStopped) {
  LedgerJob job = make();
  job.stop();
  run(job);
  EXPECT_TRUE(store.taken.empty());
}

TEST_F(LedgerJobTest, DoesNothingWhereNothingIsScheduled) {
  ledger.every = Duration{0};
  LedgerJob job = make();
  run(job);
  EXPECT_TRUE(store.taken.empty());
}

}  // namespace
}  // namespace pawl::workers
