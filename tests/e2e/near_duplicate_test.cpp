// The double tap that mints a new key.
#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

class NearDuplicate : public OnSqlite {
 protected:
  Post other() const {
    Post same = payment;
    same.key = "another-key-of-the-same-tap";
    return same;
  }
};

TEST_F(NearDuplicate, IsReportedAndExecutedByDefault) {
  ServeProcess& gateway = start();
  EXPECT_EQ(post(gateway.port(), payment).value("Pawl-Near-Duplicate"), "");
  const HttpAnswer second = post(gateway.port(), other());
  EXPECT_EQ(second.status, 201);
  EXPECT_EQ(second.value("Pawl-Near-Duplicate"), "true");
  EXPECT_EQ(upstream.count(), 2U);
  EXPECT_EQ(post(gateway.port(), payment).value("Pawl-Near-Duplicate"), "") << "a replay";
  EXPECT_EQ(metric(gateway, "pawl_near_duplicates_total{route=\"default\"}"), 1);
}

TEST_F(NearDuplicate, IsRefusedWhereTheRouteSaysSo) {
  ServeProcess& gateway = start({"near_duplicates = \"refuse\"\n", "", ""});
  EXPECT_EQ(post(gateway.port(), payment).status, 201);
  const HttpAnswer second = post(gateway.port(), other());
  EXPECT_EQ(second.status, 409);
  EXPECT_EQ(problem_of(second), "near-duplicate");
  EXPECT_EQ(status_of(gateway, other().key), "404") << "nothing was written";
  EXPECT_EQ(upstream.count(), 1U);
  EXPECT_EQ(post(gateway.port(), payment).value("Idempotent-Replayed"), "true");
}

}  // namespace
}  // namespace pawl::e2e
