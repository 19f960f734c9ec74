#include "src/adapters/sqlite/transaction_source.hpp"

#include <gtest/gtest.h>

#include "src/adapters/sqlite/test_support.hpp"

namespace pawl::sqlite {
namespace {

TEST(SqliteTransactions, WhatBreaksARuleOfTheDatabaseDoesNotPass) {
  const TempDir directory;
  const auto source = open_transactions(directory.file(), WhenOld::migrate);
  ASSERT_TRUE(source) << source.error();
  for (const int code : {SQLITE_ERROR, SQLITE_CONSTRAINT_UNIQUE, SQLITE_MISMATCH, SQLITE_RANGE}) {
    EXPECT_FALSE((*source)->may_pass(DatabaseError("SQLITE_" + std::to_string(code), ""))) << code;
  }
  for (const int code : {SQLITE_BUSY, SQLITE_FULL, SQLITE_IOERR_FSYNC}) {
    EXPECT_TRUE((*source)->may_pass(DatabaseError("SQLITE_" + std::to_string(code), ""))) << code;
  }
  EXPECT_TRUE((*source)->may_pass(DatabaseError("SQLITE_CANTOPEN", "")));
}

TEST(SqliteTransactions, AFileThatIsNoneOfOursIsRefused) {
  const auto source = open_transactions("", WhenOld::migrate);
  ASSERT_FALSE(source);
  EXPECT_FALSE(source.error().empty());
}

TEST(SqliteTransactions, AThreadThatHasOneOpenGetsNoSecond) {
  const TempDir directory;
  const auto source = open_transactions(directory.file(), WhenOld::migrate);
  ASSERT_TRUE(source) << source.error();
  {
    const std::unique_ptr<PhaseTransaction> open = (*source)->begin();
    EXPECT_THROW(static_cast<void>((*source)->begin()), std::logic_error);
    open->query("CREATE TABLE own (text TEXT)", {});
    open->query("INSERT INTO own VALUES ($1)", {std::string("kept")});
    EXPECT_EQ(open->commit(), Commit::done);
  }
  const std::unique_ptr<PhaseTransaction> next = (*source)->begin();
  EXPECT_EQ(next->query("SELECT text FROM own", {}), Rows{{"kept"}});
}

TEST(SqliteTransactions, WhatIsNotCommittedIsRolledBack) {
  const TempDir directory;
  const auto source = open_transactions(directory.file(), WhenOld::migrate);
  ASSERT_TRUE(source) << source.error();
  (*source)->begin()->query("CREATE TABLE own (text TEXT)", {});
  EXPECT_THROW((*source)->begin()->query("SELECT text FROM own", {}), DatabaseError);
}

}  // namespace
}  // namespace pawl::sqlite
