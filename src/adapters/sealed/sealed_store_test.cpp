// What would execute twice, or show what was erased, if sealing went wrong.
#include "src/adapters/sealed/sealed_store_fixture.hpp"

namespace pawl::sealed {
namespace {

TEST_F(SealedStoreTest, NothingOfAnAnswerOrARequestLiesInClear) {
  const auto store = node({first_key});
  const Record done = paid(*store);
  const StoredResponse response = stored_answer(0);
  EXPECT_TRUE(is_sealed(response));
  EXPECT_TRUE(response.headers.empty());
  EXPECT_EQ(response.body->find("pay_1"), std::string::npos);
  EXPECT_EQ(**run(store->find(done.scope, done.key)), done);
  EXPECT_EQ(*retry(*store, done)->current, done);

  const Record waiting = accepted(*store, "test-key-00000002");
  const Record kept = inner->records().at(1);
  EXPECT_EQ(kept.request->target, sealed_target);
  EXPECT_TRUE(kept.request->headers.empty());
  EXPECT_EQ(kept.request->body.find("secret"), std::string::npos);
  EXPECT_EQ(**run(store->find(waiting.scope, waiting.key)), waiting);
}

TEST_F(SealedStoreTest, ARetryOfAPaidKeyWhoseKeyFileWasLostIsNeverNew) {
  const auto before = node({first_key});
  const Record done = paid(*before);
  const Record row = stored();
  for (auto& keys : {std::vector{other_key}, std::vector<EncryptionKey>{},
                     std::vector{EncryptionKey{"2025", std::string(32, 'x')}}}) {
    const auto lost = node(keys);
    EXPECT_EQ(retry(*lost, done).error(), StoreError::unreadable);
    EXPECT_EQ(run(lost->find(done.scope, done.key)).error(), StoreError::unreadable);
    EXPECT_EQ(inner->records(), std::vector{row});
  }
  EXPECT_EQ(*retry(*node({other_key, first_key}), done)->current, done) << "it is found again";
}

TEST_F(SealedStoreTest, NothingIsBegunWhoseAnswerCouldNotBeKept) {
  const auto before = node({first_key});
  paid(*before);
  Record failed =
      in_state(an_in_progress_record("test-key-00000003"), Status::failed_retryable, some_time());
  EXPECT_TRUE(run(before->insert_or_read_one(failed))->mine);
  const auto lost = node({other_key});
  const auto fresh = run(lost->insert_or_read_one(an_in_progress_record("test-key-00000002")));
  EXPECT_EQ(fresh.error(), StoreError::unreadable);
  Record taken = an_in_progress_record("test-key-00000003", "owner-2");
  taken.fence.number = failed.fence.number + 1;
  EXPECT_EQ(run(lost->replace_one({taken, guard_of(failed), std::nullopt})).error(),
            StoreError::unreadable);
  EXPECT_EQ(inner->records().size(), 2U);
  Record elsewhere = an_in_progress_record("test-key-00000002");
  elsewhere.scope.text = "tenant-b";
  EXPECT_TRUE(run(lost->insert_or_read_one(elsewhere))->mine) << "other scopes go on";
}

TEST_F(SealedStoreTest, AKeyOfAForgottenScopeStaysUsed) {
  const auto store = node({first_key});
  const Record done = paid(*store);
  forget();
  raise_purge_epoch();
  const auto other = node({first_key});
  const StoreResult<Written> again = retry(*other, done);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->mine);
  EXPECT_EQ(status_of(*again->current), Status::expired);
  EXPECT_EQ(status_of(**run(other->find(done.scope, done.key))), Status::expired);
  // The reaper names the row as it lies there.
  const auto old = run(other->past_retention({done.expires_at + std::chrono::hours(1), 10}));
  ASSERT_EQ(old->size(), 1U);
  EXPECT_EQ(guard_of(old->front()), guard_of(done));
  EXPECT_EQ(*run(other->erase({{done.scope, done.key, guard_of(old->front())}})),
            std::vector<bool>{true});
}

TEST_F(SealedStoreTest, ARequestOfAForgottenScopeIsNotSentAndHidesNoOther) {
  const auto store = node({first_key});
  const Record waiting = accepted(*store);
  forget();
  const auto other = node({first_key});
  Record second = accepted(*other, "test-key-00000002");
  EXPECT_EQ(run(other->find(waiting.scope, waiting.key)).error(), StoreError::unreadable);
  EXPECT_EQ(retry(*other, waiting).error(), StoreError::unreadable);
  const auto due = run(other->pending({some_time() + std::chrono::hours(1), 1}));
  ASSERT_EQ(due->size(), 1U);
  EXPECT_EQ(due->front(), second);
  EXPECT_EQ(other->unreadable_rows(), 1U);
}

TEST_F(SealedStoreTest, ACiphertextOfAnotherKeyOrFenceDoesNotOpen) {
  const auto store = node({first_key});
  const Record one = paid(*store, "test-key-00000001");
  paid(*store, "test-key-00000002");
  std::vector<Record> rows = inner->records();
  std::swap(rows.at(0).state, rows.at(1).state);
  inner->put_back(rows);
  EXPECT_EQ(retry(*store, one).error(), StoreError::unreadable);
  std::swap(rows.at(0).state, rows.at(1).state);
  rows.at(0).fence.number += 1;
  inner->put_back(rows);
  EXPECT_EQ(retry(*store, one).error(), StoreError::unreadable);
}

TEST_F(SealedStoreTest, ARowInClearIsReplayedAndSealedByWhoeverFindsIt) {
  const Record done = paid(*node({}));
  EXPECT_EQ(stored(), done);
  const auto store = node({first_key});
  EXPECT_EQ(**run(store->find(done.scope, done.key)), done);
  EXPECT_EQ(*retry(*store, done)->current, done);
  EXPECT_TRUE(is_sealed(stored_answer(0)));
  EXPECT_EQ(*retry(*store, done)->current, done);
  // A settlement that finds the service's own completion does the same.
  const Record held = an_in_progress_record("test-key-00000002");
  EXPECT_TRUE(run(store->insert_or_read_one(held))->mine);
  const Record by_service = in_state(held, Status::completed, some_time());
  EXPECT_TRUE(run(inner->replace_one({by_service, guard_of(held), std::nullopt}))->mine);
  Record late = in_state(held, Status::unknown, some_time());
  EXPECT_EQ(*run(store->replace_one({late, guard_of(held), std::nullopt}))->current, by_service);
  EXPECT_TRUE(is_sealed(stored_answer(1)));
}

TEST_F(SealedStoreTest, EvidenceIsSealedAndWithoutAKeyKeptWithoutItsAnswer) {
  const auto store = node({first_key});
  const Record held = an_in_progress_record();
  LateEvidence late{
      held.scope, held.key,           held.fence,          held.owner, held.fingerprint,
      1,          Evidence::answered, a_stored_response(), "late"};
  EXPECT_TRUE(run(store->keep_evidence(late)));
  EXPECT_TRUE(run(store->keep_evidence(late)));
  ASSERT_EQ(inner->evidence().size(), 1U) << "told twice, kept once";
  EXPECT_TRUE(is_sealed(kept_answer(0)));
  const auto lost = node({other_key});
  late.fence.number += 1;
  EXPECT_TRUE(run(lost->keep_evidence(late)));
  EXPECT_EQ(kept_answer(1).status, late.response->status);
  EXPECT_EQ(kept_answer(1).body, std::nullopt);
  EXPECT_TRUE(kept_answer(1).headers.empty());
}

}  // namespace
}  // namespace pawl::sealed
