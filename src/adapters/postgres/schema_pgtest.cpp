// Migrations, and what `open` says about a server it will not use.
#include <gmock/gmock.h>

#include <latch>
#include <thread>

#include "src/adapters/postgres/pg_fixture.hpp"

namespace pawl::postgres {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::string& url, Options options = {}) {
  const auto store = PostgresStore::open(url, options);
  return store ? "opened" : store.error();
}

constexpr Options lossy{.allow_lossy_store = true};

TEST(Schema, AMissingSchemaIsNamedAndNotCreated) {
  auto& server = shared_server();
  const std::string database = new_database(server);
  EXPECT_THAT(refusal(server.url(database), lossy), HasSubstr("run `pawl migrate"));
  EXPECT_EQ(server.query("SELECT count(*) FROM pg_namespace WHERE nspname = 'pawl'", database),
            "0");
}

TEST(Schema, AnOldSchemaIsNamedWithBothVersions) {
  auto& server = shared_server();
  const std::string url = migrated_url(server);
  const int newest = migrations().back().version;
  Sql{url}("DELETE FROM pawl.schema_migrations WHERE version > 1");
  const std::string said = refusal(url, lossy);
  EXPECT_THAT(said, HasSubstr("has version 1, version " + std::to_string(newest) + " is needed"));
  EXPECT_THAT(said, HasSubstr("run `pawl migrate"));
}

TEST(Schema, ANewerSchemaIsRefusedByStoreAndMigration) {
  auto& server = shared_server();
  const std::string url = migrated_url(server);
  Sql{url}("INSERT INTO pawl.schema_migrations (version, name) VALUES (9999, '9999_future')");
  EXPECT_THAT(refusal(url, lossy), HasSubstr("use a newer pawl"));
  const auto status = migrate(url);
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error(), HasSubstr("has version 9999"));
}

TEST(Schema, AServerThatLosesWritesIsRefusedUnlessAccepted) {
  const std::string url = migrated_url(shared_server());  // runs with fsync = off
  EXPECT_THAT(refusal(url), HasSubstr("fsync = off"));
  EXPECT_EQ(refusal(url, lossy), "opened");
}

TEST(Schema, AnotherIsolationLevelIsRefused) {
  auto& server = shared_server();
  const std::string database = new_database(server);
  ASSERT_TRUE(migrate(server.url(database)));
  server.query("ALTER DATABASE " + database +
               " SET default_transaction_isolation = 'repeatable read'");
  EXPECT_THAT(refusal(server.url(database), lossy), HasSubstr("must be 'read committed'"));
}

TEST(Schema, SeveralHostsNeedSynchronousStandbys) {
  auto& server = shared_server();
  const std::string database = new_database(server);
  ASSERT_TRUE(migrate(server.url(database)));
  const std::string port = std::to_string(server.port());
  const std::string url = "postgres://postgres@127.0.0.1:" + port + ",127.0.0.1:" + port + "/" +
                          database + "?target_session_attrs=read-write";
  EXPECT_EQ(refusal(url, lossy), "opened");
  EXPECT_THAT(refusal(url), ::testing::AnyOf(HasSubstr("synchronous"), HasSubstr("fsync")));
}

TEST(Schema, AServerThatIsNotThereIsNamed) {
  const std::string said = refusal("host=127.0.0.1 port=1 user=nobody dbname=x password=hunter2");
  EXPECT_THAT(said, HasSubstr("127.0.0.1"));
  EXPECT_THAT(said, ::testing::Not(HasSubstr("hunter2")));
}

TEST(Schema, ADryRunOnlyLooks) {
  auto& server = shared_server();
  const std::string database = new_database(server);
  const auto status = migrate(server.url(database), {.dry_run = true});
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->version_before, 0);
  EXPECT_EQ(status->version_now, 0);
  EXPECT_EQ(status->pending.size(), migrations().size());
  EXPECT_EQ(server.query("SELECT count(*) FROM pg_namespace WHERE nspname = 'pawl'", database),
            "0");
}

TEST(Schema, TenNodesMayMigrateAtOnce) {
  auto& server = shared_server();
  const std::string url = server.url(new_database(server));
  constexpr int nodes = 10;
  std::latch start(nodes);
  std::atomic<std::size_t> applied = 0;
  {
    std::vector<std::jthread> threads;
    for (int node = 0; node < nodes; ++node) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        const auto status = migrate(url);
        ASSERT_TRUE(status.has_value()) << status.error();
        EXPECT_EQ(status->version_now, migrations().back().version);
        applied += status->pending.size();
      });
    }
  }
  EXPECT_EQ(applied, migrations().size()) << "each file exactly once";
  EXPECT_EQ(refusal(url, lossy), "opened");
}

TEST(Schema, ARoleThatOwnsOnlyTheSchemaIsEnough) {
  auto& server = shared_server();
  const std::string database = new_database(server);
  server.query("CREATE ROLE " + database + " LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE");
  server.query("REVOKE CREATE ON DATABASE " + database + " FROM PUBLIC");
  server.query("CREATE SCHEMA pawl AUTHORIZATION " + database, database);
  const std::string url = "host=" + server.directory() + " port=" + std::to_string(server.port()) +
                          " user=" + database + " dbname=" + database;
  const auto status = migrate(url);
  ASSERT_TRUE(status.has_value()) << status.error();
  const auto store = open_store(url);
  const Record row = held("owned-key-000001");
  EXPECT_TRUE(testing::run(store->insert_or_read_one(row))->mine);
  EXPECT_FALSE(store->trouble().has_value());
}

}  // namespace
}  // namespace pawl::postgres
