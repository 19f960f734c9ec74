#include "tests/layers/layers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

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
  EXPECT_THAT(violations_in("src/core/decide.cpp", "#include \"src/ports/store.hpp\"\n"),
              SizeIs(1));
  EXPECT_THAT(violations_in("include/pawl/types/key.hpp", "  #  include <openssl/evp.h>\n"),
              SizeIs(1));
}

TEST(Layers, AnEngineFileThatReachesForAnAdapterIsReported) {
  EXPECT_THAT(violations_in("src/engine/reserve.cpp",
                            "#include \"src/adapters/memory/memory_store.hpp\"\n"),
              SizeIs(1));
  EXPECT_THAT(violations_in("src/engine/reserve.cpp", "#include <libpq-fe.h>\n"), SizeIs(1));
}

TEST(Layers, AnAdapterThatReachesForTheEngineOrANeighbourIsReported) {
  EXPECT_THAT(
      violations_in("src/adapters/sqlite/store.cpp", "#include \"src/engine/engine.hpp\"\n"),
      SizeIs(1));
  EXPECT_THAT(violations_in("src/adapters/sqlite/store.cpp", "#include <libpq-fe.h>\n"), SizeIs(1));
  EXPECT_THAT(
      violations_in("src/adapters/sqlite/store.cpp", "#include \"src/adapters/os/random.hpp\"\n"),
      SizeIs(1));
}

TEST(Layers, ALibraryFileThatReachesForADatabaseIsReported) {
  for (const char* header :
       {"sqlite3.h", "libpq-fe.h", "src/adapters/postgres/wire.hpp", "src/adapters/sql/session.hpp",
        "src/adapters/sqlite/database.hpp", "src/adapters/memory/memory_store.hpp"}) {
    const std::string line = std::string("#include \"") + header + "\"\n";
    EXPECT_THAT(violations_in("src/libpawl/flow_run.cpp", line), SizeIs(1)) << header;
    EXPECT_THAT(violations_in("include/pawl/database.hpp", line), SizeIs(1)) << header;
  }
  EXPECT_THAT(violations_in("src/libpawl/flow_run.cpp",
                            "#include \"src/ports/transactions.hpp\"\n"
                            "#include \"src/node/open_store.hpp\"\n"),
              IsEmpty());
}

TEST(Layers, AnExampleThatReachesForWhatIsNotInstalledIsReported) {
  EXPECT_THAT(violations_in("examples/common/json.hpp", "#include \"src/core/json_writer.hpp\"\n"),
              SizeIs(1));
  EXPECT_THAT(violations_in("examples/payments/api.cpp", "#include \"testing/run.hpp\"\n"),
              SizeIs(1));
  EXPECT_THAT(violations_in("examples/common/client.cpp",
                            "#include \"pawl/flow.hpp\"\n#include <boost/beast/http.hpp>\n"),
              IsEmpty());
}

TEST(Layers, ASimulationThatReachesForTheWorldIsReported) {
  EXPECT_THAT(violations_in("tests/sim/node.cpp", "#include \"src/gateway/gateway.hpp\"\n"),
              SizeIs(1));
  EXPECT_THAT(
      violations_in("tests/sim/node.cpp", "#include \"src/adapters/sqlite/sqlite_store.hpp\"\n"),
      SizeIs(1));
}

TEST(Layers, WhatIsAllowedIsNotReported) {
  EXPECT_THAT(
      violations_in("src/core/decide.cpp", "#include <vector>\n#include \"pawl/types/key.hpp\"\n"),
      IsEmpty());
  EXPECT_THAT(violations_in("src/adapters/sqlite/store.cpp", "#include <sqlite3.h>\n"), IsEmpty());
  EXPECT_THAT(violations_in("src/engine/guard_test.cpp", "#include \"testing/run.hpp\"\n"),
              IsEmpty());
}

TEST(Architecture, ThePictureIsTrue) {
  const std::filesystem::path root = PAWL_SOURCE_DIR;
  std::ifstream file(root / "docs" / "architecture.md");
  const Arrows drawn = arrows_drawn({std::istreambuf_iterator<char>(file), {}});
  const Arrows found = arrows_in(root);
  for (const auto& [from, to] : found) {
    EXPECT_TRUE(leads_to(drawn, from, to)) << "no way from " << from << " to " << to;
    EXPECT_FALSE(leads_to(drawn, to, from)) << from << " and " << to << " know each other";
  }
  for (const auto& [from, to] : drawn) {
    EXPECT_TRUE(found.contains({from, to})) << "nobody in " << from << " includes " << to;
  }
}

}  // namespace
}  // namespace pawl::layers
