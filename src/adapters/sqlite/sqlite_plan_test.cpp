// Every statement finds its rows by an index: none reads a table from end to end.
#include <gmock/gmock.h>

#include "src/adapters/sqlite/database.hpp"
#include "src/adapters/sqlite/statements.hpp"
#include "src/adapters/sqlite/test_support.hpp"

namespace pawl::sqlite {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Planned {
  std::string name;
  const char* sql;
  std::string index;  // that its plan must name; empty: no search at all
};

class SqlitePlan : public ::testing::TestWithParam<Planned> {};

std::string plan_of(Connection& connection, const char* sql) {
  const std::string question = std::string("EXPLAIN QUERY PLAN ") + sql;
  auto statement = Statement::prepare(connection.handle(), question.c_str());
  if (!statement) throw std::runtime_error(connection.last_error().text);
  std::string plan;
  while (statement->step() == SQLITE_ROW) {
    plan += reinterpret_cast<const char*>(sqlite3_column_text(statement->handle(), 3));
    plan += '\n';
  }
  return plan;
}

void fill(Store& store) {
  std::vector<Record> rows;
  for (int number = 0; number < 600; ++number) {
    const Status status = number % 50 == 0   ? Status::in_progress
                          : number % 70 == 0 ? Status::unknown
                                             : Status::completed;
    const Record row = testing::an_in_progress_record("plan-key-" + std::to_string(number));
    rows.push_back(testing::in_state(row, status, testing::some_time()));
  }
  for (const auto& written : wait_for(store.insert_or_read(rows))) ASSERT_TRUE(written);
}

TEST_P(SqlitePlan, FindsItsRowsByIndex) {
  const TempDir directory;
  Options options;
  fill(*opened(directory.file(), options));
  const auto database = prepare_database(directory.file(), options);
  ASSERT_TRUE(database);
  for (const char* analyse :
       {"SELECT 1", "ANALYZE"}) {  // with and without the planner's statistics
    auto connected = connect(*database, options, 1 << 20);
    ASSERT_TRUE(connected);
    ASSERT_EQ(connected->connection.run(analyse), SQLITE_OK);
    const std::string plan = plan_of(connected->connection, GetParam().sql);
    EXPECT_THAT(plan, HasSubstr(GetParam().index)) << analyse;
    EXPECT_THAT(plan, Not(HasSubstr("SCAN keys"))) << analyse;
    EXPECT_THAT(plan, Not(HasSubstr("SCAN evidence"))) << analyse;
    EXPECT_THAT(plan, Not(HasSubstr("TEMP B-TREE"))) << analyse;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Statements, SqlitePlan,
    ::testing::Values(
        Planned{"Find", query::find, "sqlite_autoindex_keys_1 (scope_id=? AND idempotency_key=?)"},
        Planned{"Insert", query::insert, ""},
        Planned{"Replace", query::replace,
                "sqlite_autoindex_keys_1 (scope_id=? AND idempotency_key=?)"},
        Planned{"Erase", query::erase,
                "sqlite_autoindex_keys_1 (scope_id=? AND idempotency_key=?)"},
        Planned{"Audit", query::audit, ""},
        Planned{"KeepEvidence", query::keep_evidence, "evidence_by_key"},
        Planned{"Lapsed", query::lapsed, "keys_by_lease (locked_until<?)"},
        Planned{"PastRetention", query::past_retention, "keys_by_expiry (expires_at<?)"},
        Planned{"Undetermined", query::undetermined, "keys_by_doubt (reconcile_after<?)"}),
    [](const auto& statement) { return statement.param.name; });

}  // namespace
}  // namespace pawl::sqlite
