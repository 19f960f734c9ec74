// The background passes: exactly the rows that are due, in bounded pages.
#include <algorithm>
#include <chrono>
#include <map>

#include "testing/run.hpp"
#include "tests/contract/store_contract.hpp"

namespace pawl {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr Duration tick{1};

Record leased_until(Record record, Instant end) {
  record.state = InProgress{end - seconds(30), end};
  return record;
}

Record doubted_until(Record record, Instant reconcile_after) {
  record.state = Unknown{reconcile_after, reconcile_after - seconds(30)};
  return record;
}

// As the core leaves it, `age` ago; its time is over at `expires_at`.
Record kept_until(Record record, Instant expires_at, Duration age = hours(50)) {
  record.created_at = expires_at - age;
  if (auto* done = std::get_if<Completed>(&record.state)) done->completed_at = record.created_at;
  record.expires_at = expires_at;
  return record;
}

// Accepted an hour ago; refused since, and not to be tried before then.
Record queued_until(Record record, Instant created_at, Instant not_before) {
  record.created_at = created_at;
  record.state = Pending{not_before};
  record.policy.mode = Mode::async;
  record.request = StoredRequest{.target = "/payouts", .headers = {}, .body = "{}"};
  return record;
}

Record given_up(Record record) {
  record.state = FailedRetryable{};
  record.policy.mode = Mode::async;
  record.request = StoredRequest{.target = "/payouts", .headers = {}, .body = "{}"};
  return record;
}

bool is_past_retention(const Record& record, Instant now) {
  const Status status = status_of(record);
  return status != Status::in_progress && status != Status::unknown && record.expires_at <= now;
}

// A store may look at its rows page by page, so one call need not show all that is due. It must
// show nothing else, and everything after some calls.
std::map<std::string, Record> seen_past_retention(Client& client, Instant now, std::size_t wanted) {
  std::map<std::string, Record> seen;
  for (int call = 0; call < 50 && (call < 5 || seen.size() < wanted); ++call) {
    for (const Record& row : client.past_retention(now)) {
      EXPECT_TRUE(is_past_retention(row, now)) << row.key.text;
      seen.insert_or_assign(row.key.text, row);
    }
  }
  return seen;
}

TEST_P(StoreContract, LapsedFindsExactlyTheLeasesThatAreOverOldestFirst) {
  const Record oldest = leased_until(held("m-contract-key"), now_ - hours(3));
  const Record older = leased_until(held("a-contract-key"), now_ - tick);
  const Record due = leased_until(held("z-contract-key"), now_);
  const Record alive = leased_until(held("b-contract-key"), now_ + tick);
  std::vector<Record> rows{due, alive, oldest, older};
  for (const Status status : every_status) {  // other states have no lease, however old they are
    if (status == Status::in_progress) continue;
    Record other =
        testing::in_state(held("other-" + std::string(to_text(status))), status, now_ - hours(1));
    rows.push_back(other);
  }
  client_.insert(rows);
  EXPECT_TRUE(same(client_.lapsed(now_), {oldest, older, due}));
  EXPECT_TRUE(same(connect().lapsed(now_, 2), {oldest, older}));
  EXPECT_TRUE(same(client_.lapsed(now_ - tick), {oldest, older}));
  EXPECT_TRUE(same(client_.lapsed(now_ - hours(4)), {}));
}

TEST_P(StoreContract, ALapsedRowIsGoneFromThePassOnceAnybodyMovedIt) {
  const Instant end = now_ - seconds(5);
  std::vector<Record> rows;
  for (const char* name : {"swept", "settled", "released", "requeued", "taken-over", "erased"}) {
    rows.push_back(leased_until(held(std::string("contract-key-") + name), end));
  }
  client_.insert(rows);
  EXPECT_EQ(client_.lapsed(now_).size(), rows.size());
  EXPECT_TRUE(client_.replace(in_state(rows[0], Status::unknown), guard_of(rows[0])).mine);
  EXPECT_TRUE(client_.replace(in_state(rows[1], Status::completed), guard_of(rows[1])).mine);
  EXPECT_TRUE(client_.replace(in_state(rows[2], Status::failed_retryable), guard_of(rows[2])).mine);
  EXPECT_TRUE(client_.replace(in_state(rows[3], Status::pending), guard_of(rows[3])).mine);
  EXPECT_TRUE(client_.replace(taken_over(rows[4]), guard_of(rows[4])).mine);
  EXPECT_TRUE(client_.erase(rows[5]));
  EXPECT_TRUE(same(client_.lapsed(now_), {}));
  // Its next owner's lease ends too.
  const Record again = taken_over(rows[4]);
  EXPECT_TRUE(same(client_.lapsed(now_ + again.policy.lease), {again}));
}

TEST_P(StoreContract, ARenewedLeaseLapsesAtItsNewEnd) {
  const Record row = leased_until(held(), now_);
  client_.insert(row);
  const Instant end = now_ + seconds(30);
  const Record renewed = leased_until(row, end);
  EXPECT_TRUE(client_.replace(renewed, guard_of(row)).mine);
  EXPECT_TRUE(same(client_.lapsed(now_), {}));
  EXPECT_TRUE(same(client_.lapsed(end - tick), {}));
  EXPECT_TRUE(same(client_.lapsed(end), {renewed}));
}

TEST_P(StoreContract, AStaleWriteMovesNoLease) {
  const Record row = leased_until(held(), now_);
  client_.insert(row);
  const Record other = leased_until(held(row.key.text, "owner-2"), now_ + hours(1));
  EXPECT_FALSE(client_.insert(other).mine);
  Guard wrong = guard_of(row);
  wrong.fence.number -= 1;
  EXPECT_FALSE(client_.replace(in_state(row, Status::completed), wrong).mine);
  EXPECT_FALSE(client_.erase(row, wrong));
  EXPECT_TRUE(same(client_.lapsed(now_), {row}));
  EXPECT_TRUE(same(client_.lapsed(now_ + hours(2)), {row}));
}

TEST_P(StoreContract, AKeysNextLifeHasALeaseOfItsOwn) {
  const Record first = leased_until(held(), now_ - seconds(1));
  client_.insert(first);
  EXPECT_TRUE(client_.erase(first));
  Record second = leased_until(held(first.key.text, "owner-2"), now_ + seconds(30));
  second.fence.number += 1;
  EXPECT_TRUE(client_.insert(second).mine);
  EXPECT_TRUE(same(client_.lapsed(now_), {}));
  EXPECT_TRUE(same(client_.lapsed(now_ + seconds(30)), {second}));
}

TEST_P(StoreContract, UndeterminedFindsExactlyWhatIsToBeReconciledOldestFirst) {
  const Record oldest = doubted_until(held("m-contract-key"), now_ - hours(3));
  const Record older = doubted_until(held("a-contract-key"), now_ - tick);
  const Record due = doubted_until(held("z-contract-key"), now_);
  const Record later = doubted_until(held("b-contract-key"), now_ + tick);
  std::vector<Record> rows{due, later, oldest, older};
  for (const Status status : every_status) {
    if (status == Status::unknown) continue;
    rows.push_back(
        testing::in_state(held("other-" + std::string(to_text(status))), status, now_ - hours(1)));
  }
  client_.insert(rows);
  EXPECT_TRUE(same(client_.undetermined(now_), {oldest, older, due}));
  EXPECT_TRUE(same(client_.undetermined(now_, 1), {oldest}));
  EXPECT_TRUE(same(client_.undetermined(now_ - tick), {oldest, older}));
  // Put off, resolved, erased; and one more, by way of a sweep.
  const Record put_off = doubted_until(oldest, now_ + seconds(1));
  EXPECT_TRUE(client_.replace(put_off, guard_of(oldest)).mine);
  EXPECT_TRUE(client_.replace(in_state(older, Status::completed), guard_of(older)).mine);
  EXPECT_TRUE(client_.erase(due));
  EXPECT_TRUE(same(client_.undetermined(now_), {}));
  EXPECT_TRUE(same(client_.undetermined(now_ + seconds(1)), {later, put_off}));
  const Record held_row = leased_until(held("s-contract-key"), now_);
  client_.insert(held_row);
  const Record swept_row = doubted_until(held_row, now_);
  EXPECT_TRUE(client_.replace(swept_row, guard_of(held_row)).mine);
  EXPECT_TRUE(same(client_.undetermined(now_), {swept_row}));
}

TEST_P(StoreContract, PendingLeavesAloneWhatIsNotToBeTriedYet) {
  const Record fresh = queued_until(held("m-contract-key"), now_ - hours(2), Instant{});
  const Record later = queued_until(held("a-contract-key"), now_ - hours(3), now_ + tick);
  const Record due = queued_until(held("z-contract-key"), now_ - hours(4), now_);
  client_.insert({later, due, fresh});
  EXPECT_TRUE(same(client_.pending(now_), {fresh, due}));
  EXPECT_TRUE(same(connect().pending(now_, 1), {fresh}));
  EXPECT_TRUE(same(client_.pending(now_ - tick), {fresh}));
  EXPECT_TRUE(same(client_.pending(now_ + tick), {fresh, due, later}));
  EXPECT_TRUE(same(client_.find(later), later));
  // Claimed, refused, and put off once more.
  Record claimed = due;
  claimed.state = InProgress{now_, now_ + seconds(30)};
  claimed.owner.text = "owner-2";
  claimed.fence.number += 1;
  EXPECT_TRUE(client_.replace(claimed, guard_of(due)).mine);
  EXPECT_TRUE(same(client_.pending(now_), {fresh}));
  Record refused = claimed;
  refused.state = Pending{now_ + hours(1)};
  refused.attempt += 1;
  EXPECT_TRUE(client_.replace(refused, guard_of(claimed)).mine);
  EXPECT_TRUE(same(client_.pending(now_ + tick), {fresh, later}));
  EXPECT_TRUE(same(client_.pending(now_ + hours(1)), {fresh, later, refused}));
}

TEST_P(StoreContract, ADeadLetterIsNeverPastItsRetentionAndHidesNothingThatIs) {
  std::vector<Record> rows;
  for (int i = 0; i < 10; ++i) {
    const Record row = held("dead-contract-key-" + std::to_string(i));
    rows.push_back(kept_until(given_up(row), now_ - hours(24) - seconds(i)));
  }
  const Record over =
      kept_until(in_state(held("contract-key-over"), Status::failed_retryable), now_);
  rows.push_back(over);
  client_.insert(rows);
  for (int call = 0; call < 5; ++call) {
    for (const Record& row : client_.past_retention(now_, 4)) {
      EXPECT_TRUE(same(row, over)) << "and never a dead letter";
    }
  }
  const std::map<std::string, Record> seen = seen_past_retention(client_, now_, 1);
  EXPECT_EQ(seen.size(), 1u);
  // Given up by an operator it has an answer, and is over like any other.
  Record discarded = in_state(rows.front(), Status::completed);
  discarded.expires_at = now_ - tick;
  std::get<Completed>(discarded.state).completed_at = now_ - seconds(1);
  EXPECT_TRUE(client_.replace(discarded, guard_of(rows.front())).mine);
  EXPECT_TRUE(seen_past_retention(client_, now_, 2).contains(discarded.key.text));
}

TEST_P(StoreContract, ActiveKeysOfAScopeAreThoseOfWhichSomethingMayStillBecome) {
  std::vector<Record> rows;
  for (const Status status : every_status) {
    for (const char* scope : {"caller:one", "caller:two", "caller:on"}) {
      Record row = in_state(held("key-" + std::string(to_text(status))), status);
      row.scope.text = scope;
      rows.push_back(row);
    }
  }
  client_.insert(rows);
  EXPECT_EQ(client_.count_active(Scope{"caller:one"}), 3u);
  EXPECT_EQ(client_.count_active(Scope{"caller:one"}, 2), 2u) << "so many at most";
  EXPECT_EQ(client_.count_active(Scope{"caller:none"}), 0u);
  const Record running = rows.at(3);  // the first of in_progress
  ASSERT_EQ(status_of(running), Status::in_progress);
  EXPECT_TRUE(client_.replace(in_state(running, Status::completed), guard_of(running)).mine);
  EXPECT_EQ(connect().count_active(Scope{"caller:one"}), 2u);
  EXPECT_EQ(client_.count_active(Scope{"caller:two"}), 3u);
}

TEST_P(StoreContract, PastRetentionFindsExactlyWhatIsOver) {
  std::map<std::string, Record> wanted;
  std::vector<Record> rows;
  for (const Status status : every_status) {
    const bool never = status == Status::in_progress || status == Status::unknown;
    const std::string name(to_text(status));
    const std::vector<std::pair<std::string, Record>> cases{
        {"long-over-", kept_until(in_state(held(), status), now_ - hours(24 * 400))},
        {"just-over-", kept_until(in_state(held(), status), now_ - tick)},
        {"short-lived-", kept_until(in_state(held(), status), now_, seconds(1))},
        {"at-its-end-", kept_until(in_state(held(), status), now_)},
        {"kept-", kept_until(in_state(held(), status), now_ + tick)}};
    for (const auto& [what, record] : cases) {
      rows.push_back(record);
      rows.back().key.text = what + name;
      if (!never && record.expires_at <= now_) wanted.emplace(rows.back().key.text, rows.back());
    }
  }
  client_.insert(rows);
  ASSERT_EQ(wanted.size(), 16u);
  const std::map<std::string, Record> seen = seen_past_retention(client_, now_, wanted.size());
  EXPECT_EQ(seen.size(), wanted.size());
  for (const auto& [key, record] : wanted) {
    ASSERT_TRUE(seen.contains(key)) << key;
    EXPECT_TRUE(same(seen.at(key), record));
  }
}

TEST_P(StoreContract, ReapingInBoundedPagesComesToAnEnd) {
  std::vector<Record> rows;
  for (int i = 0; i < 25; ++i) {
    const std::string key = "contract-key-" + std::to_string(i);
    rows.push_back(kept_until(in_state(held(key), Status::completed), now_ - seconds(i % 7)));
  }
  const Record kept =
      kept_until(in_state(held("kept-contract-key"), Status::completed), now_ + tick);
  rows.push_back(kept);
  client_.insert(rows);
  std::size_t erased = 0;
  for (int call = 0; call < 200 && erased < 25; ++call) {
    const std::vector<Record> page = client_.past_retention(now_, 4);
    EXPECT_LE(page.size(), 4u);
    for (const Record& row : page) {
      EXPECT_TRUE(is_past_retention(row, now_)) << row.key.text;
      erased += client_.erase(row) ? 1u : 0u;
    }
  }
  EXPECT_EQ(erased, 25u);
  EXPECT_TRUE(seen_past_retention(client_, now_, 0).empty());
  EXPECT_TRUE(same(client_.find(kept), kept));
}

TEST_P(StoreContract, ARowIsGoneFromPastRetentionOnceAnybodyMovedIt) {
  const Record used_again =
      kept_until(in_state(held("contract-key-used"), Status::failed_retryable), now_);
  const Record buried = kept_until(in_state(held("contract-key-buried"), Status::completed), now_);
  const Record abandoned =
      kept_until(in_state(held("contract-key-abandoned"), Status::pending), now_);
  client_.insert({used_again, buried, abandoned});
  EXPECT_EQ(seen_past_retention(client_, now_, 3).size(), 3u);
  EXPECT_TRUE(client_.replace(taken_over(used_again), guard_of(used_again)).mine);
  EXPECT_TRUE(client_.replace(in_state(buried, Status::expired), guard_of(buried)).mine);
  EXPECT_TRUE(client_.replace(in_state(abandoned, Status::completed), guard_of(abandoned)).mine);
  EXPECT_TRUE(seen_past_retention(client_, now_, 0).empty());
  EXPECT_FALSE(client_.erase(used_again)) << "a reaper that was slow finds it in use";
  // And back: settled under the expiry it had, it is due at once.
  const Record released =
      kept_until(in_state(taken_over(used_again), Status::failed_retryable), now_);
  EXPECT_TRUE(client_.replace(released, guard_of(taken_over(used_again))).mine);
  const std::map<std::string, Record> seen = seen_past_retention(client_, now_, 1);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_TRUE(same(seen.begin()->second, released));
}

// More than a page of them, and all of them older than what can be read.
TEST_P(StoreContract, RowsThatCannotBeReadKeepNoPassFromThoseThatCan) {
  constexpr int count = 600;
  std::vector<Record> spoilt;
  for (int i = 0; i < count; ++i) {
    const std::string name = "spoilt-" + std::to_string(i) + "-";
    spoilt.push_back(leased_until(held(name + "leased"), now_ - hours(2)));
    spoilt.push_back(doubted_until(held(name + "doubted"), now_ - hours(2)));
    Record queued = testing::in_state(held(name + "queued"), Status::pending, now_);
    queued.created_at = now_ - hours(2);
    spoilt.push_back(queued);
    spoilt.push_back(kept_until(in_state(held(name + "kept"), Status::completed), now_ - hours(2)));
  }
  client_.insert(spoilt);
  if (!harness_->spoil_records()) GTEST_SKIP() << "no way to spoil a record here";
  const Record leased = leased_until(held("leased-contract-key"), now_ - hours(1));
  const Record doubted = doubted_until(held("doubted-contract-key"), now_ - hours(1));
  Record queued = testing::in_state(held("queued-contract-key"), Status::pending, now_);
  queued.created_at = now_ - hours(1);
  const Record kept =
      kept_until(in_state(held("kept-contract-key"), Status::completed), now_ - hours(1));
  client_.insert({leased, doubted, queued, kept});

  EXPECT_TRUE(same(client_.lapsed(now_), {leased}));
  EXPECT_TRUE(same(client_.undetermined(now_), {doubted}));
  const PassQuery query{.now = now_, .rows_max = 500};
  EXPECT_TRUE(same(good(testing::run(client_.store().pending(query))), {queued}));
  EXPECT_TRUE(same(client_.past_retention(now_), {kept}));
  EXPECT_GE(client_.store().unreadable_rows(), static_cast<std::size_t>(4 * count));
}

// Flows that are half done are gone on with, however old they are, and nothing behind them waits
// for that.
TEST_P(StoreContract, WhatIsNeverReapedKeepsTheReaperFromNothing) {
  std::vector<Record> rows;
  for (int i = 0; i < 600; ++i) {
    Record half = in_state(held("half-done-key-" + std::to_string(i)), Status::failed_retryable);
    half.policy.on_lease_expiry = OnLeaseExpiry::resume;
    half.recovery_point = "charged";
    half.request = StoredRequest{"/payments", {}, "{}"};
    rows.push_back(kept_until(half, now_ - hours(2)));
  }
  client_.insert(rows);
  const Record over =
      kept_until(in_state(held("over-contract-key"), Status::completed), now_ - hours(1));
  client_.insert(over);
  EXPECT_TRUE(seen_past_retention(client_, now_, 1).contains(over.key.text));
}

}  // namespace
}  // namespace pawl
