#include "src/workers/outbox_reconciler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/workers/world_for_tests.hpp"

namespace pawl::workers {
namespace {

using namespace std::chrono_literals;
using testing::Fault;
using testing::FaultOutboxStore;
using testing::FaultReconciliationStore;
using ::testing::HasSubstr;

class NoOutboxMetrics final : public OutboxMetrics {
 public:
  void outbox_settled(std::string_view, OutboxResult) override {}
  void outbox_depth(const std::vector<OutboxDepth>&) override {}
  void outbox_breaker(std::string_view, bool) override {}
};

// One call whose outcome is unknown.
struct Scene : World {
  Scene() {
    OutboxRow row;
    row.scope = Scope{"tenant-a"};
    row.id = "row-1";
    row.key = Key{"key-00000001"};
    row.destination = "provider";
    row.derived_key = "derived-1";
    outbox.enqueue(row);
    const OutboxClaim claim{"provider", "sender", 30s, 1, false};
    OutboxRow sent = run(outbox.claim(claim))->rows.front();
    sent.status = OutboxStatus::unknown;
    sent.attempt = 1;
    sent.first_sent_at = clock.wall();
    sent.locked_until.reset();
    sent.next_attempt_at = clock.wall();
    const OutboxWrite write{sent, false};
    EXPECT_TRUE(run(outbox.write(write)).value());
  }
  void poll(OutboxStore& rows, ReconciliationStore& events) {
    OutboxReconciler reconciler({rows, events, sources, clock, entropy, sleepers, metrics, nobody,
                                 log, [this] { ++sendable; }},
                                {{"provider", DestinationRules{}, lasting(sources.bank)}},
                                context.get_executor());
    run(reconciler.poll_once());
  }
  void poll() { poll(outbox, cases); }
  [[nodiscard]] OutboxRow row() const { return outbox.rows().front(); }
  WebhookEvent event(int answer = 201) {
    WebhookEvent told;
    told.subject = "derived-1";
    told.source = "bank";
    told.id = "evt_1";
    told.is_final = true;
    told.happened_at = told.received_at = clock.wall();
    told.response = testing::a_stored_response();
    told.response.status = answer;
    return told;
  }

  NoOutboxMetrics nobody;
  int sendable = 0;
};

class OutboxReconcilerTest : public ::testing::Test, protected Scene {};

TEST_F(OutboxReconcilerTest, WhatIsFoundIsDone) {
  source.says(SourceFound{testing::a_stored_response()});
  poll();
  EXPECT_EQ(row().status, OutboxStatus::done);
  ASSERT_EQ(outbox.audit().size(), 1U);
  EXPECT_EQ(outbox.audit().front().author.reason, "bank: asked, it answered 200: there it is");
}

TEST_F(OutboxReconcilerTest, ADeclineIsNotBelievedTooEarly) {
  source.says(SourceFound{testing::a_stored_response(), false}, "answered 402");
  poll();
  EXPECT_EQ(row().status, OutboxStatus::unknown);
  EXPECT_THAT(row().last_error, HasSubstr("a refusal that may be an earlier call's"));
  clock.advance(6min);
  poll();
  EXPECT_EQ(row().status, OutboxStatus::dead);
}

TEST_F(OutboxReconcilerTest, WhatWasNeverSeenIsSentAgainAfterTheWindowAndSeenTwice) {
  source.says(SourceNeverSeen{}, "answered 404");
  poll();
  clock.advance(6min);
  poll();
  EXPECT_EQ(row().status, OutboxStatus::unknown);
  clock.advance(1min);
  poll();
  EXPECT_EQ(row().status, OutboxStatus::pending);
  EXPECT_EQ(sendable, 1);
}

TEST_F(OutboxReconcilerTest, AnEventSettlesItAndNobodyIsAsked) {
  ASSERT_TRUE(run(cases.keep_event(event())).value());
  poll();
  EXPECT_EQ(row().status, OutboxStatus::done);
  EXPECT_TRUE(source.asked.empty());
  EXPECT_EQ(run(cases.events_of("derived-1"))->front().applied_as, "resolved");
}

TEST_F(OutboxReconcilerTest, IsNeverGivenUp) {
  for (int i = 0; i < 40; ++i) {
    poll();
    clock.advance(2h);
  }
  EXPECT_EQ(row().status, OutboxStatus::unknown);
  EXPECT_EQ(source.asked.size(), 40U);
  EXPECT_TRUE(log.has("is still unknown after max_attempts: no answer: reset"));
  EXPECT_EQ(metrics.counts["dead"], 1) << "told once";
}

TEST_F(OutboxReconcilerTest, WhoeverLostTheRowChangesNothing) {
  source.says(SourceFound{testing::a_stored_response()});
  source.meanwhile = [&] {
    clock.advance(1h);
    const OutboxClaim claim{"provider", "another", 1h, 1, true};
    EXPECT_EQ(testing::run(outbox.claim(claim))->rows.size(), 1U);
  };
  poll();
  EXPECT_EQ(row().status, OutboxStatus::unknown);
  EXPECT_EQ(row().owner, "another");
}

class OutboxReconcilerFaults : public ::testing::TestWithParam<Fault> {};

TEST_P(OutboxReconcilerFaults, NothingIsSentAgainThatAnEventProves) {
  for (const bool of_events : {false, true}) {
    for (int n = 0;; ++n) {
      SCOPED_TRACE(std::string(of_events ? "events " : "outbox ") + std::to_string(n));
      Scene scene;
      scene.source.says(SourceNeverSeen{}, "answered 404");
      scene.sources.bank.patience.absent_confirmations = 1;
      scene.sources.bank.patience.visibility_window = 0s;
      ASSERT_TRUE(scene.run(scene.cases.keep_event(scene.event())).value());
      const testing::FailAt never{1 << 20, 1, GetParam()};
      const testing::FailAt at{n, 1, GetParam()};
      FaultOutboxStore rows(scene.outbox, of_events ? never : at);
      FaultReconciliationStore events(scene.cases, of_events ? at : never);
      for (int i = 0; i < 5; ++i) {
        scene.poll(rows, events);
        scene.clock.advance(1h);
      }
      EXPECT_EQ(scene.row().status, OutboxStatus::done);
      EXPECT_EQ(scene.sendable, 0);
      const int calls = of_events ? events.calls() : rows.calls();
      if (HasFailure() || calls <= n) break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OutboxReconcilerFaults,
                         ::testing::Values(Fault::unavailable, Fault::in_doubt_written,
                                           Fault::in_doubt_lost));

}  // namespace
}  // namespace pawl::workers
