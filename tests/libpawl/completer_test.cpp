// Many abandoned requests: none waits for ever behind others that nobody here can go on with.
#include <future>

#include "tests/libpawl/flows_fixture.hpp"

namespace pawl::testing {
namespace {

using namespace std::chrono_literals;

class CompleterTest : public FlowsTest {
 protected:
  // Half done, at the phase `last`, whose function throws.
  void abandon(const std::string& last, int first, int count) {
    Flow flow(node, {.name = "payments"});
    flow.local("begin", [&](Transaction&, const pawl::Run&) { return advance(last); });
    flow.local(last, [](Transaction&, const pawl::Run&) -> Next {
      throw std::runtime_error("not today");
    });
    std::vector<std::future<void>> all;
    constexpr int together = 8;
    for (int thread = 0; thread < together; ++thread) {
      all.push_back(std::async(std::launch::async, [&, thread] {
        for (int i = first + thread; i < first + count; i += together) {
          flow.handle("tenant-a", payment("flow-abandoned-" + std::to_string(100000 + i)));
        }
      }));
    }
    for (auto& one : all) one.get();
  }

  // A version that knows "begin" and "finish".
  void declare_today(Flow& flow) {
    flow.local("begin", [](Transaction&, const pawl::Run&) { return advance("finish"); });
    flow.local("finish", [this](Transaction&, const pawl::Run&) {
      ++finished;
      return respond({201, {}, "done"});
    });
  }

  int finished = 0;
};

TEST_P(CompleterTest, GoesOnBehindAPageOfRequestsItMustRefuse) {
  abandon("removed", 0, 501);  // a page, and one more
  abandon("finish", 501, 1);
  Flow flow(node, {.name = "payments"});
  declare_today(flow);
  const CompletionReport report = flow.complete_abandoned();
  EXPECT_EQ(report.completed, 1U);
  EXPECT_EQ(report.refused, 501U);
  EXPECT_EQ(finished, 1);
  EXPECT_EQ(ask("SELECT count(*) FROM " + keys_table() +
                " WHERE last_error LIKE '%recovery point \"removed\"%'"),
            "501")
      << "whoever looks at the record sees why";
  EXPECT_EQ(ask("SELECT count(*) FROM " + keys_table() + " WHERE attempt > 1"), "1")
      << "refusing is not taking over";
}

TEST_P(CompleterTest, StopsBetweenTwoRequests) {
  abandon("finish", 0, 5);
  Flow flow(node, {.name = "payments"});
  declare_today(flow);
  EXPECT_EQ(flow.complete_abandoned([&] { return finished == 2; }).completed, 2U);
  EXPECT_EQ(flow.complete_abandoned().completed, 3U);
}

INSTANTIATE_TEST_SUITE_P(Stores, CompleterTest,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres), store_name);

}  // namespace
}  // namespace pawl::testing
