// Somebody who may create functions in the database plants some that fit better than the server's
// own. None of them may ever run as us.
#include "src/adapters/postgres/pg_fixture.hpp"
#include "src/adapters/postgres/planted_fixture.hpp"
#include "src/adapters/postgres/sql_session.hpp"
#include "src/adapters/sql/observation_store.hpp"
#include "src/adapters/sql/outbox_store.hpp"
#include "src/adapters/sql/reconciliation_store.hpp"
#include "src/adapters/sql/upkeep.hpp"

namespace pawl::postgres {
namespace {

using testing::run;

class SearchPath : public ::testing::Test {
 protected:
  SearchPath() : database_(new_database(shared_server())), url_(shared_server().url(database_)) {
    if (!migrate(url_)) throw std::runtime_error("migrate");
    plant(shared_server(), database_);
  }

  [[nodiscard]] std::shared_ptr<sql::SessionThread> session() const {
    return std::make_shared<sql::SessionThread>(std::make_unique<SqlSession>(url_, patient()));
  }
  [[nodiscard]] std::string caught() const { return caught_in(shared_server(), database_); }

  const std::string database_;
  const std::string url_;
};

TEST_F(SearchPath, NothingPlantedRunsAsTheGateway) {
  const auto store = open_store(url_);
  std::vector<Record> rows;
  for (int i = 0; i < 3; ++i) {
    rows.push_back(held("planted-key-000" + std::to_string(i)));
    rows.back().state =
        InProgress{wall_clock() - std::chrono::hours(2), wall_clock() - std::chrono::hours(1)};
  }
  for (const auto& written : run(store->insert_or_read(rows))) EXPECT_TRUE(written->mine);
  std::vector<Replacement> changes;
  for (const Record& row : rows) {
    const AuditEntry entry{"somebody", "resolve", "a test"};
    changes.push_back(
        {testing::in_state(row, Status::unknown, wall_clock()), guard_of(row), entry});
  }
  for (const auto& written : run(store->replace(changes))) EXPECT_TRUE(written->mine);
  const PassQuery query{.now = wall_clock() + std::chrono::hours(1), .rows_max = 500};
  EXPECT_EQ(run(store->undetermined(query))->size(), 3u);
  EXPECT_EQ(run(store->lapsed(query))->size(), 0u);
  EXPECT_TRUE(run(store->past_retention(query)).has_value());
  EXPECT_TRUE(run(store->find(rows[0].scope, rows[0].key)).has_value());
  EXPECT_EQ(caught(), "");
}

TEST_F(SearchPath, NothingPlantedRunsInASessionOfOurs) {
  shared_server().query(
      "INSERT INTO pawl.observed_counts VALUES ('s', (extract(epoch FROM now()) * 1000000)::bigint,"
      " 'route', 'created', 1, 0, 1, 'key')",
      database_);
  const auto thread = session();
  sql::SqlObservationStore observations(thread);
  EXPECT_EQ(run(observations.summary(std::chrono::hours(1)))->tallies.size(), 1u);
  sql::SqlReconciliationStore cases(thread);
  EXPECT_TRUE(run(cases.undetermined("", "", wall_clock(), 10)));
  EXPECT_TRUE(run(cases.reap(wall_clock())));
  sql::SqlOutboxStore outbox(thread);
  EXPECT_TRUE(run(outbox.count()));
  EXPECT_EQ(caught(), "");
}

// What `pawl serve` asks at its start. Operators can be planted as functions can.
TEST_F(SearchPath, NothingPlantedRunsWhenTheStoreIsCounted) {
  for (const char* sql :
       {"CREATE FUNCTION public.same(oid, regclass) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN"
        " INSERT INTO public.caught VALUES (current_user); RETURN true; END $$",
        "CREATE OPERATOR public.= (LEFTARG = oid, RIGHTARG = regclass, FUNCTION = public.same)",
        "CREATE FUNCTION public.same(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN"
        " INSERT INTO public.caught VALUES (current_user); RETURN $1 OPERATOR(pg_catalog.=) $2; "
        "END $$",
        "CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = public.same)"}) {
    shared_server().query(sql, database_);
  }
  shared_server().query("ALTER DATABASE " + database_ + " SET search_path = public, pg_catalog");
  const auto store = open_store(url_);
  ASSERT_TRUE(run(store->insert_or_read({held("planted-key-0001")}))[0]->mine);
  sql::SqlUpkeep upkeep(session());
  EXPECT_EQ(run(upkeep.count_keys(0))->exact, false);
  EXPECT_TRUE(run(upkeep.replace_fact("a-fact", std::nullopt, "x")).value());
  EXPECT_EQ(run(upkeep.fact("a-fact")).value(), "x");
  EXPECT_TRUE(run(upkeep.overview()).has_value());
  EXPECT_EQ(run(upkeep.targets_after({}, {}, 10))->size(), 1u);
  EXPECT_EQ(caught(), "");
}

// The caller chooses the session's search_path; the functions do not go by it.
TEST_F(SearchPath, NothingPlantedRunsInsideTheSqlFunctions) {
  Sql session(url_);
  session("SET search_path = public, pg_catalog");
  session("SELECT pawl.reserve('s', 'planted-key', 'f', 'o')");
  const std::string fence = session("SELECT fence FROM pawl.lookup('s', 'planted-key')");
  session("SELECT pawl.advance('s', 'planted-key', " + fence + ", 'half')");
  session("SELECT pawl.enqueue('s', 'planted-key', " + fence + ", 'bank', 'x')");
  session("SELECT pawl.complete('s', 'planted-key', " + fence + ", 200, '{\"A\":\"b\"}', 'x')");
  EXPECT_EQ(caught(), "");
}

TEST_F(SearchPath, EveryFunctionHasOneOfItsOwnAndIsNobodysByDefault) {
  Sql session(url_);
  const std::string ours =
      " FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'pawl'";
  EXPECT_EQ(session("SELECT p.oid::regprocedure" + ours +
                    " AND NOT coalesce(p.proconfig, '{}') @>"
                    " ARRAY['search_path=pg_catalog, pg_temp']"),
            "");
  EXPECT_EQ(session("SELECT p.oid::regprocedure" + ours +
                    " AND EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', "
                    "p.proowner))) a WHERE a.grantee = 0)"),
            "");
  EXPECT_EQ(
      session("SELECT string_agg(p.proname, ' ' ORDER BY p.proname)" + ours + " AND p.prosecdef"),
      "advance complete enqueue lookup release reserve");
}

}  // namespace
}  // namespace pawl::postgres
