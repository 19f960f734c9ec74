// `pawl store restored`, as services with the library in them obey it.
#include <gmock/gmock.h>

#include <atomic>

#include "pawl/middleware.hpp"
#include "tests/libpawl/node_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class RestoredNode : public NodeTest {
 protected:
  void say_restored() const {
    const Finished said = run_program({PAWL_BINARY, "store", "restored", "--since", "1h", "--for",
                                       "48h", "--reason", "disk lost", "--store", url()});
    ASSERT_EQ(said.exit_code, 0) << said.err;
  }

  // One that looks often what the store says.
  Node attentive_node() const {
    NodeOptions options;
    options.sweep_interval = 50ms;
    return pawl::open(url(), options);
  }

  Middleware payments_on(Node& on) {
    return Middleware(on, {.name = "payments"}, [this](const HttpRequest&) {
      return Response{201, {}, std::to_string(++charges_)};
    });
  }

  std::atomic<int> charges_ = 0;
};

TEST_P(RestoredNode, StartedAfterItRefusesForgottenKeysAndReplaysTheOthers) {
  {
    Middleware before = payments_on(node);
    ASSERT_EQ(before.handle("tenant-a", payment("kept-by-the-backup")).status, 201);
  }
  say_restored();
  Node restarted = attentive_node();
  Middleware payments = payments_on(restarted);
  const Response forgotten = payments.handle("tenant-a", payment("perhaps-used-since"));
  EXPECT_EQ(forgotten.status, 409);
  EXPECT_THAT(forgotten.body, HasSubstr("urn:pawl:problem:store-restored"));
  EXPECT_EQ(header(forgotten, "Pawl-Should-Retry"), "false");
  const Response kept = payments.handle("tenant-a", payment("kept-by-the-backup"));
  EXPECT_EQ(kept.status, 201);
  EXPECT_EQ(header(kept, "Idempotent-Replayed"), "true");
  EXPECT_EQ(charges_, 1);
}

TEST_P(RestoredNode, RunningWhenItIsSaidItObeysToo) {
  Node running = attentive_node();
  Middleware payments = payments_on(running);
  ASSERT_EQ(payments.handle("tenant-a", payment("before-it-was-said")).status, 201);
  say_restored();
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  int status = 201;
  for (int i = 0; status == 201 && std::chrono::steady_clock::now() < deadline; ++i) {
    status = payments.handle("tenant-a", payment("new-key-number-" + std::to_string(i))).status;
  }
  EXPECT_EQ(status, 409);
  const int charged = charges_;
  EXPECT_EQ(payments.handle("tenant-a", payment("perhaps-used-since")).status, 409);
  EXPECT_EQ(charges_, charged);
}

// Nobody could tell which of its records may run again.
TEST_P(RestoredNode, DoesNotStartWhileTheBackupIsBeingGoneThrough) {
  say_restored();
  node.transact([&](Database& database) {
    const std::string table = on_postgres() ? "pawl.facts" : "meta";
    database.execute("UPDATE " + table +
                     " SET value = replace(value, 'true', 'false') WHERE name = 'restored'");
  });
  try {
    attentive_node();
    FAIL() << "it has started";
  } catch (const std::exception& refused) {
    EXPECT_THAT(refused.what(), HasSubstr("did not come to its end"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, RestoredNode,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres), store_name);

}  // namespace
}  // namespace pawl::testing
