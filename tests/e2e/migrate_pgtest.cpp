#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

#include "tests/support/postgres_server.hpp"
#include "tests/support/process.hpp"

namespace pawl {
namespace {

using testing::Finished;

Finished migrate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {PAWL_BINARY, "migrate"});
  return testing::run_program(arguments);
}

TEST(MigrateCommand, LooksThenAppliesThenHasNothingToDo) {
  testing::PostgresServer server({.fsync = false, .configuration = ""});
  const std::string url = server.url();

  const Finished dry = migrate({"--store", url, "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_NE(dry.out.find("pending  0001_keys"), std::string::npos) << dry.out;
  EXPECT_EQ(migrate({"--store", url, "--status"}).exit_code, 1);
  EXPECT_EQ(server.query("SELECT count(*) FROM pg_namespace WHERE nspname = 'pawl'"), "0");

  const Finished applied = migrate({"--store", url});
  EXPECT_EQ(applied.exit_code, 0) << applied.err;
  EXPECT_NE(applied.out.find("applied  0004_functions"), std::string::npos) << applied.out;
  EXPECT_NE(applied.out.find("up to date"), std::string::npos);

  EXPECT_EQ(migrate({"--store", url, "--status"}).exit_code, 0);
  EXPECT_EQ(migrate({"--store", url}).exit_code, 0);
  EXPECT_NE(migrate({"--store", url, "--json"}).out.find(R"("applied":[])"), std::string::npos);
}

TEST(MigrateCommand, SaysWhatIsWrongAndNeverThePassword) {
  const Finished away = migrate({"--store", "postgres://pawl:hush@127.0.0.1:1/pawl"});
  EXPECT_EQ(away.exit_code, 1);
  EXPECT_NE(away.err.find("127.0.0.1"), std::string::npos) << away.err;
  EXPECT_EQ(away.err.find("hush"), std::string::npos) << away.err;
  EXPECT_EQ(migrate({}).exit_code, 64);
}

TEST(MigrateCommand, PrintsTheGrantsOfBothRolesAndMakesThem) {
  testing::PostgresServer server({.fsync = false, .configuration = ""});
  const std::string url = server.url();
  const std::vector<std::string> both{"--store", url, "--grants", "gateway=pawl", "service=shop"};
  const Finished early = migrate(both);
  EXPECT_EQ(early.exit_code, 1);
  EXPECT_NE(early.err.find("run `pawl migrate"), std::string::npos) << early.err;
  ASSERT_EQ(migrate({"--store", url}).exit_code, 0);
  server.query("CREATE ROLE pawl LOGIN");
  server.query("CREATE ROLE shop LOGIN");

  const Finished printed = migrate(both);
  EXPECT_EQ(printed.exit_code, 0) << printed.err;
  EXPECT_NE(printed.out.find("GRANT EXECUTE ON FUNCTION pawl.advance("), std::string::npos);
  EXPECT_NE(printed.out.find("REVOKE ALL ON ALL TABLES IN SCHEMA pawl FROM \"shop\";"),
            std::string::npos)
      << printed.out;
  const std::string granted =
      "SELECT has_table_privilege('pawl', 'pawl.keys', 'UPDATE') AND has_function_privilege("
      "'shop', 'pawl.lookup(text, text)', 'EXECUTE')";
  EXPECT_EQ(server.query(granted), "f") << "it was only printed";

  std::vector<std::string> apply = both;
  apply.insert(apply.end(), {"--apply", "--json"});
  const Finished applied = migrate(apply);
  EXPECT_EQ(applied.exit_code, 0) << applied.err;
  EXPECT_NE(applied.out.find(R"("applied":true)"), std::string::npos) << applied.out;
  EXPECT_EQ(server.query(granted), "t");
  EXPECT_EQ(server.query("SELECT has_table_privilege('shop', 'pawl.keys', 'SELECT')"), "f");

  EXPECT_EQ(migrate({"--store", url, "--grants", "guest=shop"}).exit_code, 64);
  EXPECT_EQ(migrate({"--store", url, "--grants", "service="}).exit_code, 64);
  EXPECT_EQ(migrate({"--store", url, "--apply"}).exit_code, 64);
  EXPECT_EQ(migrate({"--store", "sqlite:none.db", "--grants", "service=shop"}).exit_code, 1);
}

TEST(MigrateCommand, CreatesASqliteStore) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("pawl-migrate-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string url = "sqlite:" + (folder / "pawl.db").string();
  const Finished created = migrate({"--store", url});
  EXPECT_EQ(created.exit_code, 0) << created.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "pawl.db"));
  EXPECT_EQ(migrate({"--store", url, "--dry-run"}).exit_code, 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace pawl
