#include "src/gateway/judgement.hpp"

#include <gtest/gtest.h>

namespace pawl::gateway {
namespace {

using namespace std::chrono_literals;

constexpr Instant store_now{std::chrono::hours(500'000)};
constexpr BootTime boot_now{std::chrono::hours(7)};
const ObservedKey key{"caller:a", "digest-of-a-key"};

// A store of one row that grows with every judgement.
class World {
 public:
  World() { route.name = "payments"; }

  Sighting sighting(const std::string& body, BootTime at = boot_now) {
    Sighting one;
    one.route = &route;
    one.id = key;
    one.owner = Owner{"owner-" + std::to_string(++owners_)};
    one.at = at;
    one.method = "POST";
    one.path = "/payments";
    one.body = body;
    one.fingerprint = fingerprint(one.content(), {}, {}).value().fingerprint;
    return one;
  }

  static Ending ending(const Sighting& of, Outcome outcome, BootTime at = boot_now) {
    return {of.id, of.owner, at, std::move(outcome)};
  }

  static Outcome answer(int status) {
    Answered answered;
    answered.response.status = status;
    return answered;
  }

  std::vector<Would> see(std::vector<Observation> seen) {
    const FingerprintSecrets none;
    const JudgeContext context{.secrets = none, .boot_now = boot_now, .now = store_now};
    const Judgement judgement = judge(seen, {key}, {row}, context);
    for (const ObservedChange& change : judgement.written.changes) {
      EXPECT_EQ(change.expected.has_value(), row.has_value());
      if (row && change.expected) {
        EXPECT_EQ(change.expected->fence, row->fence);
        EXPECT_EQ(change.expected->status, row->status);
      }
      row = change.next;
    }
    return judgement.would;
  }

  config::Route route;
  std::optional<ObservedRow> row;

 private:
  int owners_ = 0;
};

using Seen = std::vector<Would>;

TEST(Judgement, IsTheEnginesOwnDecision) {
  World world;
  const Sighting first = world.sighting("one");
  EXPECT_EQ(world.see({first}), Seen{Would::created});
  EXPECT_EQ(world.row->status, "in_progress");
  EXPECT_EQ(world.see({world.sighting("one")}), Seen{Would::in_progress});
  EXPECT_EQ(world.see({world.sighting("two")}), Seen{Would::key_misuse});
  EXPECT_EQ(world.see({World::ending(first, World::answer(201))}), Seen{});
  EXPECT_EQ(world.row->status, "completed");
  EXPECT_EQ(world.row->response_code, 201);
  EXPECT_EQ(world.see({world.sighting("one"), world.sighting("two")}),
            (Seen{Would::replay, Would::key_misuse}));
}

TEST(Judgement, ReadsABatchInTheOrderItCame) {
  World world;
  const Sighting first = world.sighting("one");
  const Seen would = world.see({first, world.sighting("one"),
                                World::ending(first, World::answer(200)), world.sighting("one")});
  EXPECT_EQ(would, (Seen{Would::created, Would::in_progress, Would::replay}));
}

TEST(Judgement, SettlesByTheRoutesPolicy) {
  struct Case {
    Outcome outcome;
    OnServerError on_server_error;
    Would next;
  };
  const std::vector<Case> cases{{World::answer(500), OnServerError::retry, Would::created},
                                {World::answer(500), OnServerError::hold, Would::unknown},
                                {World::answer(500), OnServerError::store, Would::replay},
                                {World::answer(402), OnServerError::retry, Would::replay},
                                {NotSent{}, OnServerError::retry, Would::created},
                                {Lost{}, OnServerError::retry, Would::unknown}};
  for (const Case& each : cases) {
    World world;
    world.route.policy.on_server_error = each.on_server_error;
    const Sighting first = world.sighting("one");
    EXPECT_EQ(world.see({first, World::ending(first, each.outcome), world.sighting("one")}),
              (Seen{Would::created, each.next}));
  }
}

TEST(Judgement, OnlyTheOneThatWouldHaveExecutedSettles) {
  World world;
  const Sighting first = world.sighting("one");
  const Sighting second = world.sighting("one");
  world.see({first, second, World::ending(second, Lost{})});
  EXPECT_EQ(world.row->status, "in_progress");
  world.see({World::ending(first, World::answer(201)), World::ending(first, Lost{})});
  EXPECT_EQ(world.row->status, "completed") << "for good";
}

TEST(Judgement, AnOwnerIsPresumedAliveForAsLongAsItCouldHaveHeldTheKey) {
  World world;
  const config::RoutePolicy& policy = world.route.policy;
  const Duration held = policy.lease + policy.upstream_connect_timeout + policy.upstream_timeout;
  world.see({world.sighting("one", boot_now - held + 1s)});
  EXPECT_EQ(world.see({world.sighting("one")}), Seen{Would::in_progress});
  World later;
  later.see({later.sighting("one", boot_now - held)});
  EXPECT_EQ(later.see({later.sighting("one")}), Seen{Would::unknown});
  EXPECT_EQ(later.row->status, "unknown");
}

TEST(Judgement, PastRetentionAKeyIsNewOrGone) {
  for (const WhenExpired expired : {WhenExpired::remove, WhenExpired::tombstone}) {
    World world;
    world.route.policy.expired = expired;
    const BootTime then = boot_now - world.route.policy.retention - 1s;
    const Sighting first = world.sighting("one", then);
    world.see({first, World::ending(first, World::answer(201), then)});
    const bool kept = expired == WhenExpired::tombstone;
    EXPECT_EQ(world.row->reap_after - world.row->expires_at,
              kept ? world.route.policy.tombstone_for : Duration{0});
    EXPECT_EQ(world.see({world.sighting("two")}), Seen{kept ? Would::expired : Would::created});
  }
}

TEST(Judgement, AnyRowIsReapedSomeDay) {
  World world;
  world.see({world.sighting("one")});
  EXPECT_EQ(world.row->reap_after, world.row->expires_at) << "in progress";
  const Sighting other = world.sighting("one");
  world.row.reset();
  world.see({other, World::ending(other, Lost{})});
  EXPECT_EQ(world.row->status, "unknown");
  EXPECT_EQ(world.row->reap_after, world.row->expires_at);
}

TEST(Judgement, ANearDuplicateIsRefusedWhereTheRouteSaysSoAndLeavesNothing) {
  World world;
  Sighting twin = world.sighting("one");
  twin.near_duplicate = true;
  world.route.policy.near_duplicates = config::NearDuplicates::refuse;
  EXPECT_EQ(world.see({twin}), Seen{Would::near_duplicate});
  EXPECT_FALSE(world.row);
  world.route.policy.near_duplicates = config::NearDuplicates::report;
  EXPECT_EQ(world.see({twin}), Seen{Would::created});
}

TEST(Judgement, ARequestThatWouldBeRefusedTouchesNoKey) {
  World world;
  Sighting refused = world.sighting("one");
  refused.certain = Would::key_invalid;
  EXPECT_EQ(world.see({refused}), Seen{Would::key_invalid});
  EXPECT_FALSE(world.row);
}

TEST(Judgement, ARowSurvivesTheWayThroughTheTable) {
  World world;
  const Sighting first = world.sighting("one");
  world.see({first});
  EXPECT_EQ(row_of(record_of(*world.row).value()), *world.row);
  world.see({World::ending(first, World::answer(201))});
  EXPECT_EQ(row_of(record_of(*world.row).value()), *world.row);
}

TEST(Judgement, ARowThatCannotBeReadIsWrittenAnew) {
  World world;
  world.see({world.sighting("one")});
  world.row->policy = R"({"v":99})";
  EXPECT_EQ(world.see({world.sighting("two")}), Seen{Would::created});
  EXPECT_TRUE(record_of(*world.row));
}

}  // namespace
}  // namespace pawl::gateway
