#include "src/operator/describe_record.hpp"

#include <gmock/gmock.h>

#include "src/operator/key_history.hpp"
#include "testing/builders.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Record a_record(Status status, const std::string& last_error) {
  Record record = testing::in_state(testing::an_in_progress_record(), status, testing::some_time());
  record.last_error = last_error;
  return record;
}

std::string words_of(const Record& record) {
  return state_in_words(record, std::nullopt, testing::some_time());
}

TEST(RecordInWords, WhatItsServiceReleasedIsNotTakenForSilence) {
  for (const bool transactional : {false, true}) {
    Record record = a_record(Status::failed_retryable, "released: out of stock");
    record.policy.transactional = transactional;
    EXPECT_THAT(words_of(record),
                AllOf(HasSubstr("Its service released it"), Not(HasSubstr("on_lease_expiry")),
                      Not(HasSubstr("did not commit"))));
  }
}

TEST(RecordInWords, WhatWasResolvedAsNotExecutedIsSaidToBe) {
  Record record = a_record(Status::failed_retryable, "resolved: not executed");
  record.state = FailedRetryable{.resolved_not_executed = true};
  EXPECT_THAT(words_of(record), HasSubstr("It was looked up, and found not to have been executed"));
}

// The record says so itself, also where its case is gone.
TEST(KeyStory, ADeadLetterSaysThatNoSourceIsAskedAnyMore) {
  KeyFacts facts;
  facts.record = a_record(Status::unknown, "answered: 500");
  EXPECT_THAT(key_history(facts), HasSubstr("Why: answered: 500.\n"));
  std::get<Unknown>(facts.record->state).dead_lettered = true;
  EXPECT_THAT(key_history(facts), HasSubstr("Why: answered: 500, and nobody is asked any more.\n"));
}

TEST(RecordInWords, AHeldAnswerNamesOnlyTheSettingThatWouldHaveFreedIt) {
  constexpr const char* by_error = "on_server_error = \"retry\"";
  EXPECT_THAT(words_of(a_record(Status::unknown, "answered: 500")), HasSubstr(by_error));
  for (const char* error : {"answered: 502", "answered: 504", "answered: 429",
                            "answered: 500, Pawl-Outcome: unknown"}) {
    EXPECT_THAT(words_of(a_record(Status::unknown, error)), Not(HasSubstr(by_error))) << error;
  }
  EXPECT_THAT(words_of(a_record(Status::unknown, "answered: 429")), HasSubstr("on_refusal"));
}

TEST(RecordInWords, TheCommandsSayWhichAttemptTheyAreAbout) {
  const Record record = a_record(Status::unknown, "lease-expired");
  const KeyPlace place{record.scope, record.key, "sqlite:pawl.db"};
  const std::string fence = "--fence " + std::to_string(record.fence.number);
  EXPECT_THAT(next_step(record, std::nullopt, place),
              AllOf(HasSubstr("--completed --status 201 --body answer.json " + fence),
                    HasSubstr("--not-executed " + fence)));
}

TEST(KeyStory, AKeyThatARestoredStoreMayHaveForgottenIsNotCalledUnused) {
  KeyFacts facts;
  facts.scope.text = "caller:acme";
  facts.key.text = "used-after-the-backup";
  facts.elsewhere.whole = true;
  EXPECT_THAT(key_history(facts), HasSubstr("It was never used here"));
  facts.forgotten_since = testing::some_time();
  EXPECT_THAT(key_history(facts),
              AllOf(HasSubstr("restored from a backup"), HasSubstr("store-restored"),
                    Not(HasSubstr("It was never used here"))));
}

}  // namespace
}  // namespace pawl
