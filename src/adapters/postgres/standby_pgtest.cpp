// A server that must have a synchronous standby's word before it says that something is committed,
// and whose standby is not there.
#include <gmock/gmock.h>

#include <future>

#include "src/adapters/postgres/pg_fixture.hpp"
#include "src/adapters/postgres/sql_session.hpp"
#include "src/adapters/sql/reconciliation_store.hpp"

namespace pawl::postgres {
namespace {

using ::testing::HasSubstr;
using testing::run;

class Standby : public ::testing::Test {
 protected:
  Standby() : url_(migrated_url(server_)) { require("missing"); }

  // Its sessions are a superuser's that reads: none of them waits.
  void require(const std::string& standby) {
    server_.query("ALTER SYSTEM SET synchronous_standby_names = '" + standby + "'");
    server_.query("SELECT pg_reload_conf()");
    wait_until([&] { return server_.query("SHOW synchronous_standby_names") == standby; });
  }

  // The process of ours whose commit waits for the standby; empty: none does.
  std::string waiting() {
    return server_.query(
        "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = "
        "'pawl' LIMIT 1");
  }

  // False: it came to an end without.
  template <class Answer>
  bool waits(std::future<Answer>& call) {
    wait_until([&] {
      return !waiting().empty() ||
             call.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    return !waiting().empty();
  }

  void cancel() {
    const std::string process = waiting();
    server_.query("SELECT pg_cancel_backend(" + process + ")");
    wait_until([&] { return waiting() != process; });
  }

  static auto inserted(Store& store, const Record& row) {
    return std::async(std::launch::async,
                      [&store, row] { return run(store.insert_or_read_one(row)); });
  }

  testing::PostgresServer server_{{.fsync = false, .configuration = {}}};
  const std::string url_;
};

TEST_F(Standby, ACommitWhoseWaitWasCancelledIsInDoubtUntilTheStandbyHasIt) {
  const auto store = open_store(url_);
  const Record row = held("cancelled-key-01");
  auto first = inserted(*store, row);
  ASSERT_TRUE(waits(first));
  cancel();
  const StoreResult<Written> written = first.get();
  ASSERT_FALSE(written.has_value()) << "a failover would have lost it";
  EXPECT_EQ(written.error(), StoreError::in_doubt);

  // It can be seen here by now. To see it is no proof that anybody else has it.
  auto again = inserted(*store, row);
  EXPECT_TRUE(waits(again));
  EXPECT_NE(again.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  require("");
  const StoreResult<Written> told = again.get();
  ASSERT_TRUE(told.has_value());
  EXPECT_TRUE(told->mine);
}

TEST_F(Standby, AnotherCallersLookIsNoProofEither) {
  const auto store = open_store(url_);
  const Record row = held("cancelled-key-02");
  auto first = inserted(*store, row);
  ASSERT_TRUE(waits(first));
  cancel();
  static_cast<void>(first.get());
  auto look = std::async(std::launch::async,
                         [&] { return run(store->find(row.scope, row.key)).has_value(); });
  EXPECT_TRUE(waits(look));
  require("");
  EXPECT_TRUE(look.get());
}

TEST_F(Standby, LocalCommitsAreRaisedSoThatTheyWait) {
  for (const std::string level : {"local", "off"}) {
    require("");  // or the change itself would wait
    server_.query("ALTER ROLE postgres SET synchronous_commit = " + level);
    require("missing");
    const auto store = open_store(url_);
    auto call = inserted(*store, held("local-key-000-" + level));
    EXPECT_TRUE(waits(call)) << level;
    require("");
    EXPECT_TRUE(call.get().has_value());
  }
}

TEST_F(Standby, ASqlSessionsCommitIsNotTakenForDurable) {
  require("");
  server_.query("ALTER ROLE postgres SET synchronous_commit = local");
  SqlSession session(url_, patient());
  ASSERT_TRUE(session.run("SELECT 1", {}));  // after whatever this process was left in doubt about
  require("missing");
  session.disconnect();
  using Outcome = sql::Result<Done>;
  auto call = std::async(std::launch::async, [&]() -> Outcome {
    const auto begun = session.begin(sql::Durability::durable, sql::LockWait::patient);
    if (!begun) return begun;
    const auto wrote = session.run("INSERT INTO pawl.facts VALUES ('a', 'b')", {});
    if (!wrote) return Unexpected{wrote.error()};
    return session.commit();
  });
  ASSERT_TRUE(waits(call));
  cancel();
  const Outcome committed = call.get();
  ASSERT_FALSE(committed);
  EXPECT_THAT(committed.error().text, HasSubstr("may be lost in a failover"));
  EXPECT_EQ(committed.error().kind, StoreError::in_doubt);

  auto alone = std::async(std::launch::async, [&] {
    return session.run("INSERT INTO pawl.facts VALUES ('c', 'd')", {});
  });
  ASSERT_TRUE(waits(alone));
  cancel();
  const auto wrote = alone.get();
  ASSERT_FALSE(wrote);
  EXPECT_THAT(wrote.error().text, HasSubstr("may be lost in a failover"));
  EXPECT_EQ(wrote.error().kind, StoreError::in_doubt);

  auto each = std::async(std::launch::async, [&] {
    return session.run_each("INSERT INTO pawl.facts VALUES ($1, 'x')", {{"e"}, {"f"}});
  });
  ASSERT_TRUE(waits(each));
  cancel();
  const auto wrote_each = each.get();
  ASSERT_FALSE(wrote_each);
  EXPECT_EQ(wrote_each.error().kind, StoreError::in_doubt);
}

class StandbyEvents : public Standby {
 protected:
  // Kept, or here already: both are told to its sender as kept.
  auto kept() {
    return std::async(std::launch::async, [this] { return run(cases_.keep_event(event_)); });
  }
  void repeat_until_the_standby_has_it() {
    auto again = kept();
    EXPECT_TRUE(waits(again)) << "its sender would forget an event that a failover loses";
    require("");
    const StoreResult<bool> repeated = again.get();
    ASSERT_TRUE(repeated.has_value());
    EXPECT_FALSE(*repeated);
  }

  sql::SqlReconciliationStore cases_{
      std::make_shared<sql::SessionThread>(std::make_unique<SqlSession>(url_, patient()))};
  const WebhookEvent event_ = [] {
    WebhookEvent made;
    made.subject = "derived-1";
    made.source = "bank";
    made.id = "evt_1";
    made.response = testing::a_stored_response();
    return made;
  }();
};

TEST_F(StandbyEvents, AnEventThatIsRepeatedAfterACommitInDoubtIsNotAcknowledgedBefore) {
  auto first = kept();
  ASSERT_TRUE(waits(first));
  cancel();
  const StoreResult<bool> in_doubt = first.get();
  ASSERT_FALSE(in_doubt.has_value());
  EXPECT_EQ(in_doubt.error(), StoreError::in_doubt);
  repeat_until_the_standby_has_it();
}

// Whose doubt this process has never heard of.
TEST_F(StandbyEvents, NorIsOneThatAnotherNodeWasLeftInDoubtAbout) {
  auto other = std::async(std::launch::async, [this] {
    Sql node(url_ + " application_name=pawl");
    node(
        "INSERT INTO pawl.webhook_events (subject, source, event_id, is_final, happened_at,"
        " received_at, response_code, response_type, response_body, applied_as, scope_id,"
        " idempotency_key) VALUES ('derived-1', 'bank', 'evt_1', 0, 0, 0, 200, '', '', '', '',"
        " '')");
  });
  ASSERT_TRUE(waits(other));
  cancel();
  other.get();
  repeat_until_the_standby_has_it();
}

TEST_F(Standby, WhatASqlSessionReadsAfterACommitInDoubtIsNoProof) {
  SqlSession session(url_, patient());
  auto write = std::async(std::launch::async, [&] {
    return session.run("INSERT INTO pawl.facts VALUES ('a', 'b')", {});
  });
  ASSERT_TRUE(waits(write));
  cancel();
  EXPECT_EQ(write.get().error().kind, StoreError::in_doubt);
  auto look = std::async(std::launch::async,
                         [&] { return session.run("SELECT value FROM pawl.facts", {}); });
  EXPECT_TRUE(waits(look));
  require("");
  EXPECT_TRUE(look.get());
  EXPECT_TRUE(session.run("SELECT value FROM pawl.facts", {}));
}

TEST(Durability, EveryConnectionIsAskedNotOnlyTheFirst) {
  testing::PostgresServer server;  // durable: nothing but the standbys is in question
  const std::string database = new_database(server);
  ASSERT_TRUE(migrate(server.url(database)));
  const auto require = [&](const std::string& standby) {
    server.query("ALTER SYSTEM SET synchronous_standby_names = '" + standby + "'");
    server.query("SELECT pg_reload_conf()");
    wait_until([&] { return server.query("SHOW synchronous_standby_names") == standby; });
  };
  const std::string port = std::to_string(server.port());
  const std::string hosts = "host=" + server.directory() + "," + server.directory() +
                            " port=" + port + "," + port + " user=postgres dbname=" + database;
  require("missing");
  const auto opened = PostgresStore::open(hosts);
  ASSERT_TRUE(opened.has_value()) << opened.error();
  require("");  // as a failover to a server that has none
  const auto written = run((*opened)->insert_or_read_one(held("unsafe-key-000001")));
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error(), StoreError::unavailable);
  EXPECT_THAT((*opened)->trouble().value_or(""), HasSubstr("synchronous standbys"));
  EXPECT_EQ(server.query("SELECT count(*) FROM pawl.keys", database), "0");
}

}  // namespace
}  // namespace pawl::postgres
