#include "examples/payments/states.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace pawl::payments {
namespace {

// All 49 pairs: what is not named here is not allowed.
TEST(States, OnlyTheseTransitionsAreValid) {
  const std::set<std::string> valid{
      "pending captured",   "pending failed",     "captured refunding",  "captured cancelling",
      "refunding refunded", "refunding captured", "cancelling captured", "cancelling cancelled",
  };
  for (const auto& [from, from_name] : Names<Status>::table) {
    for (const auto& [to, to_name] : Names<Status>::table) {
      std::string pair(from_name);
      pair.append(" ").append(to_name);
      EXPECT_EQ(may_become(from, to), valid.contains(pair)) << pair;
    }
  }
}

}  // namespace
}  // namespace pawl::payments
