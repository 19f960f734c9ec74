// Flows on a store that is encrypted at rest: what a phase completes in its own transaction.
#include <fstream>

#include "src/core/encoding.hpp"
#include "tests/libpawl/flows_fixture.hpp"

namespace pawl::testing {
namespace {

class SealedFlowsTest : public FlowsTest {
 protected:
  SealedFlowsTest() {
    std::ofstream(keys_file_) << "2026 " << to_base64(std::string(32, 'k')) << "\n";
  }

  // Each has its own memory of keys and answers.
  Node sealing_node() {
    NodeOptions options;
    options.encryption_keys_file = keys_file_;
    return pawl::open(url(), options);
  }
  std::string stored(const std::string& column) {
    return ask("SELECT " + column + " FROM " + keys_table());
  }
  std::string stored_body_in_hex() {
    return stored(on_postgres() ? "encode(response_body, 'hex')" : "lower(hex(response_body))");
  }
  // What `pawl scopes forget` commits.
  void forget_all(Transaction& tx) const {
    const std::string prefix = on_postgres() ? "pawl." : "";
    tx.execute("UPDATE " + prefix + "data_keys SET wrapped = ''");
    const std::string value =
        on_postgres() ? "(CAST(value AS bigint) + 1)::text" : "CAST(value AS INTEGER) + 1";
    tx.execute("UPDATE " + prefix + "meta SET value = " + value + " WHERE name = 'purge_epoch'");
  }

 private:
  TemporaryFolder keys_folder_;
  const std::string keys_file_ = (keys_folder_.path() / "encryption.keys").string();
};

TEST_P(SealedFlowsTest, AnAnswerThatAPhaseCompletesIsSealedAndReplayedAsItWas) {
  Node sealing = sealing_node();
  Flow flow(sealing, {.name = "payments"});
  declare(flow, scripted({answer(201)}));
  const Response first = flow.handle("tenant-a", payment("flow-key-00000001"));
  EXPECT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(stored("response_schema_version"), "101");
  EXPECT_EQ(stored_body_in_hex().find(to_hex(first.body)), std::string::npos);
  Node other = sealing_node();
  Flow there(other, {.name = "payments"});
  declare(there, scripted({answer(201)}));
  const Response second = there.handle("tenant-a", payment("flow-key-00000001"));
  EXPECT_EQ(second.status, 201);
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(header(second, "Location"), "/v1/payments/1");
  EXPECT_EQ(header(second, "Idempotent-Replayed"), "true");
  EXPECT_EQ(sent.size(), 1U);
}

TEST_P(SealedFlowsTest, AnAnswerCompletedWhileItsScopeIsForgottenIsReplayed) {
  Node sealing = sealing_node();
  Flow flow(sealing, {.name = "forgotten"});
  flow.local("only", [this](Transaction& tx, const pawl::Run&) {
    forget_all(tx);
    return respond({201, {}, "paid"});
  });
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 201);
  for (int turn = 0; turn < 2; ++turn) {
    Node other = sealing_node();
    Flow there(other, {.name = "forgotten"});
    there.local("only", [](Transaction&, const pawl::Run&) { return respond({500, {}, "again"}); });
    const Response replay = there.handle("tenant-a", payment("flow-key-00000001"));
    EXPECT_EQ(replay.status, 201) << replay.body;
    EXPECT_EQ(replay.body, "paid");
    EXPECT_EQ(stored("response_schema_version"), "101") << "sealed by the request that found it";
  }
}

INSTANTIATE_TEST_SUITE_P(Both, SealedFlowsTest,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres), store_name);

}  // namespace
}  // namespace pawl::testing
