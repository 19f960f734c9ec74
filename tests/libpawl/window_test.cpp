// A call that may be out there is sent again only while the other side surely knows its key.
#include <thread>

#include "tests/libpawl/flows_fixture.hpp"
#include "tests/support/upstream_server.hpp"

namespace pawl::testing {
namespace {

using namespace std::chrono_literals;

constexpr const char* window_key = "flow-window-00000001";

class WindowTest : public FlowsTest {
 protected:
  static FlowOptions options(Duration upstream_timeout) {
    FlowOptions options{.name = "payments"};
    options.policy.lease = 300ms;
    options.policy.upstream_timeout = upstream_timeout;
    return options;
  }

  // What is decided in time is late once this has run.
  void let_window_pass(Duration window) {
    at_point = [window, seen = 0](std::string_view point) mutable {
      if (point != "charge:before-send" || ++seen != 2) return;
      std::this_thread::sleep_for(window);
    };
  }
};

// The provider may take it up as late as the call may last: by then its key must be known.
TEST_P(WindowTest, ACallMustHaveTimeToGetThereWithinTheWindow) {
  Destination provider = scripted({Lost{Lost::How::reset, "reset"}, answer(201)});
  provider.dedupe_window = 20s;
  Flow flow(node, options(30s));
  declare(flow, provider);
  EXPECT_EQ(flow.handle("tenant-a", payment(window_key)).status, 504);
  EXPECT_EQ(status(window_key), "unknown");
  flow.handle("tenant-a", payment(window_key));
  EXPECT_EQ(sent.size(), 1U);
}

TEST_P(WindowTest, TheWindowIsAskedAboutAgainJustBeforeTheFirstByte) {
  Destination provider = scripted({Lost{Lost::How::reset, "reset"}, answer(201)});
  provider.dedupe_window = 2s;
  Flow flow(node, options(200ms));
  declare(flow, provider);
  let_window_pass(provider.dedupe_window);
  EXPECT_EQ(flow.handle("tenant-a", payment(window_key)).status, 503);
  EXPECT_EQ(flow.handle("tenant-a", payment(window_key)).status, 504);
  EXPECT_EQ(status(window_key), "unknown");
  EXPECT_EQ(sent.size(), 1U);
}

TEST_P(WindowTest, AnHttpDestinationAsksWithTheConnectionOpen) {
  UpstreamServer server;
  server.behave(Behaviour::reset());
  Destination provider = http_destination(node, server.url());
  provider.dedupe_window = 2s;
  provider.look_up = [](const Call&) { return Response{201, {}, "ch_1"}; };
  Flow flow(node, options(200ms));
  declare(flow, provider);
  let_window_pass(provider.dedupe_window);
  EXPECT_EQ(flow.handle("tenant-a", payment(window_key)).status, 503);
  server.behave(Behaviour::answer(201, "ch_2"));
  EXPECT_EQ(flow.handle("tenant-a", payment(window_key)).status, 201) << "looked up";
  EXPECT_EQ(server.requests().size(), 1U);
  EXPECT_EQ(ask("SELECT value FROM facts WHERE name = 'finished'"), "ch_1");
}

INSTANTIATE_TEST_SUITE_P(Stores, WindowTest,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres), store_name);

}  // namespace
}  // namespace pawl::testing
