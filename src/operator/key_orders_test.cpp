#include "src/operator/key_orders.hpp"

#include <gmock/gmock.h>

#include "src/operator/ports_for_tests.hpp"
#include "testing/fault_store.hpp"

namespace pawl {
namespace {

using testing::an_operator;
using ::testing::HasSubstr;
using testing::name_of;
using testing::OperatorWorld;

constexpr auto all_states = {Status::pending,   Status::in_progress,      Status::unknown,
                             Status::completed, Status::failed_retryable, Status::expired};

Record a_dead_letter() {
  Record record = testing::in_state(testing::an_in_progress_record(), Status::failed_retryable,
                                    testing::some_time());
  record.policy.mode = Mode::async;
  record.policy.max_attempts = 3;
  record.attempt = 3;
  record.request = StoredRequest{.target = "/", .headers = {}, .body = "{}"};
  return record;
}

OrRefusal<Done> purge(OperatorWorld& world, const Record& record, bool forget_answer = false) {
  const PurgeOrder order{name_of(record), forget_answer, an_operator()};
  return testing::run(purge_key(world.keys(), order));
}

TEST(PurgeKey, ForgetsOnlyWhatIsFinished) {
  for (const Status status : all_states) {
    OperatorWorld world;
    const Record record = world.put(status);
    const OrRefusal<Done> purged = purge(world, record);
    const bool allowed = status == Status::failed_retryable || status == Status::expired;
    EXPECT_EQ(bool(purged), allowed) << to_text(status);
    EXPECT_EQ(world.find(record).has_value(), !allowed) << to_text(status);
    if (!purged) {
      EXPECT_EQ(purged.error().kind, Refusal::Kind::refused);
      EXPECT_THAT(purged.error().sentence, HasSubstr("not purged: "));
    }
  }
}

TEST(PurgeKey, AnAnswerIsForgottenOnlyWhereThatIsSaid) {
  OperatorWorld world;
  const Record record = world.put(Status::completed);
  EXPECT_THAT(purge(world, record).error().sentence, HasSubstr("say --forget-answer"));
  ASSERT_TRUE(purge(world, record, true));
  EXPECT_FALSE(world.find(record));
  ASSERT_EQ(world.directory.purged.size(), 1U);
  EXPECT_EQ(world.directory.purged.front(),
            (AuditEntry{"operator alice@host", "purge", "it is in their books"}));
  EXPECT_EQ(purge(world, record).error().sentence,
            "not purged: there is no such record; is --scope right?");
}

TEST(PurgeKey, NeverWhatIsUnknownHoweverItIsAsked) {
  OperatorWorld world;
  const Record record = world.put(Status::unknown);
  EXPECT_THAT(purge(world, record, true).error().sentence, HasSubstr("Resolve it first"));
  EXPECT_TRUE(world.find(record));
}

TEST(PurgeKey, ARecordThatChangedMeanwhileStays) {
  OperatorWorld world;
  const Record record = world.put(Status::failed_retryable);
  world.directory.before_purge = [&] {
    Record next = testing::in_state(record, Status::in_progress, world.clock.wall());
    next.fence.number += 1;
    PAWL_CHECK(testing::run(world.store.replace_one({next, guard_of(record), std::nullopt}))->mine);
  };
  EXPECT_THAT(purge(world, record).error().sentence, HasSubstr("not purged: lost a race"));
  EXPECT_TRUE(world.find(record));
  world.directory.fails = true;
  const Record other = world.put(Status::failed_retryable, "test-key-00000002");
  EXPECT_EQ(purge(world, other).error(),
            (Refusal{Refusal::Kind::unavailable, "the directory is unavailable"}));
}

TEST(Orders, WithoutAReasonNothingIsAskedOfTheStore) {
  OperatorWorld world;
  testing::FaultStore store(world.store, {100, 1, testing::Fault::unavailable});
  const KeyName name{Scope{"tenant-a"}, Key{"test-key-00000001"}};
  const OrderedBy by{"alice@host", " "};
  const KeyPorts ports = world.keys_over(store);
  const auto is_malformed = [](const auto& result) {
    return !result && result.error().kind == Refusal::Kind::malformed;
  };
  const PurgeOrder purging{name, true, by};
  EXPECT_TRUE(is_malformed(testing::run(purge_key(ports, purging))));
  const DeadLetterOrder retrying{name, DeadLetterAction::retry, by};
  EXPECT_TRUE(is_malformed(testing::run(handle_dead_letter(ports, retrying))));
  const ReopenOrder asking{name, by};
  EXPECT_TRUE(is_malformed(testing::run(reopen_key(ports, asking))));
  EXPECT_EQ(store.calls(), 0);
}

OrRefusal<Status> handle(OperatorWorld& world, Store& store, const Record& record,
                         DeadLetterAction action) {
  const DeadLetterOrder order{name_of(record), action, an_operator()};
  return testing::run(handle_dead_letter(world.keys_over(store), order));
}

TEST(DeadLetterOrders, QueueItAgainOrGiveItUpWithAnAuditEntry) {
  for (const auto action : {DeadLetterAction::retry, DeadLetterAction::discard}) {
    OperatorWorld world;
    const Record record = world.put(a_dead_letter());
    const OrRefusal<Status> became = handle(world, world.store, record, action);
    ASSERT_TRUE(became);
    const bool retried = action == DeadLetterAction::retry;
    EXPECT_EQ(*became, retried ? Status::pending : Status::completed);
    EXPECT_EQ(status_of(*world.find(record)), *became);
    ASSERT_EQ(world.store.audit().size(), 1U);
    EXPECT_EQ(
        world.store.audit().front().second,
        (AuditEntry{"operator alice@host", retried ? "retry" : "discard", "it is in their books"}));
    EXPECT_EQ(dead_letter_text(action, *became),
              retried ? "retried: it is now pending\n" : "discarded: it is now completed\n");
  }
}

TEST(DeadLetterOrders, NothingElseIsADeadLetter) {
  for (const Status status : all_states) {
    OperatorWorld world;
    const Record record = world.put(status);
    const OrRefusal<Status> became = handle(world, world.store, record, DeadLetterAction::discard);
    ASSERT_FALSE(became) << to_text(status);
    EXPECT_EQ(became.error().sentence,
              "not discarded: only accepted work that is out of attempts can be; it is " +
                  std::string(to_text(status)) + ". pawl keys list --dead");
    EXPECT_EQ(world.find(record), record);
  }
}

TEST(DeadLetterOrders, LoseARaceAndSaySo) {
  OperatorWorld world;
  const Record record = world.put(a_dead_letter());
  testing::FaultStore store(world.store, {100, 1, testing::Fault::unavailable});
  store.before_replace([&] {
    PAWL_CHECK(handle(world, world.store, record, DeadLetterAction::discard).has_value());
  });
  const OrRefusal<Status> became = handle(world, store, record, DeadLetterAction::retry);
  ASSERT_FALSE(became);
  EXPECT_THAT(became.error().sentence, HasSubstr("not retried: lost a race"));
  EXPECT_EQ(status_of(*world.find(record)), Status::completed) << "discarded stays discarded";
}

OrRefusal<Done> reopen(OperatorWorld& world, const Record& record) {
  const ReopenOrder order{name_of(record), an_operator()};
  return testing::run(reopen_key(world.keys(), order));
}

// Its source was asked, and is not asked any more.
void give_up(OperatorWorld& world, const Record& record) {
  const CaseId id{record.scope, record.key, record.fence};
  const Instant now = world.clock.wall();
  const ReconciliationStore::CaseClaim claim{id, "subject", "", "provider", now, now, now};
  PAWL_CHECK(testing::run(world.cases.take(claim))->has_value());
  CaseChange dead;
  dead.state = CaseState::dead;
  dead.note = CaseNote{now, record.fence, "provider", "no answer", ""};
  PAWL_CHECK(testing::run(world.cases.change(id, dead)).has_value());
}

TEST(ReopenKey, HasTheSourceOfADeadLetterAskedAgain) {
  OperatorWorld world;
  const Record record = world.put(Status::unknown);
  give_up(world, record);
  world.clock.advance(std::chrono::hours(1));
  ASSERT_TRUE(reopen(world, record));
  const Record next = *world.find(record);
  EXPECT_EQ(std::get<Unknown>(next.state).reconcile_after, world.clock.wall());
  EXPECT_EQ(next.fence, record.fence) << "nothing is executed by it";
  const auto about = testing::run(world.cases.find(record.scope, record.key));
  ASSERT_TRUE(about && *about);
  EXPECT_EQ((*about)->state, CaseState::open);
  EXPECT_EQ(world.store.audit().front().second.action, "ask");
  EXPECT_THAT(reopen(world, record).error().sentence, HasSubstr("it is no dead letter"));
}

TEST(ReopenKey, ItsClientIsToldThatASourceIsAskedAtOnce) {
  OperatorWorld world;
  Record record = world.put(Status::unknown);
  std::get<Unknown>(record.state).dead_lettered = true;
  record = world.put(record);
  give_up(world, record);
  ASSERT_TRUE(reopen(world, record));
  EXPECT_FALSE(std::get<Unknown>(world.find(record)->state).dead_lettered);
}

TEST(ReopenKey, IsForUnknownKeysOnly) {
  for (const Status status : all_states) {
    if (status == Status::unknown) continue;
    OperatorWorld world;
    const OrRefusal<Done> reopened = reopen(world, world.put(status));
    ASSERT_FALSE(reopened) << to_text(status);
    EXPECT_THAT(reopened.error().sentence, HasSubstr("not asked: "));
  }
}

}  // namespace
}  // namespace pawl
