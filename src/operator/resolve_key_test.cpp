#include "src/operator/resolve_key.hpp"

#include <gmock/gmock.h>

#include "src/operator/ports_for_tests.hpp"

namespace pawl {
namespace {

using ::testing::HasSubstr;
using testing::OperatorWorld;
using ::testing::StartsWith;

ResolveOrder an_order(const Record& record) {
  ResolveOrder order;
  order.name = testing::name_of(record);
  order.by = testing::an_operator();
  return order;
}

ResolveOrder completed(const Record& record) {
  ResolveOrder order = an_order(record);
  order.completed = true;
  order.response_status = 201;
  order.body = R"({"id":"ch_1"})";
  order.content_type = "application/json";
  return order;
}

ResolveOrder not_executed(const Record& record, std::optional<Fence> fence) {
  ResolveOrder order = an_order(record);
  order.not_executed = true;
  order.fence = fence;
  return order;
}

OrRefusal<ResolvedKey> resolve(OperatorWorld& world, const ResolveOrder& order) {
  return testing::run(resolve_key(world.keys(), world.engine, order));
}

std::string refusal(OperatorWorld& world, const ResolveOrder& order) {
  const OrRefusal<ResolvedKey> resolved = resolve(world, order);
  return resolved ? "" : resolved.error().sentence;
}

// Its lease ended long ago: no owner sends it any more.
Record put_unknown(OperatorWorld& world) {
  const Record record = world.put(Status::unknown);
  world.clock.advance(std::chrono::hours(1));
  return record;
}

TEST(ResolveKey, CompletedItHasTheAnswerThatWasGiven) {
  OperatorWorld world;
  const Record record = put_unknown(world);
  const OrRefusal<ResolvedKey> resolved = resolve(world, completed(record));
  ASSERT_TRUE(resolved) << resolved.error().sentence;
  EXPECT_EQ(resolved_text(*resolved), "resolved: it is now completed\n");
  EXPECT_EQ(resolved->warning, "");
  const Record next = *world.find(record);
  const StoredResponse& response = std::get<Completed>(next.state).response;
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.body, R"({"id":"ch_1"})");
  EXPECT_EQ(response.headers, (Headers{{"Content-Type", "application/json"}}));
  EXPECT_EQ(world.store.audit().front().second.actor, "operator alice@host");
}

TEST(ResolveKey, ASecondWordChangesNothing) {
  OperatorWorld world;
  const Record record = put_unknown(world);
  ASSERT_TRUE(resolve(world, completed(record)));
  const Record settled = *world.find(record);
  ResolveOrder other = completed(record);
  other.response_status = 402;
  EXPECT_THAT(refusal(world, other), StartsWith("not resolved: it is completed already"));
  EXPECT_THAT(refusal(world, not_executed(record, record.fence)), StartsWith("not resolved: "));
  EXPECT_EQ(world.find(record), settled);
}

TEST(ResolveKey, NotExecutedNeedsTheFenceThatWasInvestigated) {
  OperatorWorld world;
  const Record record = put_unknown(world);
  const OrRefusal<ResolvedKey> unsaid = resolve(world, not_executed(record, std::nullopt));
  ASSERT_FALSE(unsaid);
  EXPECT_EQ(unsaid.error().kind, Refusal::Kind::malformed);
  EXPECT_THAT(unsaid.error().sentence, HasSubstr("--fence N. it is at attempt 1 now, under fence " +
                                                 std::to_string(record.fence.number)));
  EXPECT_EQ(world.find(record), record);
  const OrRefusal<ResolvedKey> resolved = resolve(world, not_executed(record, record.fence));
  ASSERT_TRUE(resolved) << resolved.error().sentence;
  EXPECT_EQ(status_of(*world.find(record)), Status::failed_retryable);
}

TEST(ResolveKey, WhatWasFoundOfAnEarlierAttemptIsNotBelievedOfALaterOne) {
  OperatorWorld world;
  const Record record = put_unknown(world);
  const Fence earlier{record.fence.number - 1};
  EXPECT_THAT(refusal(world, not_executed(record, earlier)),
              HasSubstr("is about fence " + std::to_string(earlier.number) +
                        ", and since then the key was executed again"));
  EXPECT_EQ(world.find(record), record);
}

TEST(ResolveKey, NotExecutedIsRefusedWhileAnOwnerMayStillBeSending) {
  OperatorWorld world;
  const Record record = world.put(Status::unknown);
  EXPECT_THAT(refusal(world, not_executed(record, record.fence)),
              HasSubstr("an owner may still be sending it"));
  EXPECT_EQ(world.find(record), record);
}

TEST(ResolveKey, OnlyWhatIsUnknown) {
  for (const Status status : {Status::pending, Status::in_progress, Status::completed,
                              Status::failed_retryable, Status::expired}) {
    OperatorWorld world;
    const Record record = world.put(status);
    EXPECT_THAT(refusal(world, completed(record)),
                StartsWith("not resolved: " + why_not_unknown(record)));
    EXPECT_EQ(world.find(record), record) << to_text(status);
  }
  OperatorWorld empty;
  const Record record = testing::an_in_progress_record();
  EXPECT_EQ(refusal(empty, completed(record)),
            "not resolved: there is no such record; is --scope right?");
  EXPECT_EQ(refusal(empty, not_executed(record, std::nullopt)),
            "not resolved: there is no such record; is --scope right?");
}

TEST(ResolveKey, ItsCaseFollows) {
  OperatorWorld world;
  const Record record = put_unknown(world);
  const Instant now = world.clock.wall();
  const ReconciliationStore::CaseClaim claim{
      {record.scope, record.key, record.fence}, "subject", "", "provider", now, now, now};
  ASSERT_TRUE(testing::run(world.cases.take(claim))->has_value());
  ASSERT_TRUE(resolve(world, completed(record)));
  EXPECT_EQ((*testing::run(world.cases.find(record.scope, record.key)))->state, CaseState::closed);
  const auto notes = testing::run(world.cases.notes_of(record.scope, record.key));
  ASSERT_EQ(notes->size(), 1U);
  EXPECT_EQ(notes->front().source, "operator");
  EXPECT_EQ(notes->front().result, "completed");
  EXPECT_EQ(notes->front().detail, "alice@host: it is in their books");
}

TEST(ResolveKey, AnOrderMustSayOneThing) {
  const Record record = testing::an_in_progress_record();
  const auto sentence = [](const ResolveOrder& order) {
    const std::optional<Refusal> wrong = check_resolve(order);
    return wrong ? wrong->sentence : "";
  };
  EXPECT_EQ(sentence(completed(record)), "");
  EXPECT_EQ(sentence(an_order(record)), "say what you found: --completed or --not-executed");
  ResolveOrder both = completed(record);
  both.not_executed = true;
  EXPECT_EQ(sentence(both), "say what you found: --completed or --not-executed");
  ResolveOrder answered = not_executed(record, record.fence);
  answered.response_status = 201;
  EXPECT_EQ(sentence(answered), "--status and --body go with --completed");
  for (const int status : {0, 100, 199, 600}) {
    ResolveOrder odd = completed(record);
    odd.response_status = status;
    EXPECT_THAT(sentence(odd), HasSubstr("200 to 599")) << status;
  }
  ResolveOrder unexplained = completed(record);
  unexplained.by.reason = "";
  EXPECT_THAT(sentence(unexplained), StartsWith("--reason must say why"));
}

}  // namespace
}  // namespace pawl
