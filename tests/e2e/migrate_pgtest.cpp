#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

#include "testing/postgres_server.hpp"
#include "testing/process.hpp"

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
