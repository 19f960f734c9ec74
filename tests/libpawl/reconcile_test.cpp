// Unknown outcomes of a service with the library in it, and code of its own that knows better.
#include "pawl/reconcile.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>

#include "pawl/middleware.hpp"
#include "tests/libpawl/flows_fixture.hpp"

namespace pawl::testing {
namespace {

using namespace std::chrono_literals;

constexpr const char* held_key = "reconcile-key-0001";

bool until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

class ReconcileTest : public FlowsTest {
 protected:
  static Route route() {
    Route made{.name = "payments"};
    made.policy = default_policy(Profile::strict);
    made.policy.lease = 1s;
    made.policy.upstream_timeout = 100ms;
    return made;
  }
  static ReconcilerOptions options() {
    ReconcilerOptions made;
    made.route = "payments";
    made.visibility_window = 0s;
    made.backoff = 20ms;
    made.backoff_max = 100ms;
    made.every = 20ms;
    return made;
  }
  // Charges, and is not heard of again: what it throws counts as a 500, which is held.
  Middleware::Handler losing() {
    return [this](const HttpRequest&) -> Response {
      if (++charges == 1) throw std::runtime_error("lost");
      return {201, {}, "again"};
    };
  }
  std::string cases() const { return on_postgres() ? "pawl.cases" : "cases"; }
  std::string audit() const { return on_postgres() ? "pawl.audit" : "audit"; }

  std::atomic<int> charges = 0;
};

TEST_P(ReconcileTest, WhatIsFoundIsTheAnswerFromThenOn) {
  Middleware payments(node, route(), losing());
  EXPECT_EQ(payments.handle("shop", payment(held_key)).status, 500);
  ASSERT_EQ(status(held_key), "unknown");
  UnknownOutcome doubt;
  {
    Reconciler reconciler(node, options(), [&](const UnknownOutcome& asked) -> LookupAnswer {
      doubt = asked;
      return Happened{{201, {{"X-Charge", "ch_1"}}, "found"}};
    });
    ASSERT_TRUE(until([&] { return status(held_key) == "completed"; }));
  }
  const Response replay = payments.handle("shop", payment(held_key));
  EXPECT_EQ(replay.status, 201);
  EXPECT_EQ(replay.body, "found");
  EXPECT_EQ(header(replay, "X-Charge"), "ch_1");
  EXPECT_EQ(header(replay, "Idempotent-Replayed"), "true");
  EXPECT_EQ(charges, 1);
  EXPECT_EQ(doubt.caller, "shop");
  EXPECT_EQ(doubt.key.text, held_key);
  EXPECT_EQ(doubt.path, "/v1/payments");
  EXPECT_EQ(doubt.derived_key.size(), 64U);
  EXPECT_EQ(doubt.call_key, "");
  EXPECT_EQ(ask("SELECT actor FROM " + audit() + " WHERE action = 'resolve'"), "reconciler");
}

TEST_P(ReconcileTest, AThreadThatWouldWaitForItselfIsToldSo) {
  Reconciler reconciler(node, options(),
                        [](const UnknownOutcome&) -> LookupAnswer { return NeverSeen{}; });
  Middleware payments(node, route(), losing());
  std::promise<std::string> told;
  payments.begin("shop", payment(held_key), [&](Middleware::Begun) {
    try {
      reconciler.reconcile();
      told.set_value("");
    } catch (const std::logic_error& refusal) {
      told.set_value(refusal.what());
    }
  });
  const std::string text = told.get_future().get();
  EXPECT_NE(text.find("the node's own thread"), std::string::npos) << text;
}

TEST_P(ReconcileTest, WhatWasNeverSeenRunsAgainOnce) {
  Middleware payments(node, route(), losing());
  payments.handle("shop", payment(held_key));
  std::atomic<int> asked = 0;
  ReconcilerOptions often = options();
  often.absent_confirmations = 3;
  Reconciler reconciler(node, often, [&](const UnknownOutcome&) -> LookupAnswer {
    ++asked;
    return NeverSeen{};
  });
  ASSERT_TRUE(until([&] { return status(held_key) == "failed_retryable"; }));
  EXPECT_GE(asked.load(), 3);
  EXPECT_EQ(payments.handle("shop", payment(held_key)).body, "again");
  EXPECT_EQ(payments.handle("shop", payment(held_key)).body, "again");
  EXPECT_EQ(charges, 2) << "the one that was lost, and the retry";
}

TEST_P(ReconcileTest, ABelatedShowIsNotTakenForAbsence) {
  Middleware payments(node, route(), losing());
  payments.handle("shop", payment(held_key));
  std::atomic<int> asked = 0;
  ReconcilerOptions patient = options();
  patient.visibility_window = 1h;
  patient.absent_confirmations = 1;
  patient.max_attempts = 2;
  Reconciler reconciler(node, patient, [&](const UnknownOutcome&) -> LookupAnswer {
    if (++asked < 6) return NeverSeen{};
    return Happened{{201, {}, "late"}};
  });
  ASSERT_TRUE(until([&] { return status(held_key) == "completed"; }))
      << "and it was no dead letter";
  EXPECT_EQ(payments.handle("shop", payment(held_key)).body, "late");
  EXPECT_EQ(charges, 1);
}

TEST_P(ReconcileTest, AnotherSourceThanTheFirstReleasesNothing) {
  Middleware payments(node, route(), losing());
  payments.handle("shop", payment(held_key));
  ReconcilerOptions bank = options();
  bank.source = "bank";
  bank.max_attempts = 1000;
  {
    Reconciler asks(node, bank,
                    [](const UnknownOutcome&) -> LookupAnswer { return StillUnknown{"pending"}; });
    ASSERT_TRUE(until([&] { return ask("SELECT source FROM " + cases()) == "bank"; }));
  }
  ReconcilerOptions other = options();
  other.source = "other";
  other.absent_confirmations = 1;
  other.max_attempts = 3;
  Reconciler never(node, other, [](const UnknownOutcome&) -> LookupAnswer { return NeverSeen{}; });
  ASSERT_TRUE(until([&] { return ask("SELECT state FROM " + cases()) == "dead"; }));
  EXPECT_EQ(status(held_key), "unknown");
  EXPECT_EQ(charges, 1);
}

TEST_P(ReconcileTest, ADeclineIsToldAndMarked) {
  Middleware payments(node, route(), losing());
  payments.handle("shop", payment(held_key));
  Reconciler reconciler(node, options(), [](const UnknownOutcome&) -> LookupAnswer {
    return Happened{.response = {201, {}, "declined"}, .declined = true};
  });
  ASSERT_TRUE(until([&] { return status(held_key) == "completed"; }));
  EXPECT_EQ(payments.handle("shop", payment(held_key)).body, "declined");
  EXPECT_NE(ask("SELECT reason FROM " + audit()).find(": declined: "), std::string::npos);
}

TEST_P(ReconcileTest, WhoeverThrowsProvesNothingAndItEndsInTheDeadLetters) {
  Middleware payments(node, route(), losing());
  payments.handle("shop", payment(held_key));
  std::atomic<int> asked = 0;
  ReconcilerOptions brief = options();
  brief.max_attempts = 3;
  Reconciler reconciler(node, brief, [&](const UnknownOutcome&) -> LookupAnswer {
    if (++asked % 2 == 0) throw std::runtime_error("the provider is away");
    return StillUnknown{"pending"};
  });
  ASSERT_TRUE(until([&] { return ask("SELECT state FROM " + cases()) == "dead"; }));
  EXPECT_GE(asked.load(), 3);
  EXPECT_EQ(status(held_key), "unknown");
  EXPECT_EQ(payments.handle("shop", payment(held_key)).status, 409);
  EXPECT_EQ(charges, 1);
  EXPECT_NE(log().find("is a dead letter"), std::string::npos) << log();
}

TEST_P(ReconcileTest, OnlyItsOwnRouteAndOneNodeAtATime) {
  Route other = route();
  other.name = "refunds";
  Middleware payments(node, route(), losing());
  Middleware refunds(node, other,
                     [](const HttpRequest&) -> Response { throw std::runtime_error("lost"); });
  payments.handle("shop", payment(held_key));
  refunds.handle("shop", payment("reconcile-key-0002"));
  std::atomic<int> at_once = 0;
  std::atomic<int> most = 0;
  std::atomic<int> asked = 0;
  const auto ask_slowly = [&](const UnknownOutcome& doubt) -> LookupAnswer {
    EXPECT_EQ(doubt.key.text, held_key);
    most = std::max(most.load(), ++at_once);
    std::this_thread::sleep_for(50ms);
    --at_once;
    if (++asked < 4) return StillUnknown{};
    return Happened{{200, {}, ""}};
  };
  const Node second = open_node();
  {
    Reconciler here(node, options(), ask_slowly);
    Reconciler there(second, options(), ask_slowly);
    ASSERT_TRUE(until([&] { return status(held_key) == "completed"; }));
  }
  EXPECT_EQ(most.load(), 1);
  EXPECT_EQ(status("reconcile-key-0002"), "unknown") << "nobody was asked about it";
}

TEST_P(ReconcileTest, AFlowIsGivenTheAnswerToItsCallAndGoesOn) {
  Destination provider = scripted({Lost{Lost::How::reset, "reset"}});
  provider.dedupes = false;
  FlowOptions with;
  with.name = "payments";
  with.policy.lease = 1s;
  with.policy.upstream_timeout = 100ms;
  Flow flow(node, with);
  declare(flow, provider);
  EXPECT_GE(flow.handle("shop", payment(held_key)).status, 500);
  ASSERT_EQ(status(held_key), "unknown");
  UnknownOutcome doubt;
  {
    Reconciler reconciler(node, options(), [&](const UnknownOutcome& asked) -> LookupAnswer {
      doubt = asked;
      return Happened{{201, {}, "ch_1"}};
    });
    ASSERT_TRUE(until([&] { return status(held_key) != "unknown"; }));
  }
  EXPECT_EQ(doubt.phase, "charge");
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(doubt.call_key, sent[0]) << "the provider knows it by this";
  ASSERT_TRUE(until([&] { return flow.handle("shop", payment(held_key)).status == 201; }));
  EXPECT_EQ(sent.size(), 1U) << "it was not sent again";
  EXPECT_EQ(count("charged"), "1");
  EXPECT_EQ(ask("SELECT value FROM facts WHERE name = 'finished'"), "ch_1");
}

TEST_P(ReconcileTest, OptionsThatCannotBeAreRefused) {
  const auto anything = [](const UnknownOutcome&) -> LookupAnswer { return NeverSeen{}; };
  ReconcilerOptions nameless = options();
  nameless.route = "";
  EXPECT_THROW(Reconciler(node, nameless, anything), std::invalid_argument);
  ReconcilerOptions never = options();
  never.absent_confirmations = 0;
  EXPECT_THROW(Reconciler(node, never, anything), std::invalid_argument);
  ReconcilerOptions backwards = options();
  backwards.backoff_max = 1ms;
  EXPECT_THROW(Reconciler(node, backwards, anything), std::invalid_argument);
  EXPECT_THROW(Reconciler(node, options(), {}), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(All, ReconcileTest,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres), store_name);

}  // namespace
}  // namespace pawl::testing
