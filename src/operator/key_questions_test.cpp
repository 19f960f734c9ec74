#include "src/operator/key_questions.hpp"

#include <gmock/gmock.h>

#include "src/engine/stored_restoration.hpp"
#include "src/operator/ports_for_tests.hpp"

namespace pawl {
namespace {

using ::testing::HasSubstr;
using testing::OperatorWorld;

KeyQuestion about(const std::string& key, const std::string& scope = "") {
  KeyQuestion question;
  question.key = key;
  question.scope = scope;
  return question;
}

OrRefusal<Explanation> ask(OperatorWorld& world, const KeyQuestion& question) {
  return testing::run(explain_key(world.keys(), question));
}

KeyFacts facts_of(OperatorWorld& world, const KeyQuestion& question) {
  const OrRefusal<Explanation> explanation = ask(world, question);
  PAWL_CHECK(explanation.has_value());
  return std::get<ExplainedKey>(*explanation).facts;
}

TEST(KeyQuestions, AKeyIsFoundInTheOneScopeThatHasIt) {
  OperatorWorld world;
  const Record record = world.put(Status::completed);
  EXPECT_EQ(facts_of(world, about(record.key.text)).record, record);
  const KeyFacts elsewhere = facts_of(world, about(record.key.text, "tenant-b"));
  EXPECT_FALSE(elsewhere.record);
  EXPECT_EQ(elsewhere.elsewhere.scopes, std::vector{record.scope});
}

TEST(KeyQuestions, ALineOfTheLogNamesAKeyToo) {
  OperatorWorld world;
  Record record = testing::an_in_progress_record();
  record.attempt = 3;
  world.put(record);
  world.put(Status::completed, "test-key-00000002");
  KeyQuestion by_hash;
  by_hash.hash = log_name(record.scope, record.key);
  EXPECT_EQ(facts_of(world, by_hash).record, record);
  EXPECT_EQ(facts_of(world, about(by_hash.hash)).record, record) << "in a key's place";

  Record earlier = record;
  earlier.fence.number -= 2;
  KeyQuestion by_id;
  by_id.request_id = request_id(earlier);
  const OrRefusal<Explanation> explanation = ask(world, by_id);
  ASSERT_TRUE(explanation);
  EXPECT_EQ(std::get<ExplainedKey>(*explanation).earlier_attempt, 1);
  by_id.request_id = request_id(record);
  EXPECT_EQ(std::get<ExplainedKey>(*ask(world, by_id)).earlier_attempt, 0);
}

TEST(KeyQuestions, ASearchThatFindsNothingSaysHowFarItLooked) {
  OperatorWorld world;
  world.put(Status::completed);
  KeyQuestion question;
  question.hash = "000000000000";
  const OrRefusal<Explanation> explanation = ask(world, question);
  ASSERT_TRUE(explanation);
  const auto& [found, search] = std::get<AmbiguousKey>(*explanation);
  EXPECT_TRUE(found.keys.empty());
  EXPECT_EQ(found.seen, 1U);
  EXPECT_TRUE(found.whole);
}

TEST(KeyQuestions, WhatTheStoreMayHaveForgottenIsNotCalledNew) {
  OperatorWorld world;
  const Instant now = world.clock.wall();
  const StoredRestoration restored{now - std::chrono::hours(3), now, now + std::chrono::hours(48),
                                   true, false};
  world.upkeep.facts[restoration_fact] = to_json(restored);
  const OrRefusal<Explanation> explanation = ask(world, about("never-seen-00001", "tenant-a"));
  ASSERT_TRUE(explanation);
  const ExplainedKey& explained = std::get<ExplainedKey>(*explanation);
  EXPECT_EQ(explained.facts.forgotten_since, restored.since);
  EXPECT_FALSE(explained.is_known());
  world.clock.advance(std::chrono::hours(49));
  EXPECT_FALSE(facts_of(world, about("never-seen-00001", "tenant-a")).forgotten_since);
}

TEST(KeyQuestions, ARecordThatCannotBeReadIsNotTakenForNone) {
  OperatorWorld world;
  const Record record = world.put(Status::completed);
  world.store.corrupt(record.scope, record.key);
  const OrRefusal<Explanation> explanation = ask(world, about(record.key.text, record.scope.text));
  ASSERT_FALSE(explanation);
  EXPECT_EQ(explanation.error().kind, Refusal::Kind::unavailable);
  EXPECT_THAT(explanation.error().sentence, HasSubstr("the record cannot be understood"));
}

TEST(KeyQuestions, OneKeyIsAskedAboutInOneWay) {
  KeyQuestion two = about("test-key-00000001");
  two.hash = "1f3a5c7e9b2d";
  for (const KeyQuestion& question : {KeyQuestion{}, two}) {
    const std::optional<Refusal> wrong = check_question(question);
    ASSERT_TRUE(wrong);
    EXPECT_THAT(wrong->sentence, HasSubstr("say which key"));
  }
  for (const std::string hash : {"1f3a5", "1F3A5C", "1f3a5cx"}) {
    KeyQuestion question;
    question.hash = hash;
    EXPECT_THAT(check_question(question)->sentence, HasSubstr("6 to 12 hexadecimal digits"));
  }
  EXPECT_FALSE(check_question(about("test-key-00000001")));
}

TEST(KeyLists, SayWhetherThereMayBeMore) {
  OperatorWorld world;
  world.put(Status::unknown, "test-key-00000001");
  world.put(Status::unknown, "test-key-00000002");
  const auto list = [&](std::size_t keys_max) {
    return *testing::run(list_keys(world.keys(), Listed::unknown, keys_max));
  };
  EXPECT_EQ(list(3).keys.size(), 2U);
  EXPECT_TRUE(list(3).whole);
  EXPECT_FALSE(list(2).whole);
  EXPECT_EQ(list(3).now, world.clock.wall());
  world.directory.fails = true;
  EXPECT_EQ(testing::run(list_keys(world.keys(), Listed::unknown, 3)).error().sentence,
            "the directory is unavailable");
}

TEST(KeyLists, HaveNames) {
  EXPECT_EQ(*list_named("pending", false), Listed::pending);
  EXPECT_EQ(*list_named("unknown", true), Listed::dead);
  const OrRefusal<Listed> wrong = list_named("completed", false);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, Refusal::Kind::malformed);
  EXPECT_THAT(wrong.error().sentence, HasSubstr("--status is \"completed\""));
}

}  // namespace
}  // namespace pawl
