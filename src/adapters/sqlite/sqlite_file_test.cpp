// A file that is put in the place of the store's, or taken away, while a process has it open.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "src/adapters/sql/observation_store.hpp"
#include "src/adapters/sql/outbox_store.hpp"
#include "src/adapters/sql/reconciliation_store.hpp"
#include "src/adapters/sql/upkeep.hpp"
#include "src/adapters/sqlite/ledger_workspace.hpp"
#include "src/adapters/sqlite/sql_session.hpp"
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

  std::shared_ptr<sql::SessionThread> session() {
    return std::make_shared<sql::SessionThread>(std::make_unique<SqlSession>(directory_.file()));
  }

  static bool nobody_wanted(ObservationStore& in) {
    const ObservationStore::Transition transition = [](const ObservationStore::Found&, Instant) {
      return ObservationUpdate{};
    };
    const std::vector<ObservedKey> none;
    return wait_for(in.apply(none, transition)).has_value();
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

// On one session, and on one each: whoever is the first to ask.
TEST_F(SqliteFile, CasesObservationsOutboxAndFactsNoticeItToo) {
  const auto store = opened(directory_.file());
  const auto shared = session();
  for (const bool one : {true, false}) {
    const auto next = [&] { return one ? shared : session(); };
    sql::SqlReconciliationStore cases(next());
    sql::SqlObservationStore observations(next());
    sql::SqlOutboxStore outbox(next());
    sql::SqlUpkeep upkeep(next());
    sql::SqlReconciliationStore late_cases(session());  // opens it after the change
    if (one) {
      ASSERT_TRUE(wait_for(cases.count_dead()));
      ASSERT_TRUE(nobody_wanted(observations));
      ASSERT_TRUE(wait_for(outbox.count()));
      ASSERT_TRUE(wait_for(upkeep.fact("store_id")));
      back_up();
      put_back();
    }
    const auto refused = HasSubstr("is another file than the one that this process has open");
    EXPECT_FALSE(wait_for(cases.count_dead()));
    EXPECT_THAT(cases.trouble(), refused);
    EXPECT_FALSE(wait_for(late_cases.count_dead()));
    EXPECT_THAT(late_cases.trouble(), refused);
    EXPECT_FALSE(nobody_wanted(observations));
    EXPECT_THAT(observations.trouble(), refused);
    EXPECT_FALSE(wait_for(outbox.count()));
    EXPECT_THAT(outbox.trouble(), refused);
    EXPECT_FALSE(wait_for(upkeep.fact("store_id")));
    EXPECT_THAT(upkeep.trouble(), refused);
    EXPECT_FALSE(wait_for(upkeep.replace_fact("name", std::nullopt, "value")));
    EXPECT_THAT(upkeep.trouble(), refused);
  }
}

TEST_F(SqliteFile, ASessionIsRefusedWhereThereIsNoFileOrAnotherSchema) {
  sql::SqlUpkeep none(session());
  EXPECT_FALSE(wait_for(none.overview()));
  EXPECT_THAT(none.trouble(), HasSubstr("there is no file"));
  EXPECT_FALSE(std::filesystem::exists(directory_.file()));
  const auto store = opened(directory_.file());
  sql::SqlUpkeep upkeep(session());
  ASSERT_TRUE(wait_for(upkeep.overview()));
  execute(directory_.file(), "PRAGMA user_version = 99");
  EXPECT_FALSE(wait_for(upkeep.overview()));
  EXPECT_THAT(upkeep.trouble(), HasSubstr("was migrated to schema version 99"));
  EXPECT_FALSE(wait_for(upkeep.replace_fact("name", std::nullopt, "value")));
  execute(directory_.file(), "PRAGMA user_version = 1");
  sql::SqlUpkeep old(session());
  EXPECT_FALSE(wait_for(old.overview()));
  EXPECT_THAT(old.trouble(), HasSubstr("pawl migrate --store sqlite:"));
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
  sql::SqlReconciliationStore cases(session());
  EXPECT_FALSE(wait_for(cases.count_dead()));
}

// By this process or another: SQLite says so in the log's index.
TEST_F(SqliteFile, CheckpointsAreNoReasonToStop) {
  Options options;
  options.checkpoint_pages = 64;
  const auto store = opened(directory_.file(), options);
  sql::SqlReconciliationStore cases(session());
  for (int i = 0; i < 300; ++i) {
    const Record next = testing::an_in_progress_record("row-" + std::to_string(i));
    ASSERT_EQ(told(insert(*store, next)), "mine") << store->trouble().value_or("");
    if (i % 20 == 0) {
      execute(directory_.file(),
              i % 40 == 0 ? "PRAGMA wal_checkpoint(TRUNCATE)" : "PRAGMA wal_checkpoint(PASSIVE)");
    }
    ASSERT_TRUE(wait_for(cases.count_dead())) << cases.trouble();
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

TEST_F(SqliteFile, AWorkspaceThatWasReplacedIsNotGoneOnWith) {
  const LedgerRange range{"provider", testing::some_time(), testing::some_time() + hours(1)};
  const auto workspace = open_ledger_workspace(directory_.file("sheet"));
  ASSERT_TRUE(workspace);
  ASSERT_TRUE(wait_for((*workspace)->begin(range)));
  { ASSERT_TRUE(open_ledger_workspace(directory_.file("other"))); }
  std::filesystem::rename(directory_.file("other"), directory_.file("sheet"));
  const auto begun = wait_for((*workspace)->begin(range));
  ASSERT_FALSE(begun);
  EXPECT_THAT((*workspace)->trouble(), HasSubstr("is another file"));
}

}  // namespace
}  // namespace pawl::sqlite
