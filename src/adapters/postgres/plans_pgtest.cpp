// What the planner makes of our statements on a large table, and what a completion costs.
#include <gmock/gmock.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "src/adapters/postgres/pg_fixture.hpp"
#include "src/adapters/postgres/statements.hpp"

namespace pawl::postgres {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* a_million_rows =
    "INSERT INTO pawl.keys (scope_id, idempotency_key, fingerprint, status, fence, owner, attempt,"
    " response_code, response_headers, response_schema_version, policy, created_at, completed_at,"
    " expires_at, reap_after)"
    " SELECT 'tenant-' || i % 10, md5(i::text), '1.-.x', 'completed', i, 'owner', 1, 201, '[]', 1,"
    " '{\"v\":1}', t, t, t + interval '48 hours', t + interval '48 hours'"
    " FROM generate_series(1, 1000000) AS i,"
    " LATERAL (SELECT timestamptz '2026-01-01' + i * interval '100 milliseconds' AS t) AS times;"
    "INSERT INTO pawl.due SELECT 'tenant-' || i % 10, i, 'in_progress',"
    " timestamptz '2026-01-01' + i * interval '10 seconds', ARRAY[md5(i::text)]"
    " FROM generate_series(1, 100000) AS i;"
    "ANALYZE pawl.keys, pawl.due";

// As a lane would have it: the transaction's own settings, and a plan for any parameters.
std::string plan_of(StatementId id, const std::string& url) {
  const Statements statements(false);
  Sql sql(url);
  std::string settings = statements[StatementId::begin].sql;
  settings.replace(settings.find("$1"), 2, "'100ms'");
  settings.replace(settings.find("$2"), 2, "'on'");
  settings.replace(settings.find("$3"), 2, "'pg_catalog, pg_temp'");
  sql("BEGIN");
  sql(settings);
  const std::string& text = statements[id].sql;
  sql("PREPARE it AS " + text);
  int parameters = 0;
  while (text.find("$" + std::to_string(parameters + 1)) != std::string::npos) ++parameters;
  std::string nulls;
  for (int i = 0; i < parameters; ++i) nulls += i == 0 ? "NULL" : ", NULL";
  return sql("EXPLAIN EXECUTE it(" + nulls + ")");
}

void every_statement_about_keys_looks_them_up_by_primary_key(const std::string& url) {
  for (const StatementId id : {StatementId::settle, StatementId::replace, StatementId::replace_all,
                               StatementId::note_due, StatementId::audit, StatementId::erase,
                               StatementId::find, StatementId::peek, StatementId::reap_later}) {
    const std::string plan = plan_of(id, url);
    EXPECT_THAT(plan, HasSubstr("Index Scan using keys_pkey on keys k")) << plan;
    EXPECT_THAT(plan, ContainsRegex("Index Cond: \\(\\(scope_id = .*\\) AND \\(idempotency_key = "))
        << plan;
    EXPECT_THAT(plan, HasSubstr("Nested Loop")) << "in the order of the batch\n" << plan;
    EXPECT_THAT(plan, Not(HasSubstr("Seq Scan"))) << plan;
  }
}

void a_lone_settlement_reads_one_row_by_primary_key(const std::string& url) {
  const std::string plan = plan_of(StatementId::settle_one, url);
  EXPECT_THAT(plan, HasSubstr("Index Scan using keys_pkey on keys k")) << plan;
  EXPECT_THAT(plan, ContainsRegex("Index Cond: \\(\\(scope_id = .*\\) AND \\(idempotency_key = "))
      << plan;
  EXPECT_THAT(plan, Not(HasSubstr("Nested Loop"))) << "its values are not set out as a table\n"
                                                   << plan;
}

void insertions_read_no_table(const std::string& url) {
  for (const StatementId id :
       {StatementId::reserve, StatementId::reserve_one, StatementId::insert}) {
    const std::string plan = plan_of(id, url);
    EXPECT_THAT(plan, HasSubstr("Conflict Arbiter Indexes: keys_pkey")) << plan;
    EXPECT_THAT(plan, Not(HasSubstr("Seq Scan"))) << plan;
  }
}

void the_passes_find_their_rows_by_index(const std::string& url) {
  const std::string due = plan_of(StatementId::due_page, url);
  EXPECT_THAT(due, HasSubstr("Index Scan using due_kind_due_at on due")) << due;
  EXPECT_THAT(due, ContainsRegex("Index Cond: .*kind = .*due_at <= ")) << due;
  EXPECT_THAT(due, Not(HasSubstr("Sort"))) << due;
  const std::string reap = plan_of(StatementId::reap_page, url);
  EXPECT_THAT(reap, HasSubstr("Index Scan using keys_reap_after on keys")) << reap;
  EXPECT_THAT(reap, ContainsRegex("Index Cond: .*reap_after <= .*reap_after >= ")) << reap;
  for (const StatementId id : {StatementId::due_delete, StatementId::due_move}) {
    const std::string plan = plan_of(id, url);
    EXPECT_THAT(plan, ContainsRegex("Index Cond: .*scope_id = .*id = ")) << plan;
    EXPECT_THAT(plan, Not(HasSubstr("Seq Scan"))) << plan;
  }
}

void a_pass_shows_what_is_due_and_nothing_else(const std::string& url) {
  const auto store = open_store(url);
  const Instant start(std::chrono::sys_days(std::chrono::year(2026) / 1 / 3));
  const auto page = testing::run(store->past_retention({start + std::chrono::seconds(5), 20}));
  ASSERT_TRUE(page.has_value());
  ASSERT_EQ(page->size(), 20u);
  EXPECT_EQ(page->front().expires_at, start + std::chrono::milliseconds(100));
  // No key of these notes is in progress: they lead nowhere and go.
  const auto lapsed = testing::run(store->lapsed({start, 500}));
  ASSERT_TRUE(lapsed.has_value());
  EXPECT_TRUE(lapsed->empty());
  EXPECT_EQ(Sql{url}("SELECT count(*) FROM pawl.due WHERE due_at <= '2026-01-03 00:00:00+00'"),
            "0");
}

// One test, because filling the table takes longer than all the rest.
TEST(AMillionRows, EveryStatementUsesItsIndex) {
  const std::string url = migrated_url(shared_server());
  Sql{url}(a_million_rows);
  every_statement_about_keys_looks_them_up_by_primary_key(url);
  insertions_read_no_table(url);
  a_lone_settlement_reads_one_row_by_primary_key(url);
  the_passes_find_their_rows_by_index(url);
  a_pass_shows_what_is_due_and_nothing_else(url);
}

Task<void> pairs(Store& store, std::string name, int count) {
  for (int i = 0; i < count; ++i) {
    const Record row = held(name + "-" + std::to_string(i));
    const auto reserved = co_await store.insert_or_read_one(row);
    EXPECT_TRUE(reserved.has_value() && reserved->mine);
    const Replacement settle{completed(row), guard_of(row), {}};
    const auto settled = co_await store.replace_one(settle);
    EXPECT_TRUE(settled.has_value() && settled->mine);
  }
}

TEST(Completion, IsAHotUpdate) {
  const std::string url = migrated_url(shared_server());
  constexpr int callers = 64;
  constexpr int pairs_each = 50;
  {
    const auto store = open_store(url);
    boost::asio::io_context context(1);
    for (int caller = 0; caller < callers; ++caller) {
      boost::asio::co_spawn(context, pairs(*store, "hot-" + std::to_string(caller), pairs_each),
                            [](std::exception_ptr failure) {
                              if (failure) std::rethrow_exception(failure);
                            });
    }
    context.run();
  }
  Sql sql(url);
  // A server process reports what it did when it ends, which may be a moment after we left.
  const auto updates = [&] {
    return std::stoi(sql("SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'keys'"));
  };
  wait_until([&] { return updates() >= callers * pairs_each; });
  EXPECT_EQ(updates(), callers * pairs_each);
  const int hot = std::stoi(sql(
      "SELECT 100 * n_tup_hot_upd / n_tup_upd FROM pg_stat_user_tables WHERE relname = 'keys'"));
  EXPECT_GE(hot, 90) << "percent";
  // One note per batch, not one per key; none for a completion.
  EXPECT_LT(std::stoi(sql("SELECT count(*) FROM pawl.due")), callers * pairs_each / 2);
}

}  // namespace
}  // namespace pawl::postgres
