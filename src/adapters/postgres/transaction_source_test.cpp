// What needs no server. With one: tests/libpawl.
#include "src/adapters/postgres/transaction_source.hpp"

#include <gtest/gtest.h>

namespace pawl::postgres {
namespace {

using namespace std::chrono_literals;

TEST(PostgresTransactions, RefuseLimitsThatMakeNoSense) {
  const auto unconnected = open_transactions("postgres://", {}, {.connections = 0});
  ASSERT_FALSE(unconnected);
  EXPECT_EQ(unconnected.error(), "NodeOptions::connections must be at least 1");
  const auto hasty = open_transactions("postgres://", {}, {.connections = 1, .statement_max = 0ms});
  ASSERT_FALSE(hasty);
  EXPECT_EQ(hasty.error(), "NodeOptions::statement_timeout must be at least 1ms");
}

TEST(PostgresTransactions, WhatBreaksARuleOfTheDatabaseDoesNotPass) {
  const auto source = open_transactions("postgres://", {}, {});
  ASSERT_TRUE(source);
  for (const char* code : {"22021", "23505", "25P02", "42601", "P0001"}) {
    EXPECT_FALSE((*source)->may_pass(DatabaseError(code, ""))) << code;
  }
  for (const char* code : {"08006", "40001", "53300", "57014", "PW002", ""}) {
    EXPECT_TRUE((*source)->may_pass(DatabaseError(code, ""))) << code;
  }
}

}  // namespace
}  // namespace pawl::postgres
