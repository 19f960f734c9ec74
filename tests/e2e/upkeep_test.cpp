// Purges reach nodes that run; what outlives its record goes; operators' commands leave the schema
// alone and say who gave them.
#include <sqlite3.h>

#include <cstdlib>

#include "tests/e2e/gateway_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Upkeep : public OnEveryStore {
 protected:
  testing::Finished pawl(std::vector<std::string> command) const {
    command.insert(command.begin(), PAWL_BINARY);
    command.insert(command.end(), {"--store", store_url()});
    return testing::run_program(command);
  }
  testing::Finished purge() const {
    return pawl({"keys", "purge", payment.key, "--scope", "caller:default", "--forget-answer",
                 "--reason", "the customer asked"});
  }
  static bool forgets(const ServeProcess& gateway) {
    return until([&] { return metric(gateway, "pawl_replay_cache_bytes") == 0; });
  }
};

TEST_P(Upkeep, APurgeReachesEveryNodeAlsoOneThatOnlyReplaysFromMemory) {
  ServeProcess& one = start();
  ServeProcess& other = start();
  const std::string first = post(one.port(), payment).body;
  for (const ServeProcess* node : {&one, &other, &other}) {
    EXPECT_EQ(post(node->port(), payment).body, first);
  }
  EXPECT_GT(metric(one, "pawl_replay_cache_bytes"), 0);
  EXPECT_GT(metric(other, "pawl_replay_cache_bytes"), 0);
  ASSERT_EQ(purge().exit_code, 0);
  EXPECT_TRUE(forgets(one)) << "and nobody had to ask it anything";
  EXPECT_TRUE(forgets(other));
  const HttpAnswer anew = post(other.port(), payment);
  EXPECT_EQ(anew.status, 201);
  EXPECT_EQ(anew.value("Idempotent-Replayed"), "");
  EXPECT_EQ(upstream.effects(payment.key), 2U);
  EXPECT_EQ(post(one.port(), payment).body, anew.body) << "the new answer, not the old one";
  EXPECT_EQ(upstream.effects(payment.key), 2U);
}

TEST_P(Upkeep, TheAuditGoesWhenItsRetentionIsOver) {
  ServeProcess& gateway = start(
      {.policy = "", .top = "sweep_interval = \"200ms\"\naudit_retention = \"1s\"\n", .rest = ""});
  ASSERT_EQ(post(gateway.port(), payment).status, 201);
  ASSERT_EQ(purge().exit_code, 0);
  EXPECT_TRUE(until([&] {
    return pawl({"store", "show", "--json"}).out.find("\"audit\":0}") != std::string::npos;
  }));
}

TEST_P(Upkeep, TheAuditSaysWhoTheSystemSaysItWas) {
  ServeProcess& gateway = start();
  ASSERT_EQ(post(gateway.port(), payment).status, 201);
  ::setenv("USER", "mallory", 1);
  ::setenv("LOGNAME", "mallory", 1);
  ::setenv("SUDO_USER", "mallory", 1);
  ASSERT_EQ(purge().exit_code, 0);
  const testing::Finished told =
      pawl({"explain", payment.key, "--scope", "caller:default", "--json"});
  EXPECT_THAT(told.out, AllOf(HasSubstr("the customer asked"), Not(HasSubstr("mallory"))));
}

PAWL_ON_EVERY_STORE(Upkeep);

class OldSchema : public OnSqlite {};

TEST_F(OldSchema, OperatorsCommandsNeverMigrateAStore) {
  ASSERT_EQ(post(start().port(), Post{.key = ""}).status, 400) << "there is a store now";
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open((folder() / "pawl.db").c_str(), &handle), SQLITE_OK);
  sqlite3_busy_timeout(handle, 10'000);
  ASSERT_EQ(sqlite3_exec(handle, "PRAGMA user_version = 5", nullptr, nullptr, nullptr), SQLITE_OK);
  const std::vector<std::vector<std::string>> commands{
      {"keys", "list"},
      {"keys", "show", payment.key, "--scope", "caller:default"},
      {"explain", payment.key, "--scope", "caller:default"},
      {"store", "show"}};
  for (std::vector<std::string> command : commands) {
    command.insert(command.begin(), PAWL_BINARY);
    command.insert(command.end(), {"--store", store_url()});
    const testing::Finished refused = testing::run_program(command);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, AllOf(HasSubstr("has schema version 5"), HasSubstr("pawl migrate")));
  }
  sqlite3_stmt* version = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(handle, "PRAGMA user_version", -1, &version, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_step(version), SQLITE_ROW);
  EXPECT_EQ(sqlite3_column_int(version, 0), 5);
  sqlite3_finalize(version);
  sqlite3_close(handle);
}

}  // namespace
}  // namespace pawl::e2e
