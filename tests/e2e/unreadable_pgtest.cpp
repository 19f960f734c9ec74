// Records that this version cannot understand, more of them than a pass takes at once.
#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

class Unreadable : public OnPostgres {
 protected:
  std::string query(const std::string& sql) { return shared_postgres().query(sql, database()); }
};

TEST_F(Unreadable, RowsAreCountedAndToldOnce) {
  const std::string lapsed = R"('1.-.f', 'o', '{"v":1,"lease_us":1}')";
  query("SELECT count(*) FROM generate_series(1, 600) i, pawl.reserve('s', 'spoilt-' || i, " +
        lapsed + ")");
  query(R"(UPDATE pawl.keys SET policy = '{"v":99}')");
  query("SELECT pawl.reserve('s', 'sound', " + lapsed + ")");
  ServeProcess& gateway = start({.policy = "", .top = "sweep_interval = \"1s\"", .rest = ""});
  EXPECT_TRUE(until([&] {
    return query("SELECT status FROM pawl.keys WHERE idempotency_key = 'sound'") == "unknown";
  }));
  EXPECT_TRUE(until([&] { return metric(gateway, "pawl_unreadable_records") == 600; }));
  EXPECT_EQ(query("SELECT DISTINCT status FROM pawl.keys WHERE idempotency_key <> 'sound'"),
            "in_progress");
  const std::string told = "600 records cannot be understood";
  EXPECT_TRUE(gateway.wait_for_text(told));
  EXPECT_EQ(gateway.terminate(), 0);
  const std::string all = gateway.out() + gateway.err();
  EXPECT_EQ(all.find(told), all.rfind(told)) << "once is enough";
}

}  // namespace
}  // namespace pawl::e2e
