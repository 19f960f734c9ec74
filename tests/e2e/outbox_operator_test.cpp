// Dead letters and what an operator does with them.
#include "pawl/types/json.hpp"
#include "tests/e2e/outbox_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class OutboxOperator : public OutboxTest {
 protected:
  std::string audit() {
    const bool postgres = GetParam() == StoreKind::postgres;
    return sql(postgres ? "SELECT string_agg(concat_ws('|', action, actor, reason), ';' ORDER BY"
                          " recorded_at) FROM pawl.audit"
                        : "SELECT group_concat(action || '|' || actor || '|' || reason, ';')"
                          " FROM audit");
  }
};

TEST_P(OutboxOperator, APoisonRowIsRetriedParkedSeenRetriedAndDone) {
  provider.behave(Behaviour::answer(500));
  ServeProcess& worker = start_worker(destination("max_attempts = 4"));
  enqueue(1);
  ASSERT_TRUE(becomes(1, "dead"));
  EXPECT_EQ(provider.count(), 4U);
  EXPECT_EQ(column(1, "attempt"), "4");
  const testing::Finished listed = outbox({"list", "--status", "dead"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr(id_of(1) + "  dead  provider  attempts=4"));
  EXPECT_THAT(listed.out, HasSubstr("out of attempts; answered 500"));
  EXPECT_TRUE(until([&] {
    return metric(worker, R"(pawl_outbox_depth{destination="provider",status="dead"})") == 1;
  }));
  EXPECT_EQ(metric(worker, R"(pawl_outbox_total{destination="provider",result="dead"})"), 1);
  EXPECT_EQ(metric(worker, R"(pawl_outbox_total{destination="provider",result="retried"})"), 3);

  provider.behave([this](const ReceivedRequest& request) { return charge(ledger, request); });
  const testing::Finished retried =
      outbox({"retry", id_of(1), "--reason", "provider fixed it", "--actor", "ann"});
  EXPECT_EQ(retried.exit_code, 0) << retried.err;
  ASSERT_TRUE(becomes(1, "done"));
  EXPECT_EQ(ledger.effects(key_of(1)), 1);
  EXPECT_EQ(audit(), "outbox-retry|ann|provider fixed it");
  const testing::Finished again = outbox({"retry", id_of(1), "--reason", "once more"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("it is done"));
  EXPECT_TRUE(until([&] {
    return metric(worker, R"(pawl_outbox_depth{destination="provider",status="dead"})") == 0;
  }));
}

TEST_P(OutboxOperator, ARefusalIsADeadLetterAtOnce) {
  provider.behave(Behaviour::answer(422, R"({"error":"no such account"})"));
  start_worker(destination());
  enqueue(1);
  ASSERT_TRUE(becomes(1, "dead"));
  EXPECT_EQ(provider.count(), 1U);
  EXPECT_EQ(column(1, "response_code"), "422");
  EXPECT_EQ(column(1, "first_sent_at"), "") << "it has not happened";
}

TEST_P(OutboxOperator, AnUnknownRowIsSentAgainOnlyByWhoeverHasLooked) {
  provider.behave(Behaviour::reset());
  start_worker(destination("dedupes = false"));
  enqueue(1);
  enqueue(2);
  ASSERT_TRUE(becomes(1, "unknown"));
  ASSERT_TRUE(becomes(2, "unknown"));
  const testing::Finished refused = outbox({"retry", id_of(1), "--reason", "why not"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("--nothing-happened"));
  EXPECT_EQ(status(1), "unknown");
  const testing::Finished shown = outbox({"show", id_of(1)});
  EXPECT_THAT(shown.out, HasSubstr("it may have happened"));
  EXPECT_THAT(shown.out, HasSubstr(key_of(1)));
  provider.behave(
      [this](const ReceivedRequest& request) { return charge(ledger, request, false); });
  EXPECT_EQ(outbox({"retry", id_of(1), "--reason", "asked them", "--nothing-happened"}).exit_code,
            0);
  ASSERT_TRUE(becomes(1, "done"));
  EXPECT_EQ(ledger.effects(key_of(1)), 1);
  EXPECT_EQ(
      outbox({"confirm", id_of(2), "--provider-id", "ch_9", "--reason", "it is there"}).exit_code,
      0);
  EXPECT_EQ(status(2), "done");
  EXPECT_EQ(column(2, "provider_id"), "ch_9");
  EXPECT_EQ(ledger.effects(key_of(2)), 0) << "nobody sent it again";
}

TEST_P(OutboxOperator, ADiscardedRowIsKeptAndNeverSent) {
  provider.behave(Behaviour::answer(400));
  start_worker(destination());
  enqueue(1);
  ASSERT_TRUE(becomes(1, "dead"));
  EXPECT_EQ(outbox({"discard", id_of(1), "--reason", "refunded"}).exit_code, 0);
  EXPECT_THAT(outbox({"list"}).out, Not(HasSubstr(id_of(1))));
  EXPECT_THAT(outbox({"list", "--discarded"}).out, HasSubstr(id_of(1) + "  discarded"));
  EXPECT_EQ(outbox({"discard", id_of(1), "--reason", "again"}).exit_code, 1);
  enqueue(2);
  ASSERT_TRUE(becomes(2, "dead"));
  EXPECT_EQ(provider.effects(key_of(1)), 1U);
}

TEST_P(OutboxOperator, ScriptsReadJson) {
  start_worker(destination());
  enqueue(1);
  ASSERT_TRUE(becomes(1, "done"));
  const testing::Finished listed = outbox({"list", "--json"});
  const auto document = json::read(listed.out);
  ASSERT_TRUE(document) << listed.out;
  const json::Value* rows = document->find("rows");
  ASSERT_TRUE(rows != nullptr && rows->items.size() == 1);
  EXPECT_EQ(rows->items.front().find("status")->text, "done");
  EXPECT_EQ(rows->items.front().find("provider_id")->text, "ch_" + key_of(1));
  const testing::Finished shown = outbox({"show", id_of(1), "--json"});
  EXPECT_EQ(member_of(shown.out, "id"), id_of(1));
  EXPECT_THAT(shown.out, Not(HasSubstr("amount"))) << "bodies are nobody's business";
}

TEST_P(OutboxOperator, WrongUsageIsNamed) {
  start_worker(destination());
  EXPECT_EQ(outbox({"list", "--status", "lost"}).exit_code, 64);
  EXPECT_EQ(outbox({"retry", id_of(1)}).exit_code, 64) << "without a reason";
  EXPECT_EQ(outbox({"retry", id_of(1), "--reason", " "}).exit_code, 64);
  const testing::Finished missing = outbox({"show", id_of(1)});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, HasSubstr("there is no outbox row"));
  EXPECT_EQ(outbox({"--help"}).exit_code, 0);
}

PAWL_ON_EVERY_STORE(OutboxOperator);

}  // namespace
}  // namespace pawl::e2e
