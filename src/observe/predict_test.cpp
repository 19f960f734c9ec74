#include "src/observe/predict.hpp"

#include <gtest/gtest.h>

namespace pawl::observe {
namespace {

using namespace std::chrono_literals;

constexpr Duration connect_timeout = 5s;
constexpr Instant store_now{std::chrono::hours(500'000)};
constexpr BootTime boot_now{std::chrono::hours(7)};
const ObservedKey key{"caller:a", "digest-of-a-key"};

// A store of one row that grows with every prediction.
class World {
 public:
  ObservedRequest observed(const std::string& body, BootTime at = boot_now) {
    ObservedRequest one;
    one.route = {"payments", std::make_shared<BoundaryPolicy>(policy), connect_timeout};
    one.id = key;
    one.owner = Owner{"owner-" + std::to_string(++owners_)};
    one.at = at;
    one.method = "POST";
    one.path = "/payments";
    one.body = body;
    one.fingerprint = fingerprint(one.content(), {}, {}).value().fingerprint;
    return one;
  }

  static ObservedOutcome ending(const ObservedRequest& of, Outcome outcome,
                                BootTime at = boot_now) {
    return {of.id, of.owner, at, std::move(outcome)};
  }

  static Outcome answer(int status) {
    Answered answered;
    answered.response.status = status;
    return answered;
  }

  std::vector<PredictedDecision> see(std::vector<Observation> seen) {
    const FingerprintSecrets none;
    const PredictionContext context{.secrets = none, .boot_now = boot_now, .now = store_now};
    const Prediction prediction = transition(seen, {key}, {row}, context);
    for (const ObservedChange& change : prediction.written.changes) {
      EXPECT_EQ(change.expected.has_value(), row.has_value());
      if (row && change.expected) {
        EXPECT_EQ(change.expected->fence, row->fence);
        EXPECT_EQ(change.expected->status, row->status);
      }
      row = change.next;
    }
    return prediction.would;
  }

  BoundaryPolicy policy;
  std::optional<ObservedRow> row;

 private:
  int owners_ = 0;
};

using Seen = std::vector<PredictedDecision>;

TEST(Prediction, IsTheEnginesOwnDecision) {
  World world;
  const ObservedRequest first = world.observed("one");
  EXPECT_EQ(world.see({first}), Seen{PredictedDecision::created});
  EXPECT_EQ(world.row->status, "in_progress");
  EXPECT_EQ(world.see({world.observed("one")}), Seen{PredictedDecision::in_progress});
  EXPECT_EQ(world.see({world.observed("two")}), Seen{PredictedDecision::key_misuse});
  EXPECT_EQ(world.see({World::ending(first, World::answer(201))}), Seen{});
  EXPECT_EQ(world.row->status, "completed");
  EXPECT_EQ(world.row->response_code, 201);
  EXPECT_EQ(world.see({world.observed("one"), world.observed("two")}),
            (Seen{PredictedDecision::replay, PredictedDecision::key_misuse}));
}

TEST(Prediction, ReadsABatchInTheOrderItCame) {
  World world;
  const ObservedRequest first = world.observed("one");
  const Seen would = world.see({first, world.observed("one"),
                                World::ending(first, World::answer(200)), world.observed("one")});
  EXPECT_EQ(would, (Seen{PredictedDecision::created, PredictedDecision::in_progress,
                         PredictedDecision::replay}));
}

TEST(Prediction, SettlesByTheRoutesPolicy) {
  struct Case {
    Outcome outcome;
    OnServerError on_server_error;
    PredictedDecision next;
  };
  const std::vector<Case> cases{
      {World::answer(500), OnServerError::retry, PredictedDecision::created},
      {World::answer(500), OnServerError::hold, PredictedDecision::unknown},
      {World::answer(500), OnServerError::store, PredictedDecision::replay},
      {World::answer(402), OnServerError::retry, PredictedDecision::replay},
      {NotSent{}, OnServerError::retry, PredictedDecision::created},
      {Lost{}, OnServerError::retry, PredictedDecision::unknown}};
  for (const Case& each : cases) {
    World world;
    world.policy.on_server_error = each.on_server_error;
    const ObservedRequest first = world.observed("one");
    EXPECT_EQ(world.see({first, World::ending(first, each.outcome), world.observed("one")}),
              (Seen{PredictedDecision::created, each.next}));
  }
}

TEST(Prediction, OnlyTheOneThatWouldHaveExecutedSettles) {
  World world;
  const ObservedRequest first = world.observed("one");
  const ObservedRequest second = world.observed("one");
  world.see({first, second, World::ending(second, Lost{})});
  EXPECT_EQ(world.row->status, "in_progress");
  world.see({World::ending(first, World::answer(201)), World::ending(first, Lost{})});
  EXPECT_EQ(world.row->status, "completed") << "for good";
}

TEST(Prediction, AnOwnerIsPresumedAliveForAsLongAsItCouldHaveHeldTheKey) {
  World world;
  const BoundaryPolicy& policy = world.policy;
  const Duration held = policy.lease + connect_timeout + policy.upstream_timeout;
  world.see({world.observed("one", boot_now - held + 1s)});
  EXPECT_EQ(world.see({world.observed("one")}), Seen{PredictedDecision::in_progress});
  World later;
  later.see({later.observed("one", boot_now - held)});
  EXPECT_EQ(later.see({later.observed("one")}), Seen{PredictedDecision::unknown});
  EXPECT_EQ(later.row->status, "unknown");
}

TEST(Prediction, PastRetentionAKeyIsNewOrGone) {
  for (const WhenExpired expired : {WhenExpired::remove, WhenExpired::tombstone}) {
    World world;
    world.policy.expired = expired;
    const BootTime then = boot_now - world.policy.retention - 1s;
    const ObservedRequest first = world.observed("one", then);
    world.see({first, World::ending(first, World::answer(201), then)});
    const bool kept = expired == WhenExpired::tombstone;
    EXPECT_EQ(world.row->reap_after - world.row->expires_at,
              kept ? world.policy.tombstone_for : Duration{0});
    EXPECT_EQ(world.see({world.observed("two")}),
              Seen{kept ? PredictedDecision::expired : PredictedDecision::created});
  }
}

TEST(Prediction, AnyRowIsReapedSomeDay) {
  World world;
  world.see({world.observed("one")});
  EXPECT_EQ(world.row->reap_after, world.row->expires_at) << "in progress";
  const ObservedRequest other = world.observed("one");
  world.row.reset();
  world.see({other, World::ending(other, Lost{})});
  EXPECT_EQ(world.row->status, "unknown");
  EXPECT_EQ(world.row->reap_after, world.row->expires_at);
}

TEST(Prediction, ANearDuplicateIsRefusedWhereTheRouteSaysSoAndLeavesNothing) {
  World world;
  world.policy.near_duplicates = WhenNearDuplicate::refuse;
  ObservedRequest twin = world.observed("one");
  twin.near_duplicate = true;
  EXPECT_EQ(world.see({twin}), Seen{PredictedDecision::near_duplicate});
  EXPECT_FALSE(world.row);
  world.policy.near_duplicates = WhenNearDuplicate::report;
  twin = world.observed("one");
  twin.near_duplicate = true;
  EXPECT_EQ(world.see({twin}), Seen{PredictedDecision::created});
}

TEST(Prediction, ARequestThatWouldBeRefusedTouchesNoKey) {
  World world;
  ObservedRequest refused = world.observed("one");
  refused.certain = PredictedDecision::key_invalid;
  EXPECT_EQ(world.see({refused}), Seen{PredictedDecision::key_invalid});
  EXPECT_FALSE(world.row);
}

TEST(Prediction, ARowSurvivesTheWayThroughTheTable) {
  World world;
  const ObservedRequest first = world.observed("one");
  world.see({first});
  EXPECT_EQ(row_of(record_of(*world.row).value()), *world.row);
  world.see({World::ending(first, World::answer(201))});
  EXPECT_EQ(row_of(record_of(*world.row).value()), *world.row);
}

TEST(Prediction, ARowThatCannotBeReadIsWrittenAnew) {
  World world;
  world.see({world.observed("one")});
  world.row->policy = R"({"v":99})";
  EXPECT_EQ(world.see({world.observed("two")}), Seen{PredictedDecision::created});
  EXPECT_TRUE(record_of(*world.row));
}

}  // namespace
}  // namespace pawl::observe
