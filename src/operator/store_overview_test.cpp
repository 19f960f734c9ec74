#include "src/operator/store_overview.hpp"

#include <gmock/gmock.h>

#include "src/operator/ports_for_tests.hpp"

namespace pawl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StoreOverview an_overview() {
  StoreOverview overview;
  overview.schema_version = 7;
  overview.purge_epoch = 3;
  overview.now = Instant(std::chrono::hours(48));
  overview.keys = {{"completed", 12}, {"unknown", 1}};
  overview.audit = 4;
  return overview;
}

TEST(StoreSummary, SaysWhatTheStoreHolds) {
  testing::OperatorWorld world;
  world.upkeep.counted = an_overview();
  const auto summary = testing::run(summarize_store(world.upkeep));
  ASSERT_TRUE(summary);
  EXPECT_EQ(store_summary(*summary, "postgres://pawl:secret@db/pawl"),
            "store     postgres://pawl:***@db/pawl\nschema    version 7\nrestored  never\n"
            "keys      12 completed, 1 unknown\noutbox    none\nevidence  0\naudit     4\n");
  EXPECT_EQ(store_summary_json(*summary),
            R"({"schema_version":7,"purge_epoch":3,"restoration":null,"in_force":false,)"
            R"("keys":{"completed":12,"unknown":1},"outbox":{},"evidence":0,"audit":4})"
            "\n");
}

TEST(StoreSummary, SaysWhatARestorationForbids) {
  testing::OperatorWorld world;
  world.upkeep.counted = an_overview();
  const auto at = [](int hours) { return Instant(std::chrono::hours(hours)); };
  const auto text = [&](const StoredRestoration& restoration) {
    world.upkeep.facts[restoration_fact] = to_json(restoration);
    return store_summary(*testing::run(summarize_store(world.upkeep)), "sqlite:pawl.db");
  };
  EXPECT_THAT(text({at(20), at(24), at(72), true, false}),
              HasSubstr("at 1970-01-02T00:00:00Z from a backup of 1970-01-01T20:00:00Z; keys that "
                        "are not in the store are refused until 1970-01-04T00:00:00Z\n"));
  EXPECT_THAT(text({at(20), at(24), at(47), true, false}), HasSubstr("; in force until "));
  EXPECT_THAT(text({at(20), at(24), at(72), false, true}), HasSubstr("NOT FINISHED"));
  world.upkeep.facts[restoration_fact] = "{}";
  EXPECT_FALSE(testing::run(summarize_store(world.upkeep))) << "not understood is not never";
}

TEST(StoreSummary, CountsKeysInWords) {
  EXPECT_EQ(keys_in_words({0, true}, 100), "0 keys");
  EXPECT_EQ(keys_in_words({100, true}, 100), "100 keys");
  EXPECT_EQ(keys_in_words({101, false}, 100), "more than 100 keys");
  EXPECT_EQ(keys_in_words({3'400'000, false}, 100), "about 3400000 keys");
}

}  // namespace
}  // namespace pawl
