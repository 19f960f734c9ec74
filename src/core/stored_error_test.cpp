#include "src/core/stored_error.hpp"

#include <gtest/gtest.h>

#include "testing/builders.hpp"

namespace pawl {
namespace {

using testing::an_in_progress_record;
using testing::in_state;
using testing::some_time;

Record a_record(State state, std::string last_error) {
  Record record = an_in_progress_record();
  record.state = std::move(state);
  record.last_error = std::move(last_error);
  return record;
}

// As a store reads it: the state without these facts, and the text.
Record read_back(const Record& record) {
  Record read = in_state(record, status_of(record), some_time());
  if (const auto* unknown = std::get_if<Unknown>(&record.state)) {
    read.state = Unknown{unknown->reconcile_after, unknown->locked_until, unknown->locked_at};
  }
  read.last_error.clear();
  read_stored_error(read, stored_error(record));
  return read;
}

TEST(StoredError, ComesBackAsItWasWritten) {
  const std::string not_executed(not_executed_error);
  for (const Record& record : {
           a_record(Unknown{{}, {}, {}, true}, "answered: 500"),
           a_record(Unknown{{}, {}, {}, true}, ""),
           a_record(Unknown{{}, {}}, "answered: 500"),
           a_record(Unknown{{}, {}}, not_executed),
           a_record(FailedRetryable{.resolved_not_executed = true}, not_executed),
           a_record(FailedRetryable{}, "answered: 429"),
           a_record(FailedRetryable{}, "not-sent: resolved: not executed"),
           a_record(FailedRetryable{}, ""),
           a_record(Pending{.resolved_not_executed = true}, not_executed),
           a_record(Pending{}, "released: sold out"),
       }) {
    EXPECT_EQ(read_back(record), record) << stored_error(record);
    EXPECT_FALSE(broken_invariant(record)) << stored_error(record);
  }
}

// Of rows that any version has written.
TEST(StoredError, IsSpelledAsItAlwaysWas) {
  Record record = a_record(Unknown{{}, {}, {}, true}, "answered: 500");
  EXPECT_EQ(stored_error(record), "answered: 500, and nobody is asked any more");
  record =
      a_record(FailedRetryable{.resolved_not_executed = true}, std::string(not_executed_error));
  EXPECT_EQ(stored_error(record), "resolved: not executed");
}

// A flow that was left to be resumed says so too, and its owner goes on: nothing was released.
TEST(StoredError, OnlyWhatMayRunAgainIsResolvedAsNotExecuted) {
  Record held = an_in_progress_record();
  const State before = held.state;
  read_stored_error(held, std::string(not_executed_error));
  EXPECT_EQ(held.state, before);
  EXPECT_EQ(held.last_error, not_executed_error);
}

TEST(StoredError, MustNotBeLostByWriting) {
  EXPECT_TRUE(broken_invariant(a_record(FailedRetryable{.resolved_not_executed = true}, "other")));
  EXPECT_TRUE(broken_invariant(a_record(Pending{.resolved_not_executed = true}, "")));
}

}  // namespace
}  // namespace pawl
