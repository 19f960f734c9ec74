#include "src/boundary/settled_notices.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

struct Counting final : Wakeable {
  void wake() override { ++woken; }
  int woken = 0;
};

const Scope scope{"tenant-a"};
const Key key{"a-key-of-sixteen"};

TEST(HintsBetweenNodes, WakeWhoeverWatchesThatKey) {
  SettledNotices hints;
  const auto waiter = std::make_shared<Counting>();
  const auto other = std::make_shared<Counting>();
  const Subscription subscription(hints, scope, key, waiter);
  const Subscription elsewhere(hints, Scope{"tenant-b"}, key, other);
  EXPECT_TRUE(hints.heard(SettledNotices::name_of(scope, key)));
  EXPECT_EQ(waiter->woken, 1);
  EXPECT_EQ(other->woken, 0) << "the same key of another tenant";
}

TEST(HintsBetweenNodes, AreForgottenWithTheWatch) {
  SettledNotices hints;
  const auto waiter = std::make_shared<Counting>();
  { const Subscription subscription(hints, scope, key, waiter); }
  EXPECT_FALSE(hints.heard(SettledNotices::name_of(scope, key)));
  EXPECT_EQ(waiter->woken, 0);
}

TEST(HintsBetweenNodes, NameNoKey) {
  const std::string name = SettledNotices::name_of(scope, key);
  EXPECT_EQ(name.find(key.text), std::string::npos);
  EXPECT_NE(name, SettledNotices::name_of(Scope{"tenant-"}, Key{"aa-key-of-sixteen"}));
}

}  // namespace
}  // namespace pawl
