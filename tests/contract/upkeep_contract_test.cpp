// The store as a whole, on both stores: one contract.
#include <gmock/gmock.h>

#include "tests/contract/sql_node.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::Pair;

using testing::Kind;
using testing::server;

class UpkeepContract : public testing::OnBothStores {
 protected:
  // `{t}` is that long before now, in the store's own way of writing a time.
  void execute(std::string sql, Duration before = 0s) {
    const std::string now = std::to_string((now_ - before).time_since_epoch().count());
    const std::string time = GetParam() == Kind::sqlite
                                 ? now
                                 : "(timestamptz 'epoch' + " + now + " * interval '1 microsecond')";
    for (std::size_t at = 0; (at = sql.find("{t}")) != std::string::npos;) sql.replace(at, 3, time);
    if (GetParam() == Kind::postgres) {
      server().query(sql, database_);
      return;
    }
    for (std::size_t at = 0; (at = sql.find("pawl.")) != std::string::npos;) sql.erase(at, 5);
    sqlite::execute(directory_.file(), sql);
  }

  void add_message(const std::string& id, const std::string& status, const std::string& key) {
    const std::string uuid = "00000000-0000-0000-0000-0000000000" + id;
    execute(
        "INSERT INTO pawl.outbox (scope_id, id, idempotency_key, destination, derived_key,"
        " status, next_attempt_at, created_at, done_at) VALUES ('caller:a', '" +
            uuid + "', '" + key + "', 'bank', 'derived-" + id + "', '" + status + "', {t}, {t}, " +
            (status == "done" ? "{t}" : "NULL") + ")",
        10h);
  }
  void add_audit(const std::string& key, Duration before) {
    AuditEntry entry{"operator", "resolve", "because"};
    Record row = testing::an_in_progress_record(key);
    row.scope.text = "caller:a";
    insert(*store_, row);
    Record next = testing::in_state(row, Status::completed, row.created_at);
    EXPECT_TRUE(sqlite::wait_for(store_->replace_one(Replacement{next, guard_of(row), entry})));
    EXPECT_TRUE(*sqlite::wait_for(store_->erase({{next.scope, next.key, guard_of(next)}})) ==
                std::vector<bool>{true});
    execute(std::string("UPDATE pawl.audit SET ") +
                (GetParam() == Kind::sqlite ? "at" : "recorded_at") +
                " = {t} WHERE idempotency_key = '" + key + "'",
            before);
  }
  void add_evidence(const std::string& key, Duration before) {
    LateEvidence late;
    late.scope.text = "caller:a";
    late.key.text = key;
    late.owner.text = "late";
    late.fingerprint.text = "1.-.00";
    EXPECT_TRUE(sqlite::wait_for(store_->keep_evidence(late)));
    execute(std::string("UPDATE pawl.evidence SET ") +
                (GetParam() == Kind::sqlite ? "kept_at" : "recorded_at") +
                " = {t} WHERE idempotency_key = '" + key + "'",
            before);
  }
  static void insert(Store& store, const Record& record) {
    const auto written = sqlite::wait_for(store.insert_or_read_one(record));
    if (!written || !written->mine) throw std::runtime_error("not inserted");
  }
  StoreOverview overview() {
    const auto found = run_here(upkeep_->overview());
    if (!found) throw std::runtime_error(upkeep_->trouble());
    return *found;
  }
  [[nodiscard]] TrailBefore all_before(Duration before) const {
    return {now_ - before, now_ - before, now_ - before};
  }

  const Instant now_ = std::chrono::floor<Duration>(std::chrono::system_clock::now());
  const std::unique_ptr<testing::SqlNode> node_ = connect();
  Upkeep* const upkeep_ = &node_->upkeep;
};

TEST_P(UpkeepContract, WhatOutlivesItsRecordGoesWhenItsOwnTimeIsOver) {
  add_message("01", "done", "gone-key-00000001");
  add_message("02", "pending", "gone-key-00000002");
  add_message("03", "unknown", "gone-key-00000003");
  add_evidence("gone-key-00000001", 10h);
  add_audit("gone-key-00000001", 10h);
  EXPECT_EQ(run_here(upkeep_->reap(all_before(11h))).value(), 0U) << "not yet";
  EXPECT_EQ(run_here(upkeep_->reap(all_before(9h))).value(), 3U);
  EXPECT_EQ(run_here(upkeep_->reap(all_before(9h))).value(), 0U);
  const StoreOverview left = overview();
  EXPECT_THAT(left.outbox, ElementsAre(Pair("pending", 1), Pair("unknown", 1)));
  EXPECT_EQ(left.evidence, 0U);
  EXPECT_EQ(left.audit, 0U);
}

TEST_P(UpkeepContract, EachHasARetentionOfItsOwn) {
  add_message("01", "done", "gone-key-00000001");
  add_evidence("gone-key-00000001", 10h);
  add_audit("gone-key-00000001", 10h);
  EXPECT_EQ(run_here(upkeep_->reap({now_ - 9h, now_ - 11h, now_ - 11h})).value(), 1U);
  EXPECT_EQ(run_here(upkeep_->reap({now_ - 11h, now_ - 9h, now_ - 11h})).value(), 1U);
  EXPECT_EQ(run_here(upkeep_->reap({now_ - 11h, now_ - 11h, now_ - 9h})).value(), 1U);
}

TEST_P(UpkeepContract, PoliciesAreToldPageByPage) {
  const PolicyPage none = run_here(upkeep_->stored_policies({}, {}, 2)).value();
  EXPECT_TRUE(none.policies.empty());
  EXPECT_TRUE(none.is_last);
  for (const char* key : {"policy-key-00001", "policy-key-00002", "policy-key-00003"}) {
    Record row = testing::an_in_progress_record(key);
    if (row.key.text == "policy-key-00003") row.policy.retention = 720h;
    insert(*store_, row);
  }
  const auto retentions = [](const PolicyPage& page) {
    std::vector<Duration> each;
    for (const std::string& text : page.policies) {
      each.push_back(decode_policy(text).value().retention);
    }
    return each;
  };
  const PolicyPage all = run_here(upkeep_->stored_policies({}, {}, 10)).value();
  EXPECT_THAT(retentions(all), ::testing::UnorderedElementsAre(48h, 720h)) << "each once";
  EXPECT_TRUE(all.is_last);
  const PolicyPage first = run_here(upkeep_->stored_policies({}, {}, 2)).value();
  EXPECT_THAT(retentions(first), ElementsAre(48h));
  EXPECT_FALSE(first.is_last);
  EXPECT_EQ(first.last_key.text, "policy-key-00002");
  const PolicyPage second =
      run_here(upkeep_->stored_policies(first.last_scope, first.last_key, 2)).value();
  EXPECT_THAT(retentions(second), ElementsAre(720h));
  EXPECT_TRUE(second.is_last);
}

TEST_P(UpkeepContract, WhatBelongsToARecordInDoubtStays) {
  Record doubted = testing::an_in_progress_record("doubted-key-0001");
  doubted.scope.text = "caller:a";
  add_audit(doubted.key.text, 10h);
  add_evidence(doubted.key.text, 10h);
  add_message("01", "done", doubted.key.text);
  insert(*store_, testing::in_state(doubted, Status::unknown, now_));
  EXPECT_EQ(run_here(upkeep_->reap(all_before(9h))).value(), 0U);
}

TEST_P(UpkeepContract, AMessageIsKeptForAsLongAsItsRecord) {
  Record row = testing::an_in_progress_record("finished-key-001");
  row.scope.text = "caller:a";
  add_message("01", "done", row.key.text);
  const Record done = testing::in_state(row, Status::completed, now_);
  insert(*store_, done);
  EXPECT_EQ(run_here(upkeep_->reap(all_before(9h))).value(), 0U);
  EXPECT_TRUE(sqlite::wait_for(store_->erase({{done.scope, done.key, guard_of(done)}})));
  EXPECT_EQ(run_here(upkeep_->reap(all_before(9h))).value(), 1U);
}

TEST_P(UpkeepContract, APageIsBounded) {
  for (int i = 0; i < 3; ++i) {
    std::string many;
    for (int j = 0; j < 250; ++j) {
      const std::string key = "many-" + std::to_string(i) + "-" + std::to_string(j);
      many += (many.empty() ? "" : ", ") + std::string("('caller:a', 'x', 'derived-") + key +
              "', 'bank', 'done', {t}, {t}, {t}, '" +
              (GetParam() == Kind::sqlite
                   ? key
                   : "00000000-0000-0000-0000-00000000" + std::to_string(1000 + i * 250 + j)) +
              "')";
    }
    execute(
        "INSERT INTO pawl.outbox (scope_id, idempotency_key, derived_key, destination, status,"
        " next_attempt_at, created_at, done_at, id) VALUES " +
            many,
        10h);
  }
  EXPECT_EQ(run_here(upkeep_->reap(all_before(9h))).value(), 500U);
  EXPECT_EQ(run_here(upkeep_->reap(all_before(9h))).value(), 250U);
  EXPECT_EQ(run_here(upkeep_->reap(all_before(9h))).value(), 0U);
}

TEST_P(UpkeepContract, AFactIsDeclaredWithItsAuditEntryAndANewPurgeEpoch) {
  EXPECT_EQ(run_here(upkeep_->fact("restored")).value(), std::nullopt);
  const std::int64_t before = overview().purge_epoch;
  const AuditEntry audit{"operator ann", "store-restored", "disk lost"};
  ASSERT_TRUE(run_here(upkeep_->declare("restored", "one", audit)));
  EXPECT_EQ(run_here(upkeep_->fact("restored")).value(), "one");
  const StoreOverview then = overview();
  EXPECT_GT(then.purge_epoch, before);
  EXPECT_EQ(then.audit, 1U);
  ASSERT_TRUE(run_here(upkeep_->declare("restored", "two", audit)));
  EXPECT_EQ(run_here(upkeep_->fact("restored")).value(), "two");
  EXPECT_GT(overview().purge_epoch, then.purge_epoch);
  EXPECT_GT(then.purge_epoch, now_.time_since_epoch().count() - Duration(1h).count())
      << "of the clock: higher than any that a store has used before it was put back";
}

TEST_P(UpkeepContract, GoesThroughAllKeysPageByPage) {
  for (const Status status : {Status::pending, Status::in_progress, Status::completed,
                              Status::failed_retryable, Status::unknown, Status::expired}) {
    for (int i = 0; i < 3; ++i) {
      const std::string key = "key-of-" + std::string(to_text(status)) + std::to_string(i);
      insert(*store_, testing::in_state(testing::an_in_progress_record(key), status, now_));
    }
  }
  std::vector<std::string> found;
  KeyPage page;
  int pages = 0;
  while (!page.is_last && pages < 100) {
    page = run_here(upkeep_->unsettled(page.last_scope, page.last_key, 4)).value();
    for (const auto& [scope, key] : page.keys) found.push_back(key.text);
    ++pages;
  }
  EXPECT_EQ(pages, 5);
  EXPECT_THAT(found, ElementsAre("key-of-failed_retryable0", "key-of-failed_retryable1",
                                 "key-of-failed_retryable2", "key-of-in_progress0",
                                 "key-of-in_progress1", "key-of-in_progress2", "key-of-pending0",
                                 "key-of-pending1", "key-of-pending2", "key-of-unknown0",
                                 "key-of-unknown1", "key-of-unknown2"));
}

TEST_P(UpkeepContract, MessagesOfABackupMayHaveBeenSent) {
  add_message("01", "pending", "key-of-a-message");
  add_message("02", "done", "key-of-a-message");
  EXPECT_EQ(run_here(upkeep_->doubt_messages()).value(), 1U);
  EXPECT_EQ(run_here(upkeep_->doubt_messages()).value(), 0U);
}

TEST_P(UpkeepContract, AFactIsReplacedOnlyWhereItIsWhatWasExpected) {
  EXPECT_FALSE(run_here(upkeep_->replace_fact("a-fact", "one", "two")).value());
  EXPECT_TRUE(run_here(upkeep_->replace_fact("a-fact", std::nullopt, "one")).value());
  EXPECT_FALSE(run_here(upkeep_->replace_fact("a-fact", std::nullopt, "two")).value());
  EXPECT_FALSE(run_here(upkeep_->replace_fact("a-fact", "two", "three")).value());
  EXPECT_TRUE(run_here(upkeep_->replace_fact("a-fact", "one", "two")).value());
  EXPECT_EQ(run_here(upkeep_->fact("a-fact")).value(), "two");
}

TEST_P(UpkeepContract, KeysAreCountedUpToALimitAndShownWithTheirTargets) {
  for (int i = 0; i < 5; ++i) {
    Record row = testing::an_in_progress_record("counted-key-000" + std::to_string(i));
    row.path = "/path/" + std::to_string(i);
    insert(*store_, row);
  }
  const auto exact = run_here(upkeep_->count_keys(5)).value();
  EXPECT_EQ(exact.number, 5);
  EXPECT_TRUE(exact.exact);
  const auto guessed = run_here(upkeep_->count_keys(3)).value();
  EXPECT_GE(guessed.number, 4);
  EXPECT_FALSE(guessed.exact);
  std::vector<std::string> paths;
  Scope scope;
  Key key;
  for (std::size_t found = 2; found == 2;) {
    const auto page = run_here(upkeep_->targets_after(scope, key, 2)).value();
    found = page.size();
    for (const Upkeep::KeyTarget& target : page) {
      paths.push_back(target.path);
      EXPECT_EQ(target.method, "POST");
      scope = target.scope;
      key = target.key;
    }
  }
  EXPECT_THAT(paths, ElementsAre("/path/0", "/path/1", "/path/2", "/path/3", "/path/4"));
}

INSTANTIATE_TEST_SUITE_P(All, UpkeepContract, ::testing::Values(Kind::sqlite, Kind::postgres),
                         testing::kind_name);

}  // namespace
}  // namespace pawl
