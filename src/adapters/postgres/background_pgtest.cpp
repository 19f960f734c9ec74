// Background work that takes too long, on the connection that requests read by.
#include "src/adapters/postgres/pg_fixture.hpp"

namespace pawl::postgres {
namespace {

using testing::run;

TEST(Background, AStatementThatTakesTooLongDoesNotCostRequestsTheirConnection) {
  const std::string url = migrated_url(shared_server());
  Options options = patient();
  options.operation_timeout = std::chrono::seconds(4);
  const auto store = open_store(url, options);
  Sql sql(url);
  const auto sessions = [&] {
    return sql(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'pawl'"
        " AND datname = current_database() ORDER BY pid");
  };
  const Record row = held("some-key-0000001");
  ASSERT_TRUE(run(store->insert_or_read_one(row)).has_value());
  ASSERT_TRUE(run(store->find(row.scope, row.key)).has_value());
  const std::string before = sessions();
  sql("ALTER TABLE pawl.due RENAME TO due_kept");
  sql("CREATE VIEW pawl.due AS SELECT d.* FROM pawl.due_kept d, pg_sleep(60)");
  const auto lapsed = run(store->lapsed({wall_clock() + std::chrono::hours(1)}));
  ASSERT_FALSE(lapsed.has_value());
  EXPECT_EQ(lapsed.error(), StoreError::unavailable) << "nothing was written, and that is known";
  EXPECT_TRUE(run(store->find(row.scope, row.key)).has_value());
  EXPECT_EQ(sessions(), before);
  EXPECT_FALSE(store->trouble().has_value());
}

}  // namespace
}  // namespace pawl::postgres
