// The outbox, on every store: one contract.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include "tests/contract/any_node.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using testing::Kind;
using testing::server;
using testing::SqlNode;

// "00000000-0000-4000-8000-000000000007"
std::string id_of(int number) {
  const std::string digits = std::to_string(number);
  return "00000000-0000-4000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

class OutboxContract : public testing::OnEveryStore {
 protected:
  // As it came from a service: `sql` for the columns that differ between the stores.
  void run(const std::string& sqlite_sql, const std::string& postgres_sql) {
    if (GetParam() == Kind::postgres) {
      server().query(postgres_sql, database_);
      return;
    }
    auto connection = sqlite::Connection::open(directory_.file(), sqlite::WhenMissing::fail, {});
    ASSERT_TRUE(connection);
    ASSERT_EQ(connection->run(sqlite_sql.c_str()), SQLITE_OK) << connection->last_error().text;
  }

  void enqueue(int number, const std::string& destination = "provider",
               const std::string& scope = "caller:a") {
    if (GetParam() == Kind::memory) return memory_outbox_->enqueue(row(number, destination, scope));
    const std::string start = "('" + scope + "', '" + id_of(number) + "', 'key-" +
                              std::to_string(number) + "', '" + destination + "', 'derived-" +
                              std::to_string(number) + "', '/charges', '[[\"X-A\",\"b\"]]', ";
    const std::string columns =
        " (scope_id, id, idempotency_key, destination, derived_key, path, headers, body,"
        " next_attempt_at, created_at) VALUES ";
    run("INSERT INTO outbox" + columns + start + "x'7b007d', " + std::to_string(number) + ", " +
            std::to_string(number) + ")",
        "INSERT INTO pawl.outbox" + columns + start +
            "'\\x7b007d', timestamptz 'epoch' + interval '1 microsecond' * " +
            std::to_string(number) + ", timestamptz 'epoch' + interval '1 microsecond' * " +
            std::to_string(number) + ")");
  }

  // The same as a row.
  static OutboxRow row(int number, const std::string& destination, const std::string& scope) {
    OutboxRow made;
    made.scope = Scope{scope};
    made.id = id_of(number);
    made.key = Key{"key-" + std::to_string(number)};
    made.destination = destination;
    made.derived_key = "derived-" + std::to_string(number);
    made.path = "/charges";
    made.headers = {{"X-A", "b"}};
    made.body = std::string("{\0}", 3);
    made.next_attempt_at = Instant(std::chrono::microseconds(number));
    made.created_at = made.next_attempt_at;
    return made;
  }

  static OutboxClaim claim_of(const std::string& owner, std::size_t rows = 10,
                              Duration lease = 1h) {
    return {"provider", owner, lease, rows, false};
  }

  static std::vector<OutboxRow> claimed(OutboxStore& store, const OutboxClaim& claim) {
    const auto result = run_here(store.claim(claim));
    EXPECT_TRUE(result) << store.trouble();
    return result ? result->rows : std::vector<OutboxRow>{};
  }

  static bool write(OutboxStore& store, const OutboxRow& next, bool needs_lease = false) {
    const OutboxWrite one{next, needs_lease};
    const auto mine = run_here(store.write(one));
    EXPECT_TRUE(mine) << store.trouble();
    return mine && *mine;
  }

  // From one loop: those that come while the first one commits share the next commit.
  static Task<void> write_into(OutboxStore& store, OutboxWrite write, std::optional<bool>& mine) {
    const StoreResult<bool> result = co_await store.write(std::move(write));
    EXPECT_TRUE(result) << store.trouble();
    mine = result && *result;
  }
  // `all_have_come` is called once every write waits for its answer.
  static std::vector<bool> write_together(
      OutboxStore& store, const std::vector<OutboxWrite>& writes,
      const std::function<void()>& all_have_come = [] {}) {
    boost::asio::io_context context(1);
    std::vector<std::optional<bool>> mine(writes.size());
    for (std::size_t i = 0; i < writes.size(); ++i) {
      boost::asio::co_spawn(context, write_into(store, writes[i], mine[i]),
                            [](std::exception_ptr failure) { EXPECT_FALSE(failure); });
    }
    context.poll();
    all_have_come();
    context.run();
    std::vector<bool> all;
    for (const std::optional<bool>& one : mine) all.push_back(one.value());
    return all;
  }

  static OutboxRow found(OutboxStore& store, int number) {
    const auto row = run_here(store.find(id_of(number)));
    EXPECT_TRUE(row && *row);
    return row && *row ? **row : OutboxRow{};
  }

  static std::vector<std::string> ids(const std::vector<OutboxRow>& rows) {
    std::vector<std::string> all;
    for (const OutboxRow& row : rows) all.push_back(row.id);
    return all;
  }

  std::string memory_audit() {
    std::string all;
    for (const memory::MemoryOutboxStore::Audit& each : memory_outbox_->audit()) {
      const auto row = run_here(memory_outbox_->find(each.id)).value();
      all += (all.empty() ? "" : ";") + std::string(to_text(each.action)) + "|" +
             std::string(to_text(each.after)) + "|" + each.author.actor + "|" + each.author.reason +
             "|" + row.value().key.text + "|" + each.id;
    }
    return all;
  }

  std::string audit_count() {
    if (GetParam() == Kind::memory) return memory_audit();
    if (GetParam() == Kind::postgres) {
      return server().query(
          "SELECT string_agg(concat_ws('|', action, status, actor, reason,"
          " idempotency_key, outbox_id), ';') FROM pawl.audit",
          database_);
    }
    auto connection = sqlite::Connection::open(directory_.file(), sqlite::WhenMissing::fail, {});
    return connection
        ->text(
            "SELECT coalesce(group_concat(action || '|' || status_after || '|' || actor || '|' "
            "|| reason || '|' || idempotency_key || '|' || outbox_id, ';'), '') FROM audit")
        .value_or("?");
  }
};

// What only a store with SQL has.
class SqlOutboxContract : public OutboxContract {
 protected:
  std::unique_ptr<SqlNode> connect() { return OnBothStores::connect(); }
};

TEST_P(OutboxContract, AClaimBringsTheRowAsItWasPromised) {
  enqueue(7);
  const auto node = connect();
  OutboxStore* const store = &node->outbox;
  const auto result = run_here(store->claim(claim_of("worker-1")));
  ASSERT_TRUE(result) << store->trouble();
  ASSERT_EQ(result->rows.size(), 1U);
  const OutboxRow& row = result->rows.front();
  EXPECT_EQ(row.scope.text, "caller:a");
  EXPECT_EQ(row.id, id_of(7));
  EXPECT_EQ(row.key.text, "key-7");
  EXPECT_EQ(row.destination, "provider");
  EXPECT_EQ(row.derived_key, "derived-7");
  EXPECT_EQ(row.method, "POST");
  EXPECT_EQ(row.path, "/charges");
  EXPECT_EQ(row.headers, (Headers{{"X-A", "b"}}));
  EXPECT_EQ(row.body, std::string("{\0}", 3));
  EXPECT_EQ(row.status, OutboxStatus::pending);
  EXPECT_EQ(row.attempt, 0);
  EXPECT_EQ(row.owner, "worker-1");
  EXPECT_EQ(row.locked_until, result->now + 1h);
  EXPECT_EQ(row.first_sent_at, std::nullopt);
  EXPECT_EQ(row.created_at, Instant(7us));
  EXPECT_TRUE(row.readable);
}

TEST_P(OutboxContract, AClaimTakesTheOldestOfItsDestinationUpToItsLimit) {
  for (int i = 5; i > 0; --i) enqueue(i);
  enqueue(6, "another");
  const auto node = connect();
  OutboxStore* const store = &node->outbox;
  EXPECT_THAT(ids(claimed(*store, claim_of("a", 2))), ElementsAre(id_of(1), id_of(2)));
  EXPECT_THAT(ids(claimed(*store, claim_of("b", 10))), ElementsAre(id_of(3), id_of(4), id_of(5)));
  EXPECT_THAT(claimed(*store, claim_of("c", 10)), IsEmpty());
}

TEST_P(OutboxContract, WhatIsNotDueIsNotClaimed) {
  enqueue(1);
  const auto node = connect();
  OutboxStore* const store = &node->outbox;
  OutboxRow row = claimed(*store, claim_of("a")).front();
  row.locked_until.reset();
  row.next_attempt_at = run_here(store->count())->now + 1h;
  ASSERT_TRUE(write(*store, row));
  EXPECT_THAT(claimed(*store, claim_of("b")), IsEmpty());
  for (const OutboxStatus status :
       {OutboxStatus::done, OutboxStatus::dead, OutboxStatus::unknown}) {
    row.next_attempt_at = Instant(0us);
    row.status = status;
    ASSERT_TRUE(write(*store, row));
    EXPECT_THAT(claimed(*store, claim_of("c")), IsEmpty()) << to_text(status);
  }
  row.status = OutboxStatus::sending;
  ASSERT_TRUE(write(*store, row));
  EXPECT_THAT(ids(claimed(*store, claim_of("d"))), ElementsAre(id_of(1)));
}

TEST_P(OutboxContract, EveryColumnThatAWorkerWritesComesBack) {
  enqueue(1);
  const auto node = connect();
  OutboxStore* const store = &node->outbox;
  OutboxRow row = claimed(*store, claim_of("a")).front();
  row.status = OutboxStatus::done;
  row.attempt = 3;
  row.locked_until.reset();
  row.next_attempt_at = Instant(11us);
  row.first_sent_at = Instant(12us);
  row.provider_id = "ch_\"7\"";
  row.response_code = 201;
  row.last_error = "it's \"late\"";
  row.done_at = Instant(13us);
  row.asked = 4;
  row.absent = 2;
  row.doubted_at = Instant(14us);
  ASSERT_TRUE(write(*store, row));
  EXPECT_EQ(found(*store, 1), row);
}

TEST_P(OutboxContract, WhatIsInDoubtIsClaimedOnlyByWhoeverAsksAboutIt) {
  enqueue(1);
  enqueue(2);
  const auto node = connect();
  OutboxStore* const store = &node->outbox;
  std::vector<OutboxRow> rows = claimed(*store, claim_of("a"));
  ASSERT_EQ(rows.size(), 2U);
  for (OutboxRow& row : rows) {
    row.status = OutboxStatus::unknown;
    row.locked_until.reset();
    row.next_attempt_at = Instant(0us);
  }
  rows[1].discarded_at = Instant(5us);
  for (const OutboxRow& row : rows) ASSERT_TRUE(write(*store, row));
  OutboxClaim asking = claim_of("b");
  asking.in_doubt = true;
  EXPECT_THAT(claimed(*store, claim_of("c")), IsEmpty());
  EXPECT_THAT(ids(claimed(*store, asking)), ElementsAre(rows[0].id)) << "nobody wants the other";
  asking.owner = "d";
  EXPECT_THAT(claimed(*store, asking), IsEmpty()) << "somebody is at it";
  EXPECT_FALSE(write(*store, rows[0])) << "whoever had it before changes nothing";
}

TEST_P(OutboxContract, AnOwnerThatLostItsRowChangesNothing) {
  enqueue(1);
  const auto node = connect();
  OutboxStore* const store = &node->outbox;
  OutboxRow old = claimed(*store, claim_of("old", 10, 0s)).front();
  const OutboxRow taken = claimed(*store, claim_of("new")).front();
  EXPECT_EQ(taken.owner, "new");
  old.status = OutboxStatus::done;
  EXPECT_FALSE(write(*store, old));
  EXPECT_FALSE(write(*store, old, true));
  EXPECT_EQ(found(*store, 1), taken);
}

TEST_P(OutboxContract, ARowIsOneOfItsScope) {
  enqueue(1);
  const auto node = connect();
  OutboxStore* const store = &node->outbox;
  const OutboxRow taken = claimed(*store, claim_of("a")).front();
  OutboxRow other = taken;
  other.scope = Scope{"caller:b"};
  other.status = OutboxStatus::done;
  EXPECT_FALSE(write(*store, other));
  EXPECT_EQ(found(*store, 1), taken);
}

TEST_P(OutboxContract, AWriteThatNeedsALeaseFailsOnceThatHasEnded) {
  enqueue(1);
  const auto node = connect();
  OutboxStore* const store = &node->outbox;
  OutboxRow row = claimed(*store, claim_of("a", 10, 0s)).front();
  row.status = OutboxStatus::sending;
  EXPECT_FALSE(write(*store, row, true));
  EXPECT_EQ(found(*store, 1).status, OutboxStatus::pending);
  EXPECT_TRUE(write(*store, row, false));
}

TEST_P(OutboxContract, RepeatingAWriteIsHarmless) {
  enqueue(1);
  const auto node = connect();
  OutboxStore* const store = &node->outbox;
  OutboxRow row = claimed(*store, claim_of("a")).front();
  row.status = OutboxStatus::done;
  row.locked_until.reset();
  EXPECT_TRUE(write(*store, row));
  EXPECT_TRUE(write(*store, row));
  EXPECT_EQ(found(*store, 1), row);
}

TEST_P(OutboxContract, ABatchTellsOfEachRowByItself) {
  for (int i = 1; i <= 3; ++i) enqueue(i, "provider", i == 2 ? "caller:z" : "caller:a");
  const auto node = connect();
  OutboxStore* const store = &node->outbox;
  std::vector<OutboxRow> rows = claimed(*store, claim_of("a"));
  ASSERT_EQ(rows.size(), 3U);
  std::vector<OutboxWrite> writes;
  for (OutboxRow& row : rows) {
    row.status = OutboxStatus::done;
    writes.push_back({row, false});
  }
  writes[1].next.owner = "somebody else";
  EXPECT_THAT(write_together(*store, writes), ElementsAre(true, false, true));
  EXPECT_EQ(found(*store, 2).status, OutboxStatus::pending);
}

TEST_P(SqlOutboxContract, WritesThatComeWhileTheSessionIsBusyShareACommit) {
  constexpr int rows = 40;
  for (int i = 1; i <= rows; ++i) enqueue(i, "provider", "caller:" + std::to_string(i % 3));
  const auto node = connect();
  OutboxStore* const store = &node->outbox;
  std::vector<OutboxWrite> writes;
  for (OutboxRow& row : claimed(*store, claim_of("a", rows))) {
    row.status = OutboxStatus::done;
    writes.push_back({std::move(row), false});
  }
  ASSERT_EQ(writes.size(), static_cast<std::size_t>(rows));
  // The session is at something else until all of them have come.
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  node->thread->post([gone](sql::Session&) { gone.wait(); });
  const std::vector<bool> mine = write_together(*store, writes, [&] { go.set_value(); });
  EXPECT_THAT(mine, ::testing::Each(true));
  if (GetParam() == Kind::sqlite) return;  // it does not say which transaction wrote a row
  EXPECT_EQ(server().query("SELECT count(DISTINCT xmin::text) FROM pawl.outbox", database_), "1");
}

TEST_P(OutboxContract, TwoWorkersWhoWriteTheSameRowsNeverWaitForEachOther) {
  constexpr int rows = 20;
  for (int i = 1; i <= rows; ++i) enqueue(i, "provider", "caller:" + std::to_string(i % 3));
  const auto first = connect();
  const std::vector<OutboxRow> all = claimed(first->outbox, claim_of("a", rows));
  std::vector<std::thread> workers;
  for (int worker = 0; worker < 2; ++worker) {
    workers.emplace_back([&, worker] {
      const auto node = connect();
      std::vector<OutboxWrite> writes;
      for (const OutboxRow& row : all) writes.push_back({row, false});
      if (worker == 1) std::ranges::reverse(writes);
      for (int round = 0; round < 20; ++round) {
        EXPECT_THAT(write_together(node->outbox, writes), ::testing::Each(true));
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
}

TEST_P(OutboxContract, TwoWorkersNeverHaveTheSameRow) {
  constexpr int rows = 60;
  for (int i = 1; i <= rows; ++i) enqueue(i, "provider", "caller:" + std::to_string(i % 7));
  std::atomic<int> owner = 0;
  std::mutex mutex;
  std::vector<std::string> taken;
  const auto work = [&] {
    const auto node = connect();
    OutboxStore* const store = &node->outbox;
    for (int idle = 0; idle < 3;) {
      const auto result = run_here(store->claim(claim_of("worker-" + std::to_string(++owner), 4)));
      if (!result) continue;  // a deadlock with the others costs a round
      idle = result->rows.empty() ? idle + 1 : 0;
      const std::lock_guard lock(mutex);
      for (const OutboxRow& row : result->rows) taken.push_back(row.id);
    }
  };
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
  std::ranges::sort(taken);
  EXPECT_EQ(taken.size(), static_cast<std::size_t>(rows));
  EXPECT_EQ(std::ranges::adjacent_find(taken), taken.end());
}

TEST_P(OutboxContract, CountsWhatIsNotDone) {
  for (int i = 1; i <= 4; ++i) enqueue(i, i == 4 ? "another" : "provider");
  const auto node = connect();
  OutboxStore* const store = &node->outbox;
  std::vector<OutboxRow> rows = claimed(*store, claim_of("a", 2));
  rows[0].status = OutboxStatus::done;
  rows[1].status = OutboxStatus::dead;
  for (const OutboxRow& row : rows) ASSERT_TRUE(write(*store, row));
  const auto counts = run_here(store->count());
  ASSERT_TRUE(counts) << store->trouble();
  std::vector<std::string> lines;
  for (const OutboxCount& count : counts->counts) {
    lines.push_back(count.destination + " " + std::string(to_text(count.status)) + " " +
                    std::to_string(count.rows) + " " +
                    std::to_string(count.oldest.time_since_epoch().count()));
  }
  EXPECT_THAT(lines, ::testing::UnorderedElementsAre("another pending 1 4", "provider pending 1 3",
                                                     "provider dead 1 2"));
}

TEST_P(OutboxContract, ListsWhatIsAskedFor) {
  for (int i = 1; i <= 3; ++i) enqueue(i, i == 3 ? "another" : "provider");
  const auto node = connect();
  OutboxStore* const store = &node->outbox;
  OutboxRow row = claimed(*store, claim_of("a", 1)).front();
  row.status = OutboxStatus::dead;
  ASSERT_TRUE(write(*store, row));
  const auto listed = [&](const OutboxQuery& query) {
    return ids(run_here(store->list(query)).value());
  };
  OutboxQuery query;
  EXPECT_THAT(listed(query), ElementsAre(id_of(1), id_of(2), id_of(3)));
  query.rows_max = 1;
  EXPECT_THAT(listed(query), ElementsAre(id_of(1)));
  query = {};
  query.status = OutboxStatus::dead;
  EXPECT_THAT(listed(query), ElementsAre(id_of(1)));
  query = {};
  query.destination = "another";
  EXPECT_THAT(listed(query), ElementsAre(id_of(3)));
  row.discarded_at = Instant(9us);
  ASSERT_TRUE(write(*store, row));
  query = {};
  EXPECT_THAT(listed(query), ElementsAre(id_of(2), id_of(3)));
  query.discarded = true;
  EXPECT_THAT(listed(query), ElementsAre(id_of(1), id_of(2), id_of(3)));
  EXPECT_EQ(run_here(store->list(query))->front().body, "");
}

TEST_P(OutboxContract, AChangeIsWrittenWithItsAudit) {
  enqueue(1);
  const auto node = connect();
  OutboxStore* const store = &node->outbox;
  OutboxRow row = claimed(*store, claim_of("a")).front();
  row.status = OutboxStatus::dead;
  row.locked_until.reset();
  ASSERT_TRUE(write(*store, row));
  const OutboxOrder order{OutboxAction::retry, false, ""};
  const auto changed =
      run_here(store->change(id_of(1), order.action, {"ann", "the account is 'fixed'"},
                             [&](const OutboxRow& before, Instant now) -> OutboxStore::Changed {
                               return ordered(before, order, now).value();
                             }));
  ASSERT_TRUE(changed) << store->trouble();
  ASSERT_TRUE(*changed) << changed->error().why;
  EXPECT_EQ(found(*store, 1), **changed);
  EXPECT_EQ((*changed)->status, OutboxStatus::pending);
  EXPECT_EQ(audit_count(), "outbox-retry|pending|ann|the account is 'fixed'|key-1|" + id_of(1));
  EXPECT_FALSE(write(*store, row)) << "its former owner has it no more";
}

TEST_P(OutboxContract, ARefusedChangeLeavesNoTrace) {
  enqueue(1);
  const auto node = connect();
  OutboxStore* const store = &node->outbox;
  const OutboxRow before = found(*store, 1);
  const OutboxRefusal refusal{OutboxRefusal::Kind::by_transition, "no"};
  const auto no = run_here(store->change(
      id_of(1), OutboxAction::retry, {"ann", "x"},
      [&](const OutboxRow&, Instant) -> OutboxStore::Changed { return Unexpected{refusal}; }));
  ASSERT_TRUE(no);
  ASSERT_FALSE(*no);
  EXPECT_EQ(no->error(), refusal);
  EXPECT_EQ(found(*store, 1), before);
  EXPECT_EQ(audit_count(), "");
}

TEST_P(OutboxContract, WhatIsNotThereIsSaidSo) {
  const auto node = connect();
  OutboxStore* const store = &node->outbox;
  for (const std::string& id : {id_of(9), std::string("no uuid"), std::string("'; DROP")}) {
    const auto row = run_here(store->find(id));
    ASSERT_TRUE(row) << store->trouble();
    EXPECT_EQ(*row, std::nullopt);
    const auto changed = run_here(store->change(
        id, OutboxAction::retry, {"ann", "x"},
        [](const OutboxRow& before, Instant) -> OutboxStore::Changed { return before; }));
    ASSERT_TRUE(changed);
    ASSERT_FALSE(*changed);
    EXPECT_EQ(changed->error().kind, OutboxRefusal::Kind::no_such_row);
  }
}

TEST_P(SqlOutboxContract, HeadersThatCannotBeReadDoNotStopTheClaim) {
  enqueue(1);
  run("UPDATE outbox SET headers = '{\"a\":1}'", "UPDATE pawl.outbox SET headers = '{\"a\":1}'");
  const auto node = connect();
  OutboxStore* const store = &node->outbox;
  const std::vector<OutboxRow> rows = claimed(*store, claim_of("a"));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_FALSE(rows.front().readable);
}

INSTANTIATE_TEST_SUITE_P(All, OutboxContract,
                         ::testing::Values(Kind::sqlite, Kind::postgres, Kind::memory),
                         testing::kind_name);
INSTANTIATE_TEST_SUITE_P(All, SqlOutboxContract, ::testing::Values(Kind::sqlite, Kind::postgres),
                         testing::kind_name);

}  // namespace
}  // namespace pawl
