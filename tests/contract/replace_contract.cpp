// Replace what has not changed, and say what is there.
#include "tests/contract/store_contract.hpp"

namespace pawl {
namespace {

TEST_P(StoreContract, ReplaceWhereTheGuardHoldsWritesTheWholeRecord) {
  const Record before = in_state(held(), Status::completed);
  client_.insert(before);
  // A key's next life, past retention: nothing of the old one may shine through.
  Record next = held(before.key.text, "owner-2");
  next.fingerprint.text = "1.secret-2.another meaning";
  next.fence.number += 17;
  next.attempt = 4;
  next.recovery_point = "charged";
  next.method = "PATCH";
  next.path = "/v2/payouts/7";
  next.route = "payouts";
  next.request = StoredRequest{"/v2/payouts/7?x=1", {{"Accept", "*/*"}}, "{}"};
  next.resource_type = "payout";
  next.resource_id = "po_7";
  next.last_error = "not-sent: refused";
  next.policy.on_lease_expiry = OnLeaseExpiry::retry;
  next.created_at = now_ + Duration(5);
  next.expires_at = now_ + std::chrono::hours(3);
  const Written written = client_.replace(next, guard_of(before));
  EXPECT_TRUE(written.mine);
  EXPECT_TRUE(same(written.current, next));
  EXPECT_TRUE(same(connect().find(next), next));
  const Record first_again = held();
  EXPECT_TRUE(client_.replace(first_again, guard_of(next)).mine);
  EXPECT_TRUE(same(client_.find(next), first_again));
}

TEST_P(StoreContract, ReplaceUnderAWrongGuardChangesNothingAndShowsTheRow) {
  const Record row = held();
  client_.insert(row);
  const Record next = in_state(row, Status::completed);
  const Guard right = guard_of(row);
  Guard older_fence = right;
  older_fence.fence.number -= 1;
  Guard newer_fence = right;
  newer_fence.fence.number += 1;
  Guard other_status = right;
  other_status.status = Status::pending;
  Guard status_without_lease{right.fence, Status::failed_retryable, {}};
  Guard shorter_lease = right;
  shorter_lease.locked_until = *right.locked_until - Duration(1);
  Guard longer_lease = right;
  longer_lease.locked_until = *right.locked_until + Duration(1);
  Guard no_lease = right;
  no_lease.locked_until.reset();
  for (const Guard& wrong : {older_fence, newer_fence, other_status, status_without_lease,
                             shorter_lease, longer_lease, no_lease}) {
    const Written written = client_.replace(next, wrong);
    EXPECT_FALSE(written.mine);
    EXPECT_TRUE(same(written.current, row));
    EXPECT_TRUE(same(client_.find(row), row));
  }
  EXPECT_TRUE(client_.replace(next, right).mine);
}

TEST_P(StoreContract, ALeaseIsGuardedOnlyWhileInProgress) {
  // `unknown` has a locked_until too: a guard does not speak of it.
  const Record row = in_state(held(), Status::unknown);
  client_.insert(row);
  const Record next = in_state(row, Status::failed_retryable);
  Guard with_lease = guard_of(row);
  with_lease.locked_until = std::get<Unknown>(row.state).locked_until;
  EXPECT_FALSE(client_.replace(next, with_lease).mine);
  EXPECT_TRUE(client_.replace(next, guard_of(row)).mine);
}

TEST_P(StoreContract, ReplaceOfAMissingRowSaysSo) {
  const Record row = held();
  const Written written = client_.replace(in_state(row, Status::completed), guard_of(row));
  EXPECT_FALSE(written.mine);
  EXPECT_EQ(written.current, nullptr);
  EXPECT_FALSE(client_.find(row).has_value());
}

TEST_P(StoreContract, RepeatingAReplaceIsMineAndHarmless) {
  const Record row = held();
  client_.insert(row);
  for (const Record& next : {in_state(row, Status::completed), taken_over(row)}) {
    client_.replace(row, guard_of(*client_.find(row)));
    for (int time = 0; time < 3; ++time) {
      const Written written = client_.replace(next, guard_of(row));
      EXPECT_TRUE(written.mine) << time;
      EXPECT_TRUE(same(written.current, next));
    }
    EXPECT_TRUE(same(client_.find(row), next));
  }
}

TEST_P(StoreContract, RepeatingAReplaceThatWasOvertakenIsNotMine) {
  const Record failed = in_state(held(), Status::failed_retryable);
  client_.insert(failed);
  const Record second = taken_over(failed, "owner-2");
  EXPECT_TRUE(client_.replace(second, guard_of(failed)).mine);
  const Record third = taken_over(second, "owner-3");
  EXPECT_TRUE(client_.replace(third, guard_of(second)).mine);
  const Written again = client_.replace(second, guard_of(failed));
  EXPECT_FALSE(again.mine);
  EXPECT_TRUE(same(again.current, third));
  // The old owner's settlement carries an old fence.
  const Written late = client_.replace(in_state(second, Status::completed), guard_of(second));
  EXPECT_FALSE(late.mine);
  EXPECT_TRUE(same(late.current, third));
  EXPECT_TRUE(same(client_.find(failed), third));
}

TEST_P(StoreContract, AReplaceThatLostIsShownTheWinner) {
  const Record failed = in_state(held(), Status::failed_retryable);
  client_.insert(failed);
  const Record winner = taken_over(failed, "owner-2");
  const Record loser = taken_over(failed, "owner-3");
  EXPECT_TRUE(client_.replace(winner, guard_of(failed)).mine);
  const Written written = connect().replace(loser, guard_of(failed));
  EXPECT_FALSE(written.mine);
  EXPECT_TRUE(same(written.current, winner));
}

TEST_P(StoreContract, TwoReplacementsOfOneRowInABatchOneWins) {
  const Record failed = in_state(held(), Status::failed_retryable);
  const Record neighbour = held("contract-key-0002");
  client_.insert({failed, neighbour});
  const Record done = in_state(neighbour, Status::completed);
  const std::vector<Replacement> batch{{taken_over(failed, "owner-2"), guard_of(failed), {}},
                                       {done, guard_of(neighbour), {}},
                                       {taken_over(failed, "owner-3"), guard_of(failed), {}}};
  const std::vector<Written> written = client_.replace(batch);
  ASSERT_EQ(written.size(), 3u);
  EXPECT_NE(written[0].mine, written[2].mine);
  const Record& winner = written[0].mine ? batch[0].next : batch[2].next;
  EXPECT_TRUE(same(written[0].current, winner));
  EXPECT_TRUE(same(written[2].current, winner));
  EXPECT_TRUE(same(client_.find(failed), winner));
  EXPECT_TRUE(written[1].mine);
  EXPECT_TRUE(same(client_.find(neighbour), done));
}

TEST_P(StoreContract, RenewingALeaseMakesTheOldGuardStale) {
  const Record row = held();
  client_.insert(row);
  Record renewed = row;
  renewed.state = InProgress{now_, now_ + std::chrono::minutes(2)};
  EXPECT_TRUE(client_.replace(renewed, guard_of(row)).mine);
  const Written sweep = client_.replace(in_state(row, Status::unknown), guard_of(row));
  EXPECT_FALSE(sweep.mine);
  EXPECT_TRUE(same(sweep.current, renewed));
  EXPECT_TRUE(client_.replace(in_state(renewed, Status::completed), guard_of(renewed)).mine);
}

TEST_P(StoreContract, ABatchOfReplacementsAnswersEachInItsPlace) {
  const Record stale = held("z-contract-key");
  const Record fine = held("m-contract-key");
  const Record missing = held("a-contract-key");
  const Record also_fine = held("b-contract-key");
  client_.insert({stale, fine, also_fine});
  Guard wrong = guard_of(stale);
  wrong.fence.number += 1;
  const std::vector<Replacement> batch{
      {in_state(stale, Status::completed), wrong, {}},
      {in_state(fine, Status::completed), guard_of(fine), {}},
      {in_state(missing, Status::completed), guard_of(missing), {}},
      {in_state(also_fine, Status::unknown), guard_of(also_fine), {}}};
  const std::vector<Written> written = client_.replace(batch);
  ASSERT_EQ(written.size(), 4u);
  EXPECT_FALSE(written[0].mine);
  EXPECT_TRUE(same(written[0].current, stale));
  EXPECT_TRUE(written[1].mine);
  EXPECT_TRUE(same(written[1].current, batch[1].next));
  EXPECT_FALSE(written[2].mine);
  EXPECT_EQ(written[2].current, nullptr);
  EXPECT_TRUE(written[3].mine);
  EXPECT_TRUE(same(written[3].current, batch[3].next));
}

TEST_P(StoreContract, AuditIsWrittenOnlyWithItsChange) {
  const Record row = in_state(held(), Status::unknown);
  const Record missing = held("contract-key-0002");
  const AuditEntry entry{"ops@example.com", "resolve", "the provider's \"ledger\" says\nno"};
  const auto audited = [&](const Record& record) {
    return harness_->audit(record.scope, record.key);
  };
  if (!audited(row)) GTEST_SKIP() << "this harness cannot show audit entries";
  client_.insert(row);
  const Record next = in_state(row, Status::failed_retryable);
  Guard wrong = guard_of(row);
  wrong.fence.number -= 1;
  EXPECT_FALSE(client_.replace(next, wrong, entry).mine);
  EXPECT_TRUE(audited(row)->empty()) << "nothing was changed";
  EXPECT_FALSE(client_.replace(missing, guard_of(missing), entry).mine);
  EXPECT_TRUE(audited(missing)->empty()) << "there was nothing to change";
  for (int time = 0; time < 2; ++time) {  // the second one repeats it: an acknowledgement was lost
    EXPECT_TRUE(client_.replace(next, guard_of(row), entry).mine);
    EXPECT_EQ(audited(row), std::vector<AuditEntry>{entry}) << time;
  }
  EXPECT_TRUE(client_.replace(taken_over(next), guard_of(next)).mine);
  EXPECT_TRUE(client_.erase(taken_over(next)));
  EXPECT_EQ(audited(row), std::vector<AuditEntry>{entry}) << "it outlives the record";
}

}  // namespace
}  // namespace pawl
