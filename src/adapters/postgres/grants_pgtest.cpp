// What a gateway's role and a service's role may do, and what they may not.
#include <gmock/gmock.h>

#include "src/adapters/postgres/grants.hpp"
#include "src/adapters/postgres/pg_fixture.hpp"

namespace pawl::postgres {
namespace {

using ::testing::HasSubstr;
using testing::run;

class Grants : public ::testing::Test {
 protected:
  Grants()
      : database_(new_database(shared_server())),
        url_(shared_server().url(database_)),
        gateway_("Gateway of " + database_),  // odd names are names too
        service_(database_ + "_service") {
    if (!migrate(url_)) throw std::runtime_error("migrate");
    for (const std::string& role : {gateway_, service_}) {
      shared_server().query("CREATE ROLE \"" + role + "\" LOGIN NOSUPERUSER");
    }
  }

  [[nodiscard]] std::string url_as(const std::string& role) const {
    return "host=" + shared_server().directory() +
           " port=" + std::to_string(shared_server().port()) + " user='" + role +
           "' dbname=" + database_;
  }
  void grant() {
    const auto granted = apply_grants(url_, {.gateway = gateway_, .service = service_});
    ASSERT_TRUE(granted.has_value()) << granted.error();
  }
  // What the server says to it; empty: it was done.
  static std::string refused(Sql& session, const std::string& sql) {
    try {
      session(sql);
      return {};
    } catch (const std::runtime_error& failure) {
      return failure.what();
    }
  }

  const std::string database_;
  const std::string url_;
  const std::string gateway_;
  const std::string service_;
};

TEST_F(Grants, TheGatewayHasAllItNeeds) {
  grant();
  const auto store = open_store(url_as(gateway_));
  const Record row = held("granted-key-00001");
  ASSERT_TRUE(run(store->insert_or_read_one(row))->mine);
  const Replacement settle{completed(row), guard_of(row), AuditEntry{"a", "b", "c"}};
  EXPECT_TRUE(run(store->replace_one(settle))->mine);
  const PassQuery query{.now = wall_clock() + std::chrono::hours(100), .rows_max = 10};
  for (const auto& page : {run(store->lapsed(query)), run(store->undetermined(query)),
                           run(store->pending(query)), run(store->past_retention(query))}) {
    EXPECT_TRUE(page.has_value());
  }
  EXPECT_TRUE(run(store->find(row.scope, row.key)).has_value());
  LateEvidence late;
  late.scope = row.scope;
  late.key = row.key;
  EXPECT_TRUE(run(store->keep_evidence(late)).has_value());
  EXPECT_TRUE(run(store->erase({{row.scope, row.key, guard_of(settle.next)}}))->at(0));
  EXPECT_FALSE(store->trouble().has_value()) << *store->trouble();
  Sql session(url_as(gateway_));
  EXPECT_THAT(refused(session, "UPDATE pawl.audit SET actor = 'nobody'"),
              HasSubstr("permission denied"));
  EXPECT_THAT(refused(session, "DELETE FROM pawl.schema_migrations"),
              HasSubstr("permission denied"));
}

TEST_F(Grants, TheServiceCallsTheFunctionsAndTouchesNoTable) {
  // As the documentation once had it: all of this goes.
  shared_server().query("GRANT USAGE ON SCHEMA pawl TO " + service_, database_);
  shared_server().query(
      "GRANT SELECT, INSERT, UPDATE ON pawl.keys, pawl.due, pawl.outbox TO " + service_, database_);
  grant();
  Sql service(url_as(service_));
  service("SELECT pawl.reserve('s', 'k-1', 'f', 'o')");
  const std::string fence = service("SELECT fence FROM pawl.lookup('s', 'k-1')");
  service("SELECT pawl.advance('s', 'k-1', " + fence + ", 'half')");
  service("SELECT pawl.enqueue('s', 'k-1', " + fence + ", 'bank', 'x')");
  service("SELECT pawl.complete('s', 'k-1', " + fence + ", 201, '{}', 'paid')");
  service("SELECT pawl.reserve('s', 'k-2', 'f', 'o')");
  service("SELECT pawl.release('s', 'k-2', (SELECT fence FROM pawl.lookup('s', 'k-2')))");

  for (const std::string& sql :
       {std::string("SELECT * FROM pawl.keys"),
        std::string("UPDATE pawl.keys SET response_body = 'forged'"),
        std::string("UPDATE pawl.keys SET status = 'failed_retryable'"),
        std::string("DELETE FROM pawl.keys"),
        std::string("INSERT INTO pawl.outbox (scope_id) VALUES ('s')"),
        std::string("SELECT * FROM pawl.evidence"), std::string("DELETE FROM pawl.due"),
        std::string("INSERT INTO pawl.audit (scope_id) VALUES ('s')"),
        std::string("UPDATE pawl.facts SET value = ''"),
        std::string("SELECT pawl.note_due('s', 'k-1', 'pending', now())"),
        std::string("SELECT pawl.demand_durability()"),
        std::string("CREATE FUNCTION pawl.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'")}) {
    EXPECT_THAT(refused(service, sql), HasSubstr("permission denied")) << sql;
  }
  EXPECT_THAT(refused(service, "SELECT pawl.complete('s', 'k-1', " + fence + ", 500, '{}', 'no')"),
              HasSubstr("does not own this key"));
  EXPECT_THAT(refused(service, "SELECT pawl.release('s', 'k-1', " + fence + ")"),
              HasSubstr("does not own this key"));
  EXPECT_EQ(
      service("SELECT status, convert_from(response_body, 'UTF8') FROM pawl.lookup('s', 'k-1')"),
      "completed|paid");
}

// A gateway's record in flight, of a route that is not transactional: to release it would make the
// payment run again, to complete it would forge its answer.
TEST_F(Grants, TheServiceWritesNoRecordOfAPlainRoute) {
  grant();
  const auto store = open_store(url_);
  const Record payment = held("plain-route-0001");
  ASSERT_TRUE(run(store->insert_or_read({payment}))[0]->mine);
  Sql service(url_as(service_));
  const std::string name = "('" + payment.scope.text + "', 'plain-route-0001'";
  EXPECT_EQ(service("SELECT status, fence, response_code FROM pawl.lookup" + name + ")"),
            "in_progress||");
  const std::string owned = name + ", " + std::to_string(payment.fence.number);
  for (const std::string& call :
       {"pawl.release" + owned + ")", "pawl.complete" + owned + ", 201, '{}', 'forged')",
        "pawl.advance" + owned + ", 'half')", "pawl.enqueue" + owned + ", 'bank', 'x')",
        "pawl.reserve" + name + ", '1.-.f', 'me')"}) {
    EXPECT_THAT(refused(service, "SELECT " + call), HasSubstr("which is not transactional"))
        << call;
  }
  const auto found = run(store->find(payment.scope, payment.key));
  ASSERT_TRUE(found && *found);
  EXPECT_EQ(status_of(**found), Status::in_progress);
  EXPECT_EQ((*found)->fence, payment.fence);

  Record transactional = held("transactional-0001");
  transactional.policy.transactional = true;
  ASSERT_TRUE(run(store->insert_or_read({transactional}))[0]->mine);
  EXPECT_EQ(refused(service, "SELECT pawl.complete('" + transactional.scope.text +
                                 "', 'transactional-0001', " +
                                 std::to_string(transactional.fence.number) + ", 201, '{}', '')"),
            "");
}

TEST_F(Grants, WhatIsMissingIsNamedWithTheCommandThatGivesIt) {
  const std::string command = "--grants gateway=" + gateway_ + " --apply";
  const auto refusal = [&] {
    const auto store = PostgresStore::open(url_as(gateway_), patient());
    return store ? std::string("opened") : store.error();
  };
  EXPECT_THAT(refusal(), HasSubstr(command));
  grant();
  EXPECT_EQ(refusal(), "opened");
  shared_server().query("REVOKE UPDATE ON pawl.due FROM \"" + gateway_ + "\"", database_);
  EXPECT_THAT(refusal(), HasSubstr("UPDATE on pawl.due"));
  EXPECT_THAT(refusal(), HasSubstr(command));
}

TEST_F(Grants, AnUpgradeTakesTheFunctionsFromNobodyWhoHadTheTables) {
  shared_server().query("GRANT USAGE ON SCHEMA pawl TO " + service_, database_);
  shared_server().query("GRANT SELECT, INSERT, UPDATE ON pawl.keys TO " + service_, database_);
  for (const Migration& migration : migrations()) {
    if (migration.name.find("roles") == std::string_view::npos) continue;
    // Its last statement, as it would run on a database that was in use.
    const std::string sql(migration.sql);
    shared_server().query(sql.substr(sql.rfind("DO $$")), database_);
  }
  Sql service(url_as(service_));
  EXPECT_EQ(refused(service, "SELECT pawl.reserve('s', 'k-1', 'f', 'o')"), "");
}

TEST_F(Grants, AServiceThatCouldWriteTheTablesAnywayIsNoService) {
  const auto same = apply_grants(url_, {.gateway = service_, .service = service_});
  EXPECT_THAT(same.has_value() ? "" : same.error(), HasSubstr("two roles"));
  shared_server().query("GRANT \"" + gateway_ + "\" TO " + service_);
  const auto member = apply_grants(url_, {.gateway = gateway_, .service = service_});
  EXPECT_THAT(member.has_value() ? "" : member.error(), HasSubstr("a role of its own"));
  // A role that inherits nothing is its member all the same, by SET ROLE.
  shared_server().query("ALTER ROLE " + service_ + " NOINHERIT");
  const auto by_set_role = apply_grants(url_, {.gateway = gateway_, .service = service_});
  EXPECT_THAT(by_set_role.has_value() ? "" : by_set_role.error(), HasSubstr("a role of its own"));
  EXPECT_THAT(by_set_role.has_value() ? "" : by_set_role.error(), HasSubstr(gateway_));
  shared_server().query("REVOKE \"" + gateway_ + "\" FROM " + service_);
  shared_server().query("GRANT pg_read_all_data TO " + service_);
  const auto reader = apply_grants(url_, {.gateway = gateway_, .service = service_});
  EXPECT_THAT(reader.has_value() ? "" : reader.error(), HasSubstr("pg_read_all_data"));
  shared_server().query("REVOKE pg_read_all_data FROM " + service_);
  EXPECT_TRUE(apply_grants(url_, {.gateway = gateway_, .service = service_}).has_value());
  const auto nobody = apply_grants(url_, {.gateway = {}, .service = "nobody_at_all"});
  EXPECT_THAT(nobody.has_value() ? "" : nobody.error(), HasSubstr("does not exist"));
  const auto stranger = apply_grants(url_as(gateway_), {.gateway = {}, .service = service_});
  EXPECT_FALSE(stranger.has_value());
}

}  // namespace
}  // namespace pawl::postgres
