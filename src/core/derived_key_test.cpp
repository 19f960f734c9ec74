#include "src/core/derived_key.hpp"

#include <gtest/gtest.h>

#include "src/core/sha256.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;

TEST(DerivedKey, PartsCannotRunIntoEachOther) {
  EXPECT_NE(phase_key(Scope{"a"}, Key{"bc"}, "d"), phase_key(Scope{"ab"}, Key{"c"}, "d"));
  EXPECT_NE(phase_key(Scope{"a"}, Key{"b"}, "c:1:d"), phase_key(Scope{"a"}, Key{"b"}, "c"));
  EXPECT_NE(run_id(Scope{"a"}, Key{"b"}, Instant(1us), "c"),
            run_id(Scope{"a"}, Key{"b"}, Instant(2us), "c"));
}

// Calls that are under way must be found again by the next version: these never change.
TEST(DerivedKey, NeverChanges) {
  EXPECT_EQ(phase_key(Scope{"lib:a"}, Key{"k"}, "charge"),
            hex(sha256("pawl-phase-key:5:lib:a:1:k:6:charge")));
  EXPECT_EQ(outbox_key(Scope{"t\xc3\xa4"}, Key{"k"}, "mail", "", Instant(17us)),
            hex(sha256("pawl-derived-key:2:t\xc3\xa4:1:k:4:mail:0::2:17")));
  EXPECT_EQ(former_outbox_key(Scope{"t\xc3\xa4"}, Key{"k"}, "mail", ""),
            hex(sha256("pawl-derived-key:2:t\xc3\xa4:1:k:4:mail:0:")));
}

}  // namespace
}  // namespace pawl
