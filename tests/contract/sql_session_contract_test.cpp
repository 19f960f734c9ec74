// The one SQL session of a store, on both stores: one contract. And what it costs in connections.
#include <gmock/gmock.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "src/node/open_store.hpp"
#include "tests/contract/sql_node.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::Kind;
using testing::server;

class SqlSessionContract : public testing::OnBothStores {
 protected:
  SqlSessionContract() : facts_(session_->facts()) {}

  sql::Result<std::vector<sql::Rows>> insert(const std::vector<sql::Parameters>& each) {
    return session_->run_each("INSERT INTO " + facts_ +
                                  " (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING"
                                  " RETURNING value",
                              each);
  }
  std::string fact(const std::string& name) {
    const auto rows = session_->run("SELECT value FROM " + facts_ + " WHERE name = $1", {name});
    if (!rows) return "error: " + rows.error().text;
    return rows->empty() ? "none" : rows->front().front().value_or("null");
  }

  const std::unique_ptr<sql::Session> session_ = session();
  const std::string facts_;
};

TEST_P(SqlSessionContract, AStatementIsRepeatedForEachRowInOrder) {
  const auto rows = insert({{"a", "1"}, {"b", "it's"}, {"a", "2"}, {"c", ""}});
  ASSERT_TRUE(rows) << rows.error().text;
  ASSERT_EQ(rows->size(), 4U);
  EXPECT_EQ((*rows)[0], (sql::Rows{{"1"}}));
  EXPECT_EQ((*rows)[1], (sql::Rows{{"it's"}}));
  EXPECT_TRUE((*rows)[2].empty()) << "it sees what the first one did";
  EXPECT_EQ((*rows)[3], (sql::Rows{{""}}));
  EXPECT_EQ(fact("a"), "1");
  const auto read = session_->run_each("SELECT value FROM " + facts_ + " WHERE name = $1",
                                       {{"c"}, {"no such"}, {"b"}});
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_THAT(*read, ElementsAre(sql::Rows{{""}}, sql::Rows{}, sql::Rows{{"it's"}}));
  EXPECT_TRUE(insert({})) << "nothing to do";
}

TEST_P(SqlSessionContract, AllOfThemOrNone) {
  const auto rows = insert({{"a", "1"}, {"b", std::nullopt}, {"c", "3"}});
  ASSERT_FALSE(rows) << "a value is not null";
  EXPECT_NE(rows.error().kind, StoreError::in_doubt);
  EXPECT_FALSE(rows.error().text.empty());
  EXPECT_EQ(fact("a"), "none");
  EXPECT_EQ(fact("c"), "none");
  EXPECT_TRUE(insert({{"a", "1"}})) << "and the session goes on";
}

TEST_P(SqlSessionContract, ATransactionThatIsNotCommittedLeavesNothing) {
  {
    const auto transaction = sql::Transaction::begin(*session_);
    ASSERT_TRUE(transaction);
    ASSERT_TRUE(insert({{"a", "1"}, {"b", "2"}}));
    EXPECT_EQ(fact("a"), "1");
  }
  EXPECT_EQ(fact("a"), "none");
  auto transaction = sql::Transaction::begin(*session_, sql::Durability::relaxed);
  ASSERT_TRUE(transaction);
  ASSERT_TRUE(insert({{"a", "1"}}));
  ASSERT_TRUE(transaction->commit());
  session_->disconnect();
  EXPECT_EQ(fact("a"), "1");
}

TEST_P(SqlSessionContract, WhatWasLostWithItsConnectionIsNeverCommitted) {
  auto transaction = sql::Transaction::begin(*session_);
  ASSERT_TRUE(transaction);
  ASSERT_TRUE(insert({{"a", "1"}}));
  session_->disconnect();
  const auto committed = transaction->commit();
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().kind, StoreError::unavailable);
  EXPECT_EQ(fact("a"), "none");
}

TEST_P(SqlSessionContract, GoesOnAfterAnErrorInTheMiddleOfATransaction) {
  {
    const auto transaction = sql::Transaction::begin(*session_);
    ASSERT_TRUE(insert({{"a", "1"}}));
    EXPECT_FALSE(session_->run("SELECT nothing FROM nowhere", {}));
  }
  EXPECT_EQ(fact("a"), "none");
  EXPECT_TRUE(insert({{"a", "2"}}));
  EXPECT_EQ(fact("a"), "2");
}

INSTANTIATE_TEST_SUITE_P(All, SqlSessionContract, ::testing::Values(Kind::sqlite, Kind::postgres),
                         testing::kind_name);

class PostgresConnections : public ::testing::Test {
 protected:
  PostgresConnections() {
    static std::atomic<int> count = 0;
    database_ = "connections_" + std::to_string(++count);
    server().create_database(database_);
    url_ = server().url(database_);
    const auto status = postgres::migrate(url_);
    if (!status) throw std::runtime_error(status.error());
  }

  int connections() {
    return std::stoi(server().query("SELECT count(*) FROM pg_stat_activity WHERE datname = '" +
                                    database_ + "' AND application_name = 'pawl'"));
  }
  // A server needs a moment to notice who has gone.
  bool has(int wanted) {
    for (int i = 0; i < 1000 && connections() != wanted; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return connections() == wanted;
  }
  void end_all() {
    server().query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" +
                   database_ + "' AND application_name = 'pawl'");
  }
  static void use_every_port(OpenStore& opened) {
    EXPECT_TRUE(run_here(opened.cases->count_dead())) << opened.cases->trouble();
    EXPECT_TRUE(run_here(opened.outbox->count())) << opened.outbox->trouble();
    EXPECT_TRUE(run_here(opened.observations->summary(1h))) << opened.observations->trouble();
    EXPECT_TRUE(run_here(opened.directory->list(Listed::dead, 10)));
    EXPECT_TRUE(run_here(opened.ledger->comparisons())) << opened.ledger->trouble();
    EXPECT_TRUE(run_here(opened.upkeep->overview())) << opened.upkeep->trouble();
  }

  std::string database_;
  std::string url_;
};

TEST_F(PostgresConnections, EveryPortBesideTheStoreSharesOneAndSoDoAllChannels) {
  OpenStoreOptions options;
  options.allow_lossy_store = true;
  auto opened = open_store(url_, options);
  ASSERT_TRUE(opened) << opened.error();
  EXPECT_TRUE(run_here(opened->store->time()));
  EXPECT_TRUE(run_here(opened->store->count_active(Scope{"caller:a"}, 10)));
  const int of_the_store = connections();
  use_every_port(*opened);
  EXPECT_EQ(connections(), of_the_store + 1);
  use_every_port(*opened);
  EXPECT_EQ(connections(), of_the_store + 1);
  const auto notifications = opened->listen({"pawl_one", "pawl_two", "pawl_three"}, {});
  ASSERT_TRUE(notifications);
  use_every_port(*opened);
  EXPECT_EQ(connections(), of_the_store + 1);
}

TEST_F(PostgresConnections, ASessionThatLostItsConnectionGoesOnWithTheNextCall) {
  testing::SqlNode node(std::make_unique<postgres::SqlSession>(url_, testing::patient_postgres()));
  ASSERT_TRUE(run_here(node.upkeep.overview()));
  EXPECT_EQ(connections(), 1);
  end_all();
  ASSERT_TRUE(has(0));
  const auto first = run_here(node.upkeep.overview());
  ASSERT_FALSE(first) << "its connection was gone";
  EXPECT_EQ(first.error(), StoreError::unavailable) << "a question leaves no doubt";
  EXPECT_TRUE(run_here(node.upkeep.overview())) << node.upkeep.trouble();
  EXPECT_EQ(connections(), 1);
}

TEST_F(PostgresConnections, AWriteWhoseAnswerIsLostIsInDoubtAndAReadIsNot) {
  postgres::SqlSession session(url_, testing::patient_postgres());
  ASSERT_TRUE(session.run("SELECT 1", {}));
  end_all();
  ASSERT_TRUE(has(0));
  const auto wrote = session.run("INSERT INTO pawl.facts VALUES ('a', 'b')", {});
  ASSERT_FALSE(wrote);
  EXPECT_EQ(wrote.error().kind, StoreError::in_doubt);
  ASSERT_TRUE(session.begin(sql::Durability::durable, sql::LockWait::patient));
  ASSERT_TRUE(session.run("INSERT INTO pawl.facts VALUES ('a', 'b')", {}));
  end_all();
  ASSERT_TRUE(has(0));
  const auto committed = session.commit();
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().kind, StoreError::in_doubt) << "a COMMIT was sent";
}

TEST(OpenStore, ASqliteStoreIsMadeOrBroughtUpToDateOnlyWhereItMayBe) {
  const sqlite::TempDir directory;
  const std::string url = "sqlite:" + directory.file();
  OpenStoreOptions options;
  const auto none = open_store(url, options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(), "there is no file \"" + directory.file() + "\"");
  options.create = true;
  {
    auto made = open_store(url, options);
    ASSERT_TRUE(made) << made.error();
    EXPECT_EQ(made->trouble(), std::nullopt);
    EXPECT_FALSE(made->listen({"pawl_one"}, {}));
    EXPECT_TRUE(run_here(made->upkeep->overview())) << made->upkeep->trouble();
  }
  options.create = false;
  EXPECT_TRUE(open_store(url, options));
  EXPECT_FALSE(open_store("sqlite:", options));
  EXPECT_EQ(sqlite_path(url), directory.file());
  EXPECT_EQ(sqlite_path("postgres://u@h/sqlite:x"), std::nullopt);
}

}  // namespace
}  // namespace pawl
