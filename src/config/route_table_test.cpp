#include "src/config/route_table.hpp"

#include <gtest/gtest.h>

#include "src/config/read_for_tests.hpp"

namespace pawl::config {
namespace {

TEST(LookupLimit, IsTheStrictestOfTheRoutesThatShareTheScope) {
  const Config config = good(R"(
[policy]
lookups_per_second = 50
[[route]]
match = "POST /strict"
name = "strict"
lookups_per_second = 2
[[route]]
match = "POST /loose"
name = "loose"
lookups_per_second = "off"
[[route]]
match = "POST /own"
name = "own"
key_scope = "caller+route"
lookups_per_second = 9
[[route]]
match = "POST /open"
name = "open"
key_scope = "caller+route"
lookups_per_second = "off"
)");
  const Routes routes(config);
  EXPECT_EQ(routes.lookups_per_second(routes.fallback()), 2);
  EXPECT_EQ(routes.lookups_per_second(*routes.named("strict")), 2);
  EXPECT_EQ(routes.lookups_per_second(*routes.named("loose")), 2) << "it would be the way around";
  EXPECT_EQ(routes.lookups_per_second(*routes.named("own")), 9) << "keys of its own";
  EXPECT_EQ(routes.lookups_per_second(*routes.named("open")), std::nullopt);
}

TEST(PlainPath, UndoesOnlyWholeEscapesOfUnreservedCharacters) {
  EXPECT_EQ(plain_path("/%70%61y%2Fx%7E%2541"), "/pay%2Fx~%2541");
  EXPECT_EQ(plain_path("/%5z/%6g/%4"), "/%5z/%6g/%4");
}

}  // namespace
}  // namespace pawl::config
