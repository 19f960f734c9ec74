// Other spellings of a guarded path: none of them gets past its route.
#include "tests/e2e/wire_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> spellings{
    "//v1/payments", "/v1//payments", "/v1%2Fpayments", "/v1%2fpayments", "/v1/payments/",
    "/v1/payments;x=1", "/v1;x/payments", "/v1/payments//", "/v1/payments%2F", "/v1/payments%3Bx=1",
    "/v1/;x/payments", "/%2Fv1/payments",
    // Where parameters are dropped before escapes are undone:
    "/v1/payments;x=%2Fy", "/v1;a%2Fb/payments", "/v1/payments%3Bx%2Fy", "/;a%5Cb/v1/payments",
    // Behind a hop that decodes them once more, or makes a request line of what it has decoded.
    "/v1/payments%3fx=1", "/v1/payments%23", "/v1/payments%20", "/v1/payments%252F",
    "/v1%252Fpayments", "/v1/%2570ayments", "/v1/x/%252e%252e/payments", "/v1/x/..%3b/payments"};

class Aliases : public OwnGateway {
 protected:
  HttpAnswer pay(const std::string& path, const std::string& key) {
    return testing::post(gateway().port(), {.key = key, .path = path});
  }
};

TEST_F(Aliases, AreRefusedWhereTheRouteIsGuardedAndTheRestIsNot) {
  for (const std::string rest : {"key = \"off\"", "key = \"optional\"", "mode = \"observe\""}) {
    start("[policy]\n" + rest +
          "\n[[route]]\nmatch = \"POST /v1/payments\"\nkey = \"required\"\nmode = \"sync\"\n");
    const std::size_t before = upstream.count();
    for (const std::string& path : spellings) {
      const HttpAnswer answer = pay(path, "");
      EXPECT_EQ(answer.status, 400) << path;
      EXPECT_THAT(answer.body, HasSubstr("bad-request")) << path;
    }
    EXPECT_EQ(upstream.count(), before);
  }
}

TEST_F(Aliases, ExecuteNothingTwiceWhereKeysBelongToTheirRoute) {
  start(
      "[policy]\nkey_scope = \"caller\"\n[[route]]\nmatch = \"POST /v1/payments\"\n"
      "name = \"payments\"\nkey_scope = \"caller+route\"\n");
  const std::string key = "one-key-one-payment-1";
  EXPECT_EQ(pay("/v1/payments", key).status, 201);
  for (const std::string& path : spellings) EXPECT_EQ(pay(path, key).status, 400) << path;
  EXPECT_EQ(upstream.count(), 1U);
}

// A name with a parameter or a backslash in it is one for some servers and none for others.
TEST_F(Aliases, ThatOnlySomeServersReadAsTheRouteAreRefused) {
  start("[policy]\nkey = \"off\"\n[[route]]\nmatch = \"POST /v1/{name}\"\nkey = \"required\"\n");
  for (const std::string path : {"/v1//;x", "/v1//a%5Cb", "/v1//a%3B%2Fb"}) {
    EXPECT_EQ(pay(path, "").status, 400) << path;
  }
  EXPECT_EQ(upstream.count(), 0U);
  EXPECT_EQ(pay("/v1/a;x=1", "spelt-as-it-was-sent-1").status, 201);
}

TEST_F(Aliases, AreTheSameRouteWhereTheyMatchItAsSent) {
  start(
      "[policy]\nkey = \"off\"\n[[route]]\nmatch = \"POST /v1/*\"\nkey = \"required\"\n"
      "[[route]]\nmatch = \"POST /django/payments/\"\nkey = \"required\"\n");
  for (const std::string path : {"/v1//payments", "/v1/payments/", "/v1/a%2Fb", "/v1/a;x=1",
                                 "/%76%31/payments", "/django/payments/"}) {
    EXPECT_EQ(pay(path, "").status, 400) << path;
    EXPECT_EQ(pay(path, "spelt-" + std::string(16, 'x') + path).status, 201) << path;
    EXPECT_EQ(upstream.requests().back().target, path) << "forwarded as it was sent";
  }
  EXPECT_EQ(pay("/django/payments", "").status, 400);
}

// The same key with another spelling is neither replayed nor carried out.
TEST_F(Aliases, OfOnePathAreNotOneRequest) {
  start("[[route]]\nmatch = \"POST /v1/*\"\n");
  const std::string key = "one-key-one-payment-1";
  EXPECT_EQ(pay("/v1/accounts/1;currency=eur", key).status, 201);
  EXPECT_EQ(pay("/v1/accounts/1;currency=usd", key).status, 422);
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_F(Aliases, OfOurOwnPathsAreNotForwarded) {
  start();
  for (const std::string path : {"//_pawl/v1/policy", "/_pawl%2Fv1/policy", "/%5Fpawl/v1/policy",
                                 "/_pawl%252Fv1/policy", "/;a%2Fb/_pawl/v1/policy"}) {
    EXPECT_EQ(testing::get(gateway().port(), path).status, 400) << path;
  }
  EXPECT_EQ(upstream.count(), 0U);
}

// Reading changes nothing, so a page keeps its final slash.
TEST_F(Aliases, DoNotMatterToReaders) {
  start("[[route]]\nmatch = \"* /app/*\"\n");
  EXPECT_EQ(testing::get(gateway().port(), "/app/").status, 201);
  EXPECT_EQ(testing::get(gateway().port(), "/app//x").status, 201);
  EXPECT_EQ(pay("/app/", "a-key-of-sixteen-or-so").status, 400);
}

}  // namespace
}  // namespace pawl::e2e
