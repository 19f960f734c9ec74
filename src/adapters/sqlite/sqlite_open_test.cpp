// Which files are opened, which are refused, and what the refusal says.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <latch>
#include <thread>

#include "src/adapters/sqlite/database.hpp"
#include "src/adapters/sqlite/migrations.hpp"
#include "src/adapters/sqlite/test_support.hpp"

namespace pawl::sqlite {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SqliteOpen, CreatesAFileThatOnlyItsOwnerReads) {
  const TempDir directory;
  opened(directory.file());
  struct stat status {};
  ASSERT_EQ(::stat(directory.file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(SqliteOpen, StampsTheFileAndWritesAheadWithFullSync) {
  const TempDir directory;
  const auto store = opened(directory.file());
  Options options;
  const auto database = prepare_database(directory.file(), options);
  ASSERT_TRUE(database);
  auto connected = connect(*database, options, 1 << 20);
  ASSERT_TRUE(connected);
  Connection& connection = connected->connection;
  EXPECT_EQ(connection.number("PRAGMA application_id"), application_id);
  EXPECT_EQ(connection.number("PRAGMA user_version"), std::int64_t(migrations().size()));
  EXPECT_EQ(connection.text("PRAGMA journal_mode"), "wal");
  EXPECT_EQ(connection.number("PRAGMA synchronous"), 2);
}

TEST(SqliteOpen, OpensAgainAndFindsWhatWasWritten) {
  const TempDir directory;
  const Record record = testing::an_in_progress_record();
  EXPECT_EQ(told(insert(*opened(directory.file()), record)), "mine");
  const auto store = opened(directory.file());
  const auto found = find(*store, record);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, record);
}

TEST(SqliteOpen, NewerSchemaIsRefusedAndLeftAlone) {
  const TempDir directory;
  opened(directory.file());
  execute(directory.file(), "PRAGMA user_version = 99");
  EXPECT_THAT(refusal(directory.file()),
              AllOf(HasSubstr(directory.file()), HasSubstr("schema version 99"),
                    HasSubstr("up to " + std::to_string(migrations().size()))));
}

TEST(SqliteOpen, AnotherProgramsDatabaseIsRefusedAndLeftAlone) {
  const TempDir directory;
  {
    auto connection = Connection::open(directory.file(), WhenMissing::create, {});
    ASSERT_TRUE(connection);
    ASSERT_EQ(connection->run("CREATE TABLE theirs (id INTEGER)"), SQLITE_OK);
  }
  EXPECT_THAT(refusal(directory.file()), HasSubstr("not Pawl's"));
  auto connection = Connection::open(directory.file(), WhenMissing::fail, {});
  ASSERT_TRUE(connection);
  EXPECT_EQ(connection->text("PRAGMA journal_mode"), "delete");
  EXPECT_EQ(connection->number("SELECT count(*) FROM sqlite_schema"), 1);
}

TEST(SqliteOpen, AFileThatIsNoDatabaseIsRefusedAndLeftAlone) {
  const TempDir directory;
  const std::string letter(5000, 'x');
  std::ofstream(directory.file()) << letter;
  EXPECT_THAT(refusal(directory.file()), HasSubstr("file is not a database"));
  std::ifstream file(directory.file());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), letter);
}

TEST(SqliteOpen, ADirectoryThatDoesNotExistIsNamed) {
  const TempDir directory;
  EXPECT_THAT(refusal(directory.file("none/pawl.db")),
              AllOf(HasSubstr("none/pawl.db"), HasSubstr("directory must exist")));
}

TEST(SqliteOpen, MemoryIsRefused) {
  EXPECT_THAT(refusal(":memory:"), HasSubstr("name a file"));
  EXPECT_THAT(refusal(""), HasSubstr("name a file"));
}

TEST(SqliteOpen, AReadOnlyFileIsRefused) {
  const TempDir directory;
  opened(directory.file());
  ASSERT_EQ(::chmod(directory.file().c_str(), 0444), 0);
  ASSERT_EQ(::chmod(directory.path().c_str(), 0555), 0);
  const bool root = ::geteuid() == 0;  // who may write anything
  const int lowered = root ? ::seteuid(65534) : 0;
  const std::string why = refusal(directory.file());
  const int raised = root ? ::seteuid(0) : 0;
  ::chmod(directory.path().c_str(), 0755);
  ASSERT_EQ(lowered, 0);
  ASSERT_EQ(raised, 0);
  EXPECT_THAT(why, HasSubstr("must be writable"));
}

TEST(SqliteOpen, ManyWhoCreateTheFileAtOnceAgree) {
  const TempDir directory;
  constexpr int openers = 8;
  std::latch start(openers);
  std::vector<std::string> refusals(openers);
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < openers; ++thread) {
      threads.emplace_back([&, thread] {
        start.arrive_and_wait();
        refusals[std::size_t(thread)] = refusal(directory.file());
      });
    }
  }
  EXPECT_THAT(refusals, ::testing::Each(IsEmpty()));
}

TEST(SqliteOpen, ASchemaMigratedUnderARunningStoreFailsClosed) {
  const TempDir directory;
  const auto store = opened(directory.file());
  const Record record = testing::an_in_progress_record();
  EXPECT_EQ(told(insert(*store, record)), "mine");
  execute(directory.file(), "PRAGMA user_version = 99");
  EXPECT_EQ(told(insert(*store, testing::an_in_progress_record("another-key-00001"))),
            "unavailable");
  EXPECT_FALSE(find(*store, record));
  EXPECT_THAT(store->trouble().value_or(""), HasSubstr("schema version 99"));
  execute(directory.file(), "PRAGMA user_version = " + std::to_string(migrations().size()));
  EXPECT_EQ(told(insert(*store, record)), "mine");
}

TEST(SqliteOpen, WhoeverOnlyLooksDoesNotMigrate) {
  const TempDir directory;
  const Options options;
  ASSERT_TRUE(prepare_database(directory.file(), options));
  execute(directory.file(), "PRAGMA user_version = 1");
  const auto refused = prepare_database(directory.file(), options, WhenOld::refuse);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("has schema version 1; this pawl needs version"));
  EXPECT_THAT(refused.error(), HasSubstr("`pawl serve`"));
}

}  // namespace
}  // namespace pawl::sqlite
