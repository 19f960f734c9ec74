#include "src/gateway/hints.hpp"

#include <gtest/gtest.h>

namespace pawl::gateway {
namespace {

struct Counting final : Hints::Waiter {
  void wake() override { ++woken; }
  int woken = 0;
};

const Scope scope{"tenant-a"};
const Key key{"a-key-of-sixteen"};

TEST(HintsBetweenNodes, WakeWhoeverWatchesThatKey) {
  Hints hints;
  const auto waiter = std::make_shared<Counting>();
  const auto other = std::make_shared<Counting>();
  const Lookout lookout(hints, scope, key, waiter);
  const Lookout elsewhere(hints, Scope{"tenant-b"}, key, other);
  EXPECT_TRUE(hints.heard(Hints::name_of(scope, key)));
  EXPECT_EQ(waiter->woken, 1);
  EXPECT_EQ(other->woken, 0) << "the same key of another tenant";
}

TEST(HintsBetweenNodes, AreForgottenWithTheWatch) {
  Hints hints;
  const auto waiter = std::make_shared<Counting>();
  { const Lookout lookout(hints, scope, key, waiter); }
  EXPECT_FALSE(hints.heard(Hints::name_of(scope, key)));
  EXPECT_EQ(waiter->woken, 0);
}

TEST(HintsBetweenNodes, NameNoKey) {
  const std::string name = Hints::name_of(scope, key);
  EXPECT_EQ(name.find(key.text), std::string::npos);
  EXPECT_NE(name, Hints::name_of(Scope{"tenant-"}, Key{"aa-key-of-sixteen"}));
}

}  // namespace
}  // namespace pawl::gateway
