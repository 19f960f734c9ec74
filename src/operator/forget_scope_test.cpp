#include "src/operator/forget_scope.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/adapters/memory/memory_data_key_store.hpp"
#include "src/adapters/memory/memory_store.hpp"
#include "testing/builders.hpp"
#include "testing/run.hpp"

namespace pawl {
namespace {

using ::testing::HasSubstr;
using testing::run;

TEST(ForgetScope, IsRefusedWithoutAReasonAndWhileKeysAreOpen) {
  memory::MemoryStore store([] { return testing::some_time(); });
  memory::MemoryDataKeyStore keys;
  const Scope scope{"tenant-a"};
  const auto nothing = run(forget_scope(store, keys, {scope, false, {"alice", "asked to"}}));
  EXPECT_THAT(nothing.error().sentence, HasSubstr("has no data key"));
  EXPECT_TRUE(*run(keys.add({scope, 1, "2026", "wrapped"})));
  EXPECT_EQ(run(forget_scope(store, keys, {scope, false, {"alice", ""}})).error().kind,
            Refusal::Kind::malformed);
  EXPECT_TRUE(run(store.insert_or_read_one(testing::an_in_progress_record()))->mine);
  const auto open = run(forget_scope(store, keys, {scope, false, {"alice", "asked to"}}));
  EXPECT_THAT(open.error().sentence, HasSubstr("1 keys of this scope are pending"));
  EXPECT_EQ(run(keys.keys_of(scope))->front().wrapped, "wrapped");
  EXPECT_EQ(*run(forget_scope(store, keys, {scope, true, {"alice", "asked to"}})), 1U);
  EXPECT_EQ(run(keys.keys_of(scope))->front().wrapped, "");
}

}  // namespace
}  // namespace pawl
