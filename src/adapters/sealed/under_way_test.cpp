// Records of which this process is the owner, while data keys are out of reach or are erased: what
// was executed is not executed again, and what a client is told can be read afterwards.
#include <chrono>

#include "src/adapters/sealed/sealed_store_fixture.hpp"

namespace pawl::sealed {
namespace {

class UnderWayTest : public SealedStoreTest {
 protected:
  // Claimed by a worker: in progress, with the request that is being sent.
  Record claimed(Store& store) {
    const Record waiting = accepted(store);
    Record held = an_in_progress_record(waiting.key.text, "worker");
    held.request = waiting.request;
    held.fence.number = waiting.fence.number + 1;
    EXPECT_TRUE(run(store.replace_one({held, guard_of(waiting), std::nullopt}))->mine);
    return held;
  }
  Record reserved(Store& store) {
    const Record held = an_in_progress_record();
    EXPECT_TRUE(run(store.insert_or_read_one(held))->mine);
    return held;
  }
  static Replacement renewal(const Record& held) {
    Record next = held;
    auto& lease = std::get<InProgress>(next.state);
    lease.locked_until += std::chrono::seconds(10);
    return {next, guard_of(held), std::nullopt};
  }
  static Replacement settlement(const Record& held) {
    return {in_state(held, Status::completed, some_time()), guard_of(held), std::nullopt};
  }
  // A new purge epoch reaches the node: what it had in memory is void.
  void told_of_a_purge(Store& store) {
    raise_purge_epoch();
    EXPECT_TRUE(run(store.time()));
  }
};

TEST_F(UnderWayTest, ALeaseIsRenewedWithoutReadingKeys) {
  const auto store = node({first_key});
  const Record held = claimed(*store);
  const StoredRequest sealed = *stored().request;
  told_of_a_purge(*store);
  data_keys->out_of_reach = true;
  const int reads = data_keys->reads;
  const StoreResult<Written> renewed = run(store->replace_one(renewal(held)));
  ASSERT_TRUE(renewed);
  EXPECT_TRUE(renewed->mine);
  EXPECT_EQ(*renewed->current, renewal(held).next);
  EXPECT_EQ(stored().request, sealed);
  // Its acknowledgement was lost, and it is asked again as it was.
  const StoreResult<Written> again = run(store->replace_one(renewal(held)));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again->current, renewal(held).next);
  // One that comes too late is shown what is there.
  Replacement late = renewal(held);
  std::get<InProgress>(late.next.state).locked_until += std::chrono::seconds(1);
  const StoreResult<Written> other = run(store->replace_one(late));
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->mine);
  EXPECT_EQ(*other->current, renewal(held).next);
  EXPECT_EQ(data_keys->reads, reads);
}

TEST_F(UnderWayTest, AnOutcomeIsDurableBeforeItsKeyIsConfirmedAndAnsweredAfterwards) {
  const auto store = node({first_key});
  const Record held = reserved(*store);
  told_of_a_purge(*store);
  data_keys->out_of_reach = true;
  EXPECT_EQ(run(store->replace_one(settlement(held))).error(), StoreError::in_doubt);
  EXPECT_EQ(status_of(stored()), Status::completed) << "no other owner executes it";
  data_keys->out_of_reach = false;
  const StoreResult<Written> settled = run(store->replace_one(settlement(held)));
  ASSERT_TRUE(settled);
  EXPECT_TRUE(settled->mine);
  EXPECT_EQ(*settled->current, settlement(held).next);
}

// Another node, or the same one started anew, has no key of the row in memory.
TEST_F(UnderWayTest, AnOutcomeWhoseKeyIsNotHereIsKeptAndTriedAgain) {
  const Record held = reserved(*node({first_key}));
  const auto lost = node({other_key});
  EXPECT_EQ(run(lost->replace_one(settlement(held))).error(), StoreError::unavailable);
  EXPECT_EQ(status_of(stored()), Status::in_progress);
  const auto found = node({other_key, first_key});
  EXPECT_TRUE(run(found->replace_one(settlement(held)))->mine);
}

// Its outcome is evidence, which must not be dropped either.
TEST_F(UnderWayTest, AnOutcomeOfARecordThatAnotherOwnerCompletedIsKeptWhileThatDoesNotOpen) {
  const auto store = node({first_key});
  const Record held = reserved(*store);
  Record taken = an_in_progress_record(held.key.text, "owner-2");
  taken.fence.number = held.fence.number + 1;
  EXPECT_TRUE(run(store->replace_one({taken, guard_of(held), std::nullopt}))->mine);
  EXPECT_TRUE(run(store->replace_one(settlement(taken)))->mine);
  const auto lost = node({other_key});
  Replacement late{in_state(held, Status::unknown, some_time()), guard_of(held), std::nullopt};
  EXPECT_EQ(run(lost->replace_one(late)).error(), StoreError::unavailable);
}

TEST_F(UnderWayTest, AnAnswerThatComesAfterItsScopeWasForgottenIsSealedWithANewKey) {
  const auto store = node({first_key});
  const Record held = reserved(*store);
  forget();
  raise_purge_epoch();  // and this node has not heard of it
  const StoreResult<Written> settled = run(store->replace_one(settlement(held)));
  ASSERT_TRUE(settled);
  EXPECT_TRUE(settled->mine);
  EXPECT_EQ(*settled->current, settlement(held).next);
  EXPECT_TRUE(is_sealed(stored_answer(0)));
  EXPECT_EQ(**run(node({first_key})->find(held.scope, held.key)), settlement(held).next);
}

TEST_F(UnderWayTest, WhatIsAcceptedAfterItsScopeWasForgottenIsSealedWithANewKey) {
  const auto store = node({first_key});
  paid(*store, "test-key-00000002");
  forget();
  raise_purge_epoch();  // and this node has not heard of it
  const Record waiting = accepted(*store);
  const auto due = run(node({first_key})->pending({some_time() + std::chrono::hours(1), 10}));
  ASSERT_TRUE(due);
  EXPECT_EQ(*due, std::vector{waiting});
}

// Erased is erased: a request does not come back from the memory of the worker that sends it.
TEST_F(UnderWayTest, ARequestOfAForgottenScopeIsNotSealedAnew) {
  const auto store = node({first_key});
  const Record held = claimed(*store);
  forget();
  raise_purge_epoch();
  EXPECT_TRUE(run(store->replace_one(renewal(held)))->mine);
  const Record renewed = renewal(held).next;
  EXPECT_TRUE(run(store->replace_one(settlement(renewed)))->mine);
  const auto read = run(node({first_key})->find(held.scope, held.key));
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->state, settlement(renewed).next.state);
  EXPECT_FALSE((*read)->request);
}

TEST_F(UnderWayTest, EvidenceThatComesAfterItsScopeWasForgottenIsSealedWithANewKey) {
  const auto store = node({first_key});
  const Record held = reserved(*store);
  forget();  // and this node has not heard of it
  LateEvidence late{
      held.scope, held.key,           held.fence,          held.owner, held.fingerprint,
      1,          Evidence::answered, a_stored_response(), "late"};
  EXPECT_TRUE(run(store->keep_evidence(late)));
  EXPECT_EQ(generation_of(*kept_answer(0).body), 2);
}

}  // namespace
}  // namespace pawl::sealed
