// The key API, without a process or a socket: JSON bodies in, documents and problems out.
#include "src/boundary/key_api.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "src/adapters/memory/memory_store.hpp"
#include "src/adapters/os/sleepers.hpp"
#include "testing/counting.hpp"
#include "testing/fault_store.hpp"
#include "testing/run.hpp"
#include "testing/sim_clock.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using testing::Fault;
using testing::FaultStore;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run;

constexpr std::string_view ours = "consumer-token-0001";
constexpr std::string_view theirs = "consumer-token-0002";
constexpr std::string_view paid = R"(,"response":{"status":201,"body":"paid"})";

class SilentLog final : public Log {
 public:
  void say(std::string_view, std::string_view) override {}
};

class KeyApiTest : public ::testing::Test {
 protected:
  struct Node {
    Node(KeyApiTest& world, Store& over)
        : state(0, std::size_t{1} << 30),
          engine(over, world.clock, world.entropy, world.counters),
          boundary(state, {engine, over, world.clock, world.entropy, world.sleepers, world.metrics,
                           world.log}),
          key_api(
              state,
              {engine, over, world.clock, world.entropy, world.sleepers, world.metrics, world.log},
              boundary) {}

    BoundaryState state;
    Engine engine;
    Boundary boundary;
    KeyApi key_api;
  };

  Task<KeyAnswer> call_of(KeyVerb verb, std::string body, std::string key) {
    RequestContext context(policy, secrets, &node->state.memory);
    context.route_name = "key_api";
    context.scope = Scope{"api:ann"};
    context.key = Key{std::move(key)};
    context.body = std::move(body);
    KeyAnswer answer = co_await node->key_api.call(context, verb);
    refused_as = context.refused_as;
    co_return answer;
  }
  KeyAnswer call(KeyVerb verb, std::string_view owner, std::string_view members,
                 std::string key = "job-00000001") {
    std::string body = R"({"owner":")";
    body.append(owner).append("\"").append(members).append("}");
    return run(call_of(verb, std::move(body), std::move(key)));
  }
  KeyAnswer reserve(std::string_view owner = ours, std::string_view amount = "10",
                    std::string key = "job-00000001") {
    const std::string request = R"(,"request":{"amount":)" + std::string(amount) + "}";
    return call(KeyVerb::reserve, owner, request, std::move(key));
  }
  KeyAnswer write(KeyVerb verb, std::string_view owner, Fence fence,
                  std::string_view members = "") {
    return call(verb, owner, ",\"fence\":" + std::to_string(fence.number) + std::string(members));
  }
  Fence granted(std::string_view owner = ours) {
    const KeyAnswer answer = reserve(owner);
    EXPECT_EQ(answer.response.status, 201) << answer.response.body;
    return std::get<Reservation>(answer.result).record->fence;
  }
  std::optional<Record> stored(std::string key = "job-00000001") {
    return run(store.find(Scope{"api:ann"}, Key{std::move(key)})).value();
  }
  void expect_stale(const KeyAnswer& answer, std::string_view why, Status status) {
    EXPECT_EQ(answer.response.status, 409) << answer.response.body;
    EXPECT_EQ(refused_as, Problem::stale_fence);
    EXPECT_FALSE(std::get<GrantWrite>(answer.result).done);
    EXPECT_THAT(answer.response.body, HasSubstr(why));
    EXPECT_THAT(answer.response.body, HasSubstr("Nothing was changed."));
    const json::Value document = json::read(answer.response.body).value();
    EXPECT_EQ(document.find("key_status")->text, to_text(status));
  }
  void expect_ask_again(const KeyAnswer& answer) {
    EXPECT_EQ(answer.response.status, 503);
    EXPECT_EQ(refused_as, Problem::store_unavailable);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(answer.result));
    EXPECT_TRUE(find_header(answer.response.headers, "Retry-After"));
    EXPECT_THAT(answer.response.body, HasSubstr("Repeat the call as it is, with the same owner"));
  }

  testing::SimClock clock;
  memory::MemoryStore store{[this] { return clock.wall(); }};
  testing::CountingEntropy entropy;
  testing::CountingMetrics counters;
  NoGatewayMetrics metrics;
  SilentLog log;
  boost::asio::io_context timers{1};
  os::AsioSleepers sleepers{timers.get_executor()};
  BoundaryPolicy policy;
  FingerprintSecrets secrets;
  std::optional<Problem> refused_as;
  std::unique_ptr<Node> node = std::make_unique<Node>(*this, store);
};

TEST_F(KeyApiTest, AGrantSaysWhatItsOwnerHolds) {
  const KeyAnswer first = reserve();
  ASSERT_EQ(first.response.status, 201);
  EXPECT_EQ(find_header(first.response.headers, "Cache-Control"), "no-store");
  const json::Value document = json::read(first.response.body).value();
  EXPECT_EQ(document.find("decision")->text, "execute");
  EXPECT_EQ(document.find("status")->text, "in_progress");
  EXPECT_EQ(document.find("fence")->text, std::to_string(stored()->fence.number));
  EXPECT_EQ(document.find("recovery_point")->text, "");
  EXPECT_EQ(document.find("lease_seconds")->text, "30.000");
  EXPECT_EQ(first.lease_left, 30s);
  EXPECT_EQ(stored()->owner.text, ours);

  clock.advance(12s + 345ms);
  const KeyAnswer again = reserve();
  EXPECT_EQ(again.response.status, 201) << "asking again is harmless";
  EXPECT_EQ(std::get<Reservation>(again.result).record->fence, stored()->fence);
  EXPECT_THAT(again.response.body, HasSubstr(R"("lease_seconds":17.65)"));
  EXPECT_EQ(stored()->attempt, 1);
}

TEST_F(KeyApiTest, AnAnswerIsReplayedToWhoeverAsks) {
  const Fence fence = granted();
  const KeyAnswer done = write(KeyVerb::complete, ours, fence, paid);
  EXPECT_EQ(done.response.status, 200);
  EXPECT_THAT(done.response.body, HasSubstr(R"("lease_seconds":null)"));
  EXPECT_EQ(write(KeyVerb::complete, ours, fence, paid).response.status, 200) << "repeated";
  for (const std::string_view owner : {ours, theirs}) {
    const KeyAnswer replay = reserve(owner);
    EXPECT_EQ(replay.response.status, 200);
    EXPECT_EQ(kind_of(std::get<Reservation>(replay.result).decision), DecisionKind::replay);
    const json::Value document = json::read(replay.response.body).value();
    EXPECT_EQ(document.find("decision")->text, "replay");
    EXPECT_EQ(document.find("response")->find("status")->text, "201");
    EXPECT_EQ(document.find("response")->find("body")->text, "paid");
  }
}

TEST_F(KeyApiTest, AnotherMeaningUnderTheSameKeyIsMisuse) {
  granted();
  const KeyAnswer other = reserve(ours, "11");
  EXPECT_EQ(other.response.status, 422);
  EXPECT_EQ(kind_of(std::get<Reservation>(other.result).decision), DecisionKind::misuse);
  EXPECT_THAT(other.response.body, HasSubstr(R"("decision":"misuse")"));
  EXPECT_EQ(reserve(ours, "10.0").response.status, 201) << "spelt otherwise, and the same";
}

TEST_F(KeyApiTest, AKeyThatIsHeldIsInFlightForOthers) {
  granted();
  const KeyAnswer other = reserve(theirs);
  EXPECT_EQ(other.response.status, 409);
  EXPECT_EQ(kind_of(std::get<Reservation>(other.result).decision), DecisionKind::in_flight);
  EXPECT_THAT(other.response.body, HasSubstr(R"("decision":"in_flight")"));
  EXPECT_TRUE(find_header(other.response.headers, "Retry-After"));
  EXPECT_EQ(stored()->owner.text, ours);
}

TEST_F(KeyApiTest, AReleasedKeyIsGrantedAgainFromWhereItWas) {
  const Fence fence = granted();
  const std::string_view step = R"(,"after":"","recovery_point":"charged")";
  EXPECT_EQ(write(KeyVerb::advance, ours, fence, step).response.status, 200);
  EXPECT_EQ(write(KeyVerb::renew, ours, fence).response.status, 200);
  EXPECT_EQ(write(KeyVerb::release, ours, fence, R"(,"reason":"busy")").response.status, 200);
  const KeyAnswer next = reserve(theirs);
  EXPECT_EQ(next.response.status, 201);
  EXPECT_THAT(next.response.body, HasSubstr(R"("recovery_point":"charged")"));
  EXPECT_GT(stored()->fence, fence);
}

TEST_F(KeyApiTest, AStaleWriteIsToldWhyAndChangesNothing) {
  policy.on_lease_expiry = OnLeaseExpiry::retry;
  const Fence first = granted();
  const std::string_view never = "This fence was never granted for this key.";
  expect_stale(write(KeyVerb::renew, ours, Fence{first.number + 1}), never, Status::in_progress);
  expect_stale(write(KeyVerb::renew, theirs, first), "This fence was granted to another owner.",
               Status::in_progress);
  const std::string_view elsewhere = R"(,"after":"charged","recovery_point":"sent")";
  expect_stale(write(KeyVerb::advance, ours, first, elsewhere),
               "neither /after nor /recovery_point: another call has moved it.",
               Status::in_progress);
  clock.advance(31s);
  const Fence second = granted(theirs);
  expect_stale(write(KeyVerb::release, ours, first),
               "Another owner was granted this key after this fence.", Status::in_progress);
  EXPECT_EQ(write(KeyVerb::release, theirs, second).response.status, 200);
  expect_stale(write(KeyVerb::renew, theirs, second), "The key is released. Reserve it again.",
               Status::failed_retryable);
  EXPECT_EQ(write(KeyVerb::complete, theirs, second, paid).response.status, 200) << "late";
  expect_stale(write(KeyVerb::release, theirs, second),
               "The key is completed; its answer stays as it is.", Status::completed);
}

TEST_F(KeyApiTest, AnOwnerWhoseLeaseEndedIsToldWhatIsStillPossible) {
  const Fence fence = granted();
  clock.advance(31s);
  EXPECT_EQ(kind_of(std::get<Reservation>(reserve(theirs).result).decision),
            DecisionKind::undetermined);
  expect_stale(write(KeyVerb::renew, ours, fence), "The lease ended before it was renewed.",
               Status::unknown);
  EXPECT_EQ(write(KeyVerb::complete, ours, fence, paid).response.status, 200);
}

TEST_F(KeyApiTest, AKeyThatExpiredIsSaidToHaveExpired) {
  policy.retention = 1h;
  policy.expired = WhenExpired::tombstone;
  const Fence fence = granted();
  EXPECT_EQ(write(KeyVerb::complete, ours, fence, paid).response.status, 200);
  clock.advance(2h);
  EXPECT_TRUE(run(node->engine.reap()).has_value());
  expect_stale(write(KeyVerb::complete, ours, fence, paid), "The key has expired.",
               Status::expired);
}

TEST_F(KeyApiTest, AnAnswerUnderAnOldFenceIsKeptAsEvidence) {
  policy.on_lease_expiry = OnLeaseExpiry::retry;
  const Fence first = granted();
  clock.advance(31s);
  granted(theirs);
  expect_stale(write(KeyVerb::complete, ours, first, paid),
               "Another owner was granted this key after this fence.", Status::in_progress);
  ASSERT_EQ(store.evidence().size(), 1U);
  EXPECT_EQ(store.evidence().front().fence, first);
  expect_stale(write(KeyVerb::release, ours, first),
               "Another owner was granted this key after this fence.", Status::in_progress);
  EXPECT_EQ(store.evidence().size(), 1U) << "that nothing happened is no evidence";
}

TEST_F(KeyApiTest, AKeyThatIsNotThereIsNotFoundAndItsAnswerKept) {
  const KeyAnswer answer = write(KeyVerb::complete, ours, Fence{7}, paid);
  EXPECT_EQ(answer.response.status, 404);
  EXPECT_FALSE(std::get<GrantWrite>(answer.result).current);
  EXPECT_EQ(store.evidence().size(), 1U);
  EXPECT_EQ(write(KeyVerb::renew, ours, Fence{7}).response.status, 404);
}

TEST_F(KeyApiTest, EvidenceIsLimited) {
  for (int i = 0; i < 10; ++i) write(KeyVerb::complete, ours, Fence{7 + i}, paid);
  const KeyAnswer limited = write(KeyVerb::complete, ours, Fence{17}, paid);
  EXPECT_EQ(limited.response.status, 429);
  EXPECT_EQ(refused_as, Problem::rate_limited);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(limited.result)) << "it may be repeated";
  EXPECT_THAT(limited.response.body, HasSubstr("Too many answers under fences"));
  EXPECT_EQ(store.evidence().size(), 10U);
  clock.advance(1s);
  EXPECT_EQ(write(KeyVerb::complete, ours, Fence{17}, paid).response.status, 404);
  EXPECT_EQ(store.evidence().size(), 11U);
}

TEST_F(KeyApiTest, OverItsLimitACallerSeesWhatIsThereAndNothingIsWritten) {
  policy.new_keys_per_second = 0.1;
  granted();
  const KeyAnswer limited = reserve(ours, "10", "job-00000002");
  EXPECT_EQ(limited.response.status, 429);
  EXPECT_EQ(refused_as, Problem::rate_limited);
  EXPECT_FALSE(stored("job-00000002"));
  const Record before = *stored();
  EXPECT_EQ(reserve().response.status, 201) << "what it holds it is granted again";
  EXPECT_EQ(reserve(theirs).response.status, 409);
  EXPECT_EQ(reserve(ours, "11").response.status, 422);
  EXPECT_EQ(*stored(), before);
  clock.advance(10s);
  EXPECT_EQ(reserve(theirs).response.status, 409);
  EXPECT_EQ(reserve(ours, "10", "job-00000002").response.status, 201)
      << "to find what was there already costs nothing";
}

TEST_F(KeyApiTest, WhileTheStoreFailsACallIsToBeRepeatedWithTheSameOwner) {
  const Fence fence = granted();
  FaultStore down(store, {.call = 1, .times = 1000, .fault = Fault::unavailable});
  node = std::make_unique<Node>(*this, down);
  expect_ask_again(reserve());
  expect_ask_again(write(KeyVerb::complete, ours, fence, paid));
  expect_ask_again(write(KeyVerb::renew, ours, fence));
  policy.new_keys_per_second = 0.1;
  ASSERT_EQ(node->state.limits.start(Scope{"api:ann"}, policy, clock.now()).verdict,
            ScopeLimits::Verdict::granted);
  expect_ask_again(reserve());
  while (!node->state.breaker.open()) expect_ask_again(reserve());
  const int asked = down.calls();
  expect_ask_again(reserve());
  EXPECT_EQ(down.calls(), asked) << "it is known to be unavailable";
}

TEST_F(KeyApiTest, AnAnswerThatCouldNotBeKeptIsNotRefusedForGood) {
  policy.on_lease_expiry = OnLeaseExpiry::retry;
  const Fence first = granted();
  clock.advance(31s);
  granted(theirs);
  // The time, the record; then all that the evidence is tried to be kept.
  FaultStore down(store, {.call = 2, .times = 1000, .fault = Fault::unavailable});
  node = std::make_unique<Node>(*this, down);
  expect_ask_again(write(KeyVerb::complete, ours, first, paid));
  EXPECT_TRUE(store.evidence().empty());
  node = std::make_unique<Node>(*this, store);
  EXPECT_EQ(write(KeyVerb::complete, ours, first, paid).response.status, 409);
  EXPECT_EQ(store.evidence().size(), 1U);
}

TEST_F(KeyApiTest, ABodyThatIsWrongIsRefusedBeforeTheStoreIsAsked) {
  FaultStore counted(store, {.call = 1000});
  node = std::make_unique<Node>(*this, counted);
  const KeyAnswer answer = call(KeyVerb::complete, ours, "");
  EXPECT_EQ(answer.response.status, 400);
  EXPECT_EQ(refused_as, Problem::body_invalid);
  EXPECT_THAT(answer.response.body, HasSubstr("/fence must be"));
  EXPECT_THAT(answer.response.body, Not(HasSubstr(ours)));
  EXPECT_EQ(counted.calls(), 0);
}

}  // namespace
}  // namespace pawl
