// A file that is put in the place of the store's, or taken away, while a process has it open.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "src/adapters/sqlite/ledger_workspace.hpp"
#include "src/adapters/sqlite/observation_store.hpp"
#include "src/adapters/sqlite/outbox_store.hpp"
#include "src/adapters/sqlite/reconciliation_store.hpp"
#include "src/adapters/sqlite/store_metadata.hpp"
#include "src/adapters/sqlite/test_support.hpp"

namespace pawl::sqlite {
namespace {

using std::chrono::hours;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SqliteFile : public ::testing::Test {
 protected:
  // A copy as a careful operator makes it.
  void back_up() { execute(directory_.file(), "VACUUM INTO '" + directory_.file("backup") + "'"); }
  void put_back() { std::filesystem::rename(directory_.file("backup"), directory_.file()); }

  // In another process: closing the file would drop the locks that this one has on it.
  void copy_over() {
    const std::string command = "cp " + directory_.file("backup") + " " + directory_.file();
    ASSERT_EQ(std::system(command.c_str()), 0);
  }

  static std::string nobody_wanted(const std::vector<ObservedKey>& keys, ObservationStore& in) {
    const ObservationStore::Transition transition = [](const ObservationStore::Found&, Instant) {
      return ObservationUpdate{};
    };
    const Expected<Done, std::string> applied = in.apply(keys, transition);
    return applied ? std::string() : applied.error();
  }

  TempDir directory_;
  const Record record_ = testing::an_in_progress_record();
  const Record later_ = testing::an_in_progress_record("used-after-the-backup-1");
};

TEST_F(SqliteFile, ABackupPutBackUnderARunningStoreIsNotTakenUp) {
  const auto store = opened(directory_.file());
  ASSERT_EQ(told(insert(*store, record_)), "mine");
  back_up();
  ASSERT_EQ(told(insert(*store, later_)), "mine");
  put_back();
  const Record rival = testing::an_in_progress_record(later_.key.text, "owner-2");
  EXPECT_EQ(told(insert(*store, rival)), "unavailable") << "a forgotten key is not a new key";
  EXPECT_FALSE(find(*store, record_));
  EXPECT_FALSE(wait_for(store->lapsed({later_.created_at + hours(1), 10})));
  EXPECT_THAT(store->trouble().value_or(""),
              AllOf(HasSubstr(directory_.file()), HasSubstr("until Pawl is restarted"),
                    HasSubstr("pawl store restored")));
}

TEST_F(SqliteFile, WhatWasChangedStaysAnErrorUntilRestartEvenWhereTheOldFileComesBack) {
  auto store = opened(directory_.file());
  ASSERT_EQ(told(insert(*store, record_)), "mine");
  back_up();
  std::filesystem::create_hard_link(directory_.file(), directory_.file("old"));
  put_back();
  EXPECT_EQ(told(insert(*store, later_)), "unavailable");
  std::filesystem::rename(directory_.file("old"), directory_.file());
  EXPECT_EQ(told(insert(*store, later_)), "unavailable");
  EXPECT_FALSE(SqliteStore::open(directory_.file())) << "nor by anybody else in this process";
  store.reset();
  store = opened(directory_.file());
  EXPECT_EQ(told(insert(*store, record_)), "mine");
}

TEST_F(SqliteFile, CasesObservationsOutboxAndFactsNoticeItToo) {
  const auto store = opened(directory_.file());
  const auto cases = cases_in(directory_.file());
  SqliteObservationStore observations(directory_.file());
  SqliteOutbox outbox(directory_.file());
  const auto late_cases = cases_in(directory_.file());  // opens it after the change
  ASSERT_TRUE(cases->count_dead());
  ASSERT_EQ(nobody_wanted({}, observations), "");
  ASSERT_TRUE(outbox.count());
  ASSERT_TRUE(find_fact(directory_.file(), "store_id"));
  back_up();
  put_back();
  const auto refused = HasSubstr("is another file than the one that this process has open");
  EXPECT_THAT(cases->count_dead().error(), refused);
  EXPECT_THAT(late_cases->count_dead().error(), refused);
  EXPECT_THAT(nobody_wanted({}, observations), refused);
  EXPECT_THAT(outbox.count().error(), refused);
  EXPECT_THAT(find_fact(directory_.file(), "store_id").error(), refused);
  EXPECT_THAT(record_fact(directory_.file(), "name", "value").error(), refused);
}

TEST_F(SqliteFile, ALogThatWasTakenAwayOrReplacedIsAnErrorUntilRestart) {
  for (const bool replaced : {false, true}) {
    const TempDir directory;
    const auto store = opened(directory.file());
    ASSERT_EQ(told(insert(*store, record_)), "mine");
    const std::string log = directory.file() + "-wal";
    std::filesystem::rename(log, directory.file("log-of-then"));
    if (replaced) std::ofstream(log) << "another";
    EXPECT_EQ(told(insert(*store, later_)), "unavailable");
    EXPECT_THAT(store->trouble().value_or(""), HasSubstr(log));
    std::filesystem::rename(directory.file("log-of-then"), log);
    EXPECT_EQ(told(insert(*store, later_)), "unavailable");
  }
}

// As `cp` does it: the same file, and its log and index beside it are those of before.
TEST_F(SqliteFile, ABackupCopiedOverTheFileIsAnErrorUntilRestart) {
  const auto store = opened(directory_.file());
  ASSERT_EQ(told(insert(*store, record_)), "mine");
  back_up();
  ASSERT_EQ(told(insert(*store, later_)), "mine");
  copy_over();
  const Record rival = testing::an_in_progress_record(later_.key.text, "owner-2");
  EXPECT_EQ(told(insert(*store, rival)), "unavailable");
  EXPECT_FALSE(find(*store, record_));
  EXPECT_THAT(store->trouble().value_or(""), HasSubstr("was written over"));
  EXPECT_FALSE(cases_in(directory_.file())->count_dead());
}

// By this process or another: SQLite says so in the log's index.
TEST_F(SqliteFile, CheckpointsAreNoReasonToStop) {
  Options options;
  options.checkpoint_pages = 64;
  const auto store = opened(directory_.file(), options);
  const auto cases = cases_in(directory_.file());
  for (int i = 0; i < 300; ++i) {
    const Record next = testing::an_in_progress_record("row-" + std::to_string(i));
    ASSERT_EQ(told(insert(*store, next)), "mine") << store->trouble().value_or("");
    if (i % 20 == 0) {
      execute(directory_.file(),
              i % 40 == 0 ? "PRAGMA wal_checkpoint(TRUNCATE)" : "PRAGMA wal_checkpoint(PASSIVE)");
    }
    ASSERT_TRUE(cases->count_dead());
    ASSERT_TRUE(find(*store, next));
  }
  execute(directory_.file(), "VACUUM");
  EXPECT_EQ(told(insert(*store, record_)), "mine") << store->trouble().value_or("");
  // The store's own checkpoint has a thread of its own, which may not have had its turn yet.
  for (int i = 0; store->counts().checkpoints == 0; ++i) {
    const Record next = testing::an_in_progress_record("more-" + std::to_string(i));
    ASSERT_EQ(told(insert(*store, next)), "mine") << store->trouble().value_or("");
  }
}

// The last one who closes copies the log and deletes it: by its path, and that is another's by now.
TEST_F(SqliteFile, ClosingLeavesTheFilesThatWerePutThereAlone) {
  auto store = opened(directory_.file());
  ASSERT_EQ(told(insert(*store, record_)), "mine");
  back_up();
  put_back();
  const std::string log = directory_.file() + "-wal";
  std::filesystem::remove(log);
  std::ofstream(log) << "of the file that was put there";
  store.reset();
  std::ifstream left(log);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(left), {}),
            "of the file that was put there");
}

TEST_F(SqliteFile, ASheetThatWasReplacedIsNotGoneOnWith) {
  const LedgerRange range{"provider", testing::some_time(), testing::some_time() + hours(1)};
  const auto sheet = open_sheet(directory_.file("sheet"));
  ASSERT_TRUE(sheet);
  ASSERT_TRUE((*sheet)->begin(range));
  { ASSERT_TRUE(open_sheet(directory_.file("other"))); }
  std::filesystem::rename(directory_.file("other"), directory_.file("sheet"));
  const auto begun = (*sheet)->begin(range);
  ASSERT_FALSE(begun);
  EXPECT_THAT(begun.error(), HasSubstr("is another file"));
}

}  // namespace
}  // namespace pawl::sqlite
