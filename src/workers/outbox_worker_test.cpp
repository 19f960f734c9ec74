#include "src/workers/outbox_worker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/workers/world_for_tests.hpp"

namespace pawl::workers {
namespace {

using namespace std::chrono_literals;
using testing::Fault;
using testing::FaultOutboxStore;

class CountedOutboxMetrics final : public OutboxMetrics {
 public:
  void outbox_settled(std::string_view, OutboxResult result) override {
    ++settled[std::string(to_text(result))];
  }
  void outbox_depth(const std::vector<OutboxDepth>& depths) override { depth = depths; }
  void outbox_breaker(std::string_view, bool open) override { breaker = open; }

  std::map<std::string, int> settled;
  std::vector<OutboxDepth> depth;
  bool breaker = false;
};

// Counts the effects, and looks at the store at the moment of the first byte.
class ScriptedDestination final : public Destination {
 public:
  explicit ScriptedDestination(World& world) : world_(world) {}

  [[nodiscard]] std::string unsendable(const OutboxRow& row) const override {
    return row.path.starts_with('/') ? "" : "its path must start with /";
  }
  Task<CallResult> send(const OutboxRow& row, const std::function<Instant()>&, SendGate& gate,
                        BootTime) override {
    if (before_gate) std::exchange(before_gate, nullptr)();
    const bool open = co_await gate.may_send();
    if (!open) co_return CallResult{NotSent{"the gate is closed"}};
    ++effects;
    status_at_first_byte = world_.outbox.rows().front().status;
    static_cast<void>(row);
    co_return CallResult{outcome, 5ms};
  }

  Outcome outcome = Answered{{.status = 201, .headers = {}, .body = R"({"id":"ch_1"})"}};
  int effects = 0;
  std::optional<OutboxStatus> status_at_first_byte;
  std::function<void()> before_gate;

 private:
  World& world_;
};

struct Scene : World {
  Scene() {
    OutboxRow row;
    row.scope = Scope{"tenant-a"};
    row.id = "row-1";
    row.key = Key{"key-00000001"};
    row.destination = "provider";
    row.derived_key = "derived-1";
    outbox.enqueue(row);
    rules.dedupes = false;
  }
  void poll(OutboxStore& rows) {
    OutboxWorker worker = make(rows);
    run(worker.poll_once());
  }
  OutboxWorker make(OutboxStore& rows) {
    return OutboxWorker({rows, clock, entropy, sleepers, outbox_metrics, log},
                        {{"provider", rules, 8, 30s, destination}}, context.get_executor());
  }
  [[nodiscard]] OutboxRow row() const { return outbox.rows().front(); }
  // Changes what is stored, as only a test does.
  void edit(const std::function<void(OutboxRow&)>& change) {
    const OutboxStore::Transition transition = [&](const OutboxRow& there,
                                                   Instant) -> OutboxStore::Changed {
      OutboxRow next = there;
      change(next);
      return next;
    };
    const OutboxAuthor author{"test", ""};
    EXPECT_TRUE(testing::run(outbox.change("row-1", OutboxAction::retry, author, transition)));
  }

  DestinationRules rules;
  CountedOutboxMetrics outbox_metrics;
  ScriptedDestination destination{*this};
};

class OutboxWorkerTest : public ::testing::Test, protected Scene {};

TEST_F(OutboxWorkerTest, WhatIsSentIsDurableBeforeItsFirstByte) {
  poll(outbox);
  EXPECT_EQ(destination.status_at_first_byte, OutboxStatus::sending);
  EXPECT_EQ(row().status, OutboxStatus::done);
  EXPECT_EQ(row().attempt, 1);
  EXPECT_EQ(destination.effects, 1);
  EXPECT_EQ(outbox_metrics.settled["done"], 1);
  EXPECT_EQ(log.decisions, std::vector<std::string>{"done"});
}

TEST_F(OutboxWorkerTest, AnOwnerThatLostItsLeaseSendsNothing) {
  destination.before_gate = [&] {
    clock.advance(31s);
    const OutboxClaim claim{"provider", "another", 30s, 1, false};
    EXPECT_EQ(testing::run(outbox.claim(claim))->rows.size(), 1U);
  };
  poll(outbox);
  EXPECT_EQ(destination.effects, 0);
  EXPECT_EQ(row().owner, "another");
  EXPECT_EQ(row().status, OutboxStatus::pending);
}

TEST_F(OutboxWorkerTest, ALeaseThatEndedBeforeTheMarkSendsNothing) {
  destination.before_gate = [&] { clock.advance(30s); };
  rules.timeout = 5min;
  poll(outbox);
  EXPECT_EQ(destination.effects, 0);
  EXPECT_TRUE(log.has("has another owner now"));
}

TEST_F(OutboxWorkerTest, OnceItsDedupeWindowIsOverNothingIsRepeated) {
  rules.dedupes = true;
  edit([&](OutboxRow& there) {
    there.attempt = 1;
    there.first_sent_at = clock.wall() - 25h;
  });
  poll(outbox);
  EXPECT_EQ(destination.effects, 0);
  EXPECT_EQ(row().status, OutboxStatus::unknown);
}

TEST_F(OutboxWorkerTest, AWindowThatEndsBeforeTheFirstByteSendsNothing) {
  rules.dedupes = true;
  rules.timeout = 10s;
  rules.dedupe_window = 10min;
  edit([&](OutboxRow& there) {
    there.attempt = 1;
    there.first_sent_at = clock.wall() - 9min;
  });
  destination.before_gate = [&] { clock.advance(55s); };
  poll(outbox);
  EXPECT_EQ(destination.effects, 0);
}

// What elapsed since is told by this node's clock, which may run ahead of the store's.
TEST_F(OutboxWorkerTest, TheDedupeWindowIsCountedFromTheClaimNotFromAnEstimateOfTheFirstByte) {
  rules.dedupes = true;
  const Instant claimed_at = clock.wall();
  destination.before_gate = [&] { clock.advance(7s); };
  destination.outcome = Lost{Lost::How::reset, "reset"};
  poll(outbox);
  EXPECT_EQ(destination.effects, 1);
  EXPECT_EQ(row().first_sent_at, claimed_at);
}

TEST_F(OutboxWorkerTest, WhatWasLostIsUnknownAndNotRepeated) {
  destination.outcome = Lost{Lost::How::reset, "reset"};
  for (int i = 0; i < 5; ++i) {
    poll(outbox);
    clock.advance(1h);
  }
  EXPECT_EQ(row().status, OutboxStatus::unknown);
  EXPECT_EQ(destination.effects, 1);
}

TEST_F(OutboxWorkerTest, WhatMayHaveBeenSentByOneThatDiedIsUnknown) {
  edit([&](OutboxRow& there) {
    there.status = OutboxStatus::sending;
    there.attempt = 1;
    there.first_sent_at = clock.wall();
    there.owner = "gone";
  });
  poll(outbox);
  EXPECT_EQ(row().status, OutboxStatus::unknown);
  EXPECT_EQ(destination.effects, 0);
}

TEST_F(OutboxWorkerTest, WhatCannotBeWrittenAsARequestIsDead) {
  Scene other;
  OutboxRow row;
  row.scope = Scope{"tenant-a"};
  row.id = "row-0";
  row.destination = "provider";
  row.path = "no slash";
  other.outbox.enqueue(row);
  other.poll(other.outbox);
  EXPECT_EQ(other.row().status, OutboxStatus::dead);
  EXPECT_EQ(other.row().last_error, "its path must start with /");
  EXPECT_EQ(other.destination.effects, 1) << "the other one";
}

TEST_F(OutboxWorkerTest, ADestinationInTroubleIsSentOneCallAtATime) {
  rules.dedupes = true;
  rules.max_attempts = 100;
  destination.outcome = Answered{{.status = 503, .headers = {}, .body = {}}};
  OutboxWorker worker = make(outbox);
  for (int i = 0; i < 10; ++i) {
    run(worker.poll_once());
    clock.advance(15min);
  }
  EXPECT_TRUE(outbox_metrics.breaker);
  EXPECT_TRUE(log.has("outbox: destination provider is degraded"));
}

TEST_F(OutboxWorkerTest, CountsWhatWaitsForADestinationThatNobodyKnows) {
  OutboxRow stranger;
  stranger.id = "row-2";
  stranger.destination = "nowhere";
  outbox.enqueue(stranger);
  OutboxWorker worker = make(outbox);
  run(worker.count());
  EXPECT_EQ(outbox_metrics.depth.size(), 2U);
  EXPECT_TRUE(log.has("1 rows wait for destination \"nowhere\""));
}

TEST_F(OutboxWorkerTest, StopsWhenItWasStoppedAndItsCallsAreOver) {
  OutboxWorker worker = make(outbox);
  destination.before_gate = [&] { worker.stop(); };
  run(worker.run());
  EXPECT_EQ(row().status, OutboxStatus::done);
}

class OutboxFaults : public ::testing::TestWithParam<Fault> {};

// The destination does not dedupe: a second call would be a second effect.
TEST_P(OutboxFaults, OneEffectAndDoneWhicheverStoreCallFails) {
  for (int n = 0;; ++n) {
    SCOPED_TRACE(n);
    Scene scene;
    FaultOutboxStore store(scene.outbox, {n, 1, GetParam()});
    for (int i = 0; i < 5; ++i) {
      scene.poll(store);
      scene.clock.advance(31s);
    }
    EXPECT_EQ(scene.row().status, OutboxStatus::done);
    EXPECT_EQ(scene.destination.effects, 1);
    if (HasFailure() || store.calls() <= n) break;
  }
}

INSTANTIATE_TEST_SUITE_P(All, OutboxFaults,
                         ::testing::Values(Fault::unavailable, Fault::in_doubt_written,
                                           Fault::in_doubt_lost));

}  // namespace
}  // namespace pawl::workers
