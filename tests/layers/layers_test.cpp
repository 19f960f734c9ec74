#include "tests/layers/layers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::layers {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Layers, NoFileReachesWhereItMayNot) {
  const Report report = check(PAWL_SOURCE_DIR);
  EXPECT_THAT(report.violations, IsEmpty());
  EXPECT_GT(report.files, 40U) << "the rules looked at almost nothing";
}

TEST(Layers, ACoreFileThatReachesForBoostOrAPortIsReported) {
  EXPECT_THAT(violations_in("src/core/decide.cpp", "#include <boost/asio.hpp>\n"), SizeIs(1));
  EXPECT_THAT(violations_in("src/core/decide.cpp", "#include \"pawl/ports/store.hpp\"\n"),
              SizeIs(1));
  EXPECT_THAT(violations_in("include/pawl/core/key.hpp", "  #  include <openssl/evp.h>\n"),
              SizeIs(1));
}

TEST(Layers, AnEngineFileThatReachesForAnAdapterIsReported) {
  EXPECT_THAT(violations_in("src/engine/reserve.cpp",
                            "#include \"src/adapters/memory/memory_store.hpp\"\n"),
              SizeIs(1));
  EXPECT_THAT(violations_in("src/engine/reserve.cpp", "#include <libpq-fe.h>\n"), SizeIs(1));
}

TEST(Layers, AnAdapterThatReachesForTheEngineOrANeighbourIsReported) {
  EXPECT_THAT(violations_in("src/adapters/sqlite/store.cpp", "#include \"pawl/engine.hpp\"\n"),
              SizeIs(1));
  EXPECT_THAT(violations_in("src/adapters/sqlite/store.cpp", "#include <libpq-fe.h>\n"), SizeIs(1));
  EXPECT_THAT(
      violations_in("src/adapters/sqlite/store.cpp", "#include \"src/adapters/os/random.hpp\"\n"),
      SizeIs(1));
}

TEST(Layers, WhatIsAllowedIsNotReported) {
  EXPECT_THAT(
      violations_in("src/core/decide.cpp", "#include <vector>\n#include \"pawl/core/key.hpp\"\n"),
      IsEmpty());
  EXPECT_THAT(violations_in("src/adapters/sqlite/store.cpp", "#include <sqlite3.h>\n"), IsEmpty());
  EXPECT_THAT(violations_in("src/engine/guard_test.cpp", "#include \"testing/run.hpp\"\n"),
              IsEmpty());
}

}  // namespace
}  // namespace pawl::layers
