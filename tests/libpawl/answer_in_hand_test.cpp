// An answer that a phase has in hand and cannot record at once. Where the other side does not
// dedupe it is all that anybody will ever know.
#include <libpq-fe.h>
#include <sys/socket.h>

#include <thread>

#include "tests/libpawl/flows_fixture.hpp"

namespace pawl::testing {
namespace {

using namespace std::chrono_literals;

constexpr const char* key = "flow-in-hand-000001";

class AnswerInHandTest : public FlowsTest {
 protected:
  // charge (foreign, not deduped), whose answer is recorded by `record`.
  void declare_charge(Flow& flow, std::function<void(Transaction&)> record) {
    Destination provider = scripted({answer(201, {{"X-Charge", "ch_1"}})});
    provider.dedupes = false;
    flow.local("create", [](Transaction&, const pawl::Run&) { return advance("charge"); });
    flow.foreign(
        "charge", provider, [](const pawl::Run&) { return Outbound{.path = "/charges"}; },
        [record](Transaction& tx, const pawl::Run&, const Response& heard) {
          note(tx, "charged", heard.body);
          record(tx);
          return respond({201, {}, heard.body});
        });
  }

  std::string evidence(const std::string& columns) {
    return ask("SELECT " + columns + " FROM " + evidence_table() + " WHERE idempotency_key = '" +
               key + "'");
  }
  [[nodiscard]] std::string evidence_table() const {
    return on_postgres() ? "pawl.evidence" : "evidence";
  }
  void execute(const std::string& sql) {
    node.transact([&](Database& database) { database.execute(sql); });
  }
};

TEST_P(AnswerInHandTest, WaitsForADatabaseThatIsAwayForAWhile) {
  int failures = 3;
  Flow flow(node, {.name = "payments"});
  declare_charge(flow, [&](Transaction& tx) {
    if (failures-- <= 0) return;
    if (!on_postgres()) throw DatabaseError("SQLITE_5", "database is locked");
    ::shutdown(PQsocket(tx.native<pg_conn*>()), SHUT_RDWR);
    tx.query("SELECT 1");
  });
  const Response told = flow.handle("tenant-a", payment(key));
  EXPECT_EQ(told.status, 201) << told.body;
  EXPECT_EQ(sent.size(), 1U);
  EXPECT_EQ(count("charged"), "1");
  EXPECT_EQ(status(key), "completed");
  EXPECT_EQ(evidence("count(*)"), "0");
}

TEST_P(AnswerInHandTest, IsKeptAsEvidenceWhereItCannotBeRecorded) {
  Flow flow(node, {.name = "payments"});
  declare_charge(flow, [](Transaction&) { throw std::runtime_error("a bug"); });
  EXPECT_EQ(flow.handle("tenant-a", payment(key)).status, 503);
  EXPECT_EQ(count("charged"), "0");
  EXPECT_EQ(evidence("count(*)"), "1");
  EXPECT_EQ(evidence("evidence"), "answered");
  EXPECT_EQ(evidence("response_code"), "201");
  EXPECT_EQ(evidence("detail"), "charge: its answer could not be recorded: a bug");
  const std::string headers = evidence("CAST(response_headers AS TEXT)");
  EXPECT_NE(headers.find("X-Charge"), std::string::npos) << headers;
  EXPECT_NE(headers.find(sent.at(0)), std::string::npos) << "which call it answers";
  EXPECT_EQ(metrics->count(Counter::double_execution), 0U);
  flow.handle("tenant-a", payment(key));
  EXPECT_EQ(status(key), "unknown") << "not sent again: the other side does not dedupe";
  EXPECT_EQ(sent.size(), 1U);
}

TEST_P(AnswerInHandTest, IsNotTriedAgainWhereItBreaksARule) {
  int tries = 0;
  execute("CREATE UNIQUE INDEX facts_once ON facts (name)");
  Flow flow(node, {.name = "payments"});
  declare_charge(flow, [&](Transaction& tx) {
    ++tries;
    note(tx, "charged", "again");
  });
  EXPECT_EQ(flow.handle("tenant-a", payment(key)).status, 503);
  EXPECT_EQ(tries, 1);
  EXPECT_EQ(evidence("response_code"), "201");
}

TEST_P(AnswerInHandTest, IsKeptAsEvidenceWhereSomebodyElseHasTheRecord) {
  at_point = [&](std::string_view point) {
    if (point == "charge:after-send") {
      execute("UPDATE " + keys_table() + " SET fence = fence + 1, owner = 'another'");
    }
  };
  Flow flow(node, {.name = "payments"});
  declare_charge(flow, [](Transaction&) {});
  EXPECT_EQ(flow.handle("tenant-a", payment(key)).status, 409);
  EXPECT_EQ(count("charged"), "0");
  EXPECT_EQ(evidence("response_code"), "201");
  EXPECT_NE(evidence("detail").find("taken over"), std::string::npos);
  EXPECT_EQ(metrics->count(Counter::double_execution), 1U);
}

TEST_P(AnswerInHandTest, OutlivesAStoreThatCannotKeepEvidence) {
  const std::string at = "CREATE TRIGGER not_now BEFORE INSERT ON " + evidence_table();
  if (on_postgres()) {
    execute(
        "CREATE FUNCTION not_now() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN RAISE EXCEPTION ''not now''; END'");
    execute(at + " FOR EACH ROW EXECUTE FUNCTION not_now()");
  } else {
    execute(at + " BEGIN SELECT RAISE(ABORT, 'not now'); END");
  }
  Flow flow(node, {.name = "payments"});
  declare_charge(flow, [](Transaction&) { throw std::runtime_error("a bug"); });
  EXPECT_EQ(flow.handle("tenant-a", payment(key)).status, 503);
  EXPECT_NE(log().find("in memory alone"), std::string::npos) << log();
  EXPECT_EQ(evidence("count(*)"), "0");
  execute(on_postgres() ? "DROP TRIGGER not_now ON pawl.evidence" : "DROP TRIGGER not_now");
  while (evidence("count(*)") != "1") std::this_thread::yield();
  EXPECT_EQ(evidence("response_code"), "201");
}

INSTANTIATE_TEST_SUITE_P(Stores, AnswerInHandTest,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres), store_name);

}  // namespace
}  // namespace pawl::testing
