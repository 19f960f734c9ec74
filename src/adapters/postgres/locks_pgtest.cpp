// Rows that somebody holds, and rows that nobody understands.
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

#include "src/adapters/postgres/pg_fixture.hpp"

namespace pawl::postgres {
namespace {

using testing::run;

TEST(Locks, OneLockedRowDoesNotStopTheOthersOfItsBatch) {
  const std::string url = migrated_url(shared_server());
  const auto store = open_store(url);
  std::vector<Record> rows;
  for (int i = 0; i < 32; ++i) rows.push_back(held("locked-key-" + std::to_string(i)));
  for (const auto& written : run(store->insert_or_read(rows))) ASSERT_TRUE(written->mine);
  Sql service(url);
  service("BEGIN");
  service("UPDATE pawl.keys SET attempt = attempt WHERE idempotency_key = 'locked-key-7'");
  std::vector<Replacement> settling;
  for (const Record& row : rows) settling.push_back({completed(row), guard_of(row), {}});
  const auto results = run(store->replace(settling));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i == 7) {
      ASSERT_FALSE(results[i].has_value());
      EXPECT_EQ(results[i].error(), StoreError::contended);
    } else {
      ASSERT_TRUE(results[i].has_value()) << i << ' ' << to_text(results[i].error());
      EXPECT_TRUE(results[i]->mine) << i;
    }
  }
  // A second reservation of that key waits for the same lock; its neighbour does not suffer.
  const auto again =
      run(store->insert_or_read({held("locked-key-7", "other"), held("free-key-1")}));
  EXPECT_EQ(again[0].error(), StoreError::contended);
  EXPECT_TRUE(again[1]->mine);
  service("COMMIT");
  EXPECT_TRUE(run(store->replace_one(settling[7]))->mine);
}

TEST(Locks, TransactionalRowsHaveALaneOfTheirOwn) {
  const std::string url = migrated_url(shared_server());
  Options options = patient();
  options.stands_by = false;
  const auto store = open_store(url, options);
  Record row = held("transactional-key-1");
  row.policy.transactional = true;
  ASSERT_TRUE(run(store->insert_or_read_one(row))->mine);
  Sql service(url);
  service("BEGIN");
  service("UPDATE pawl.keys SET attempt = attempt");
  boost::asio::io_context context(1);
  std::vector<std::string> order;
  const Record renewed = testing::in_state(row, Status::in_progress, wall_clock());
  const auto renew = [](Store& to, Replacement change,
                        std::vector<std::string>& log) -> Task<void> {
    const auto written = co_await to.replace_one(std::move(change));
    EXPECT_EQ(written.error(), StoreError::contended);
    log.emplace_back("transactional");
  };
  const auto reserve = [](Store& to, Record fresh, std::vector<std::string>& log) -> Task<void> {
    const auto written = co_await to.insert_or_read_one(std::move(fresh));
    EXPECT_TRUE(written->mine);
    log.emplace_back("plain");
  };
  const auto ended = [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  };
  boost::asio::co_spawn(context, renew(*store, {renewed, guard_of(row), {}}, order), ended);
  boost::asio::co_spawn(context, reserve(*store, held("plain-key-000001"), order), ended);
  context.run();
  EXPECT_EQ(order.size(), 2u);
  service("ROLLBACK");
}

// What waits behind a row that somebody holds goes by another connection. That one may first have
// to be made, and a batch waits for a lock for a tenth of a second only: so more than one try.
TEST(Locks, TheNextBatchGoesAroundOneThatIsHeldUp) {
  const std::string url = migrated_url(shared_server());
  const auto store = open_store(url);
  const Record row = held("held-up-key-001");
  ASSERT_TRUE(run(store->insert_or_read_one(row))->mine);
  Sql service(url);
  service("BEGIN");
  service("UPDATE pawl.keys SET attempt = attempt");
  Sql observer(url);
  const auto is_held_up = [&] {
    return observer("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") != "0";
  };
  bool went_around = false;
  for (int i = 0; i < 100 && !went_around; ++i) {
    std::atomic<bool> held_up = true;
    std::thread settling([&] {
      const auto written = run(store->replace_one({completed(row), guard_of(row), {}}));
      held_up = false;
      EXPECT_EQ(written.error(), StoreError::contended);
    });
    while (held_up && !is_held_up()) std::this_thread::yield();
    EXPECT_TRUE(run(store->insert_or_read_one(held("free-key-" + std::to_string(i))))->mine);
    went_around = is_held_up();
    settling.join();
  }
  EXPECT_TRUE(went_around);
  service("ROLLBACK");
}

// One that writes, one for transactional rows that stands by for it, one that reads and scans.
TEST(Locks, AStoreNeedsThreeConnections) {
  const std::string url = migrated_url(shared_server());
  const auto store = open_store(url);
  const Record row = held("held-up-key-002");
  Record transactional = held("transactional-key-2");
  transactional.policy.transactional = true;
  ASSERT_TRUE(run(store->insert_or_read_one(row))->mine);
  ASSERT_TRUE(run(store->insert_or_read_one(transactional))->mine);
  ASSERT_TRUE(run(store->find(row.scope, row.key))->has_value());
  ASSERT_TRUE(run(store->lapsed({wall_clock(), 500})).has_value());
  ASSERT_TRUE(run(store->past_retention({wall_clock(), 500})).has_value());
  Sql service(url);
  service("BEGIN");
  service("UPDATE pawl.keys SET attempt = attempt");
  EXPECT_EQ(run(store->replace_one({completed(row), guard_of(row), {}})).error(),
            StoreError::contended);
  service("ROLLBACK");
  Sql observer(url);
  EXPECT_EQ(observer("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pawl'"
                     " AND datname = current_database()"),
            "3");
}

TEST(Rows, OneThatCannotBeUnderstoodIsUnreadableAlone) {
  const std::string url = migrated_url(shared_server());
  const auto store = open_store(url);
  const std::vector<Record> rows{held("readable-key-1"), held("damaged-key-01"),
                                 held("readable-key-2")};
  for (const auto& written : run(store->insert_or_read(rows))) ASSERT_TRUE(written->mine);
  Sql{url}("UPDATE pawl.keys SET policy = '{\"v\": 77}' WHERE idempotency_key LIKE 'damaged%'");
  EXPECT_EQ(run(store->find(rows[1].scope, rows[1].key)).error(), StoreError::unreadable);
  std::vector<Record> others = rows;
  for (Record& other : others) other.owner.text = "owner-2";
  const auto results = run(store->insert_or_read(others));
  EXPECT_EQ(*results[0]->current, rows[0]);
  EXPECT_EQ(results[1].error(), StoreError::unreadable);
  EXPECT_EQ(*results[2]->current, rows[2]);
  const auto lapsed = run(store->lapsed({wall_clock() + std::chrono::hours(1), 500}));
  ASSERT_TRUE(lapsed.has_value());
  EXPECT_EQ(lapsed->size(), 2u);
  EXPECT_FALSE(store->trouble().has_value());
}

TEST(Rows, AnAnswerOfALaterVersionIsNotReplayed) {
  const std::string url = migrated_url(shared_server());
  const auto store = open_store(url);
  const Record row = completed(held("answered-key-01"));
  ASSERT_TRUE(run(store->insert_or_read_one(row))->mine);
  Sql{url}("UPDATE pawl.keys SET response_schema_version = 2");
  EXPECT_EQ(run(store->find(row.scope, row.key)).error(), StoreError::unreadable);
  Record other = row;
  other.owner.text = "owner-2";
  EXPECT_EQ(run(store->insert_or_read_one(other)).error(), StoreError::unreadable);
}

}  // namespace
}  // namespace pawl::postgres
