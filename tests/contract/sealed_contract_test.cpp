// What a store keeps for encryption at rest: one contract on every store.
#include <gmock/gmock.h>

#include "src/adapters/memory/memory_data_key_store.hpp"
#include "src/adapters/sealed/sealed_outbox_store.hpp"
#include "src/adapters/sealed/sealed_reconciliation_store.hpp"
#include "src/adapters/sealed/sealed_store.hpp"
#include "src/adapters/sql/data_key_store.hpp"
#include "testing/builders.hpp"
#include "tests/contract/sql_node.hpp"

namespace pawl {
namespace {

using ::testing::HasSubstr;
using testing::Kind;
using ::testing::Not;
using testing::server;

const KeyRing ring{{{"2026", std::string(encryption_key_bytes, 'k')}}};
const KeyRing lost_ring{{{"2027", std::string(encryption_key_bytes, 'l')}}};

class DataKeyContract : public testing::OnBothStores {
 protected:
  DataKeyContract() {
    if (GetParam() == Kind::memory) {
      keys_ = std::make_shared<memory::MemoryDataKeyStore>();
    } else {
      node_ = connect();
      keys_ = std::make_shared<sql::SqlDataKeyStore>(node_->thread);
    }
  }

  std::unique_ptr<testing::SqlNode> node_;
  std::shared_ptr<DataKeyStore> keys_;
  const Scope a{"caller:a"};
  const Scope b{"caller:b"};
  const AuditEntry why{"operator alice", "scope-forget", "asked to"};
};

TEST_P(DataKeyContract, AGenerationIsAddedOnce) {
  const WrappedKey first{a, 1, "2025", std::string("\0\xFF wrapped", 10)};
  EXPECT_TRUE(*run_here(keys_->add(first)));
  WrappedKey other = first;
  other.wrapped = "another";
  EXPECT_FALSE(*run_here(keys_->add(other)));
  const WrappedKey second{a, 2, "2026", "second"};
  EXPECT_TRUE(*run_here(keys_->add(second)));
  EXPECT_EQ(*run_here(keys_->keys_of(a)), (std::vector{first, second}));
  EXPECT_TRUE(run_here(keys_->keys_of(b))->empty());
}

TEST_P(DataKeyContract, ThoseUnderOtherKeysArePagedAndRewrappedOnce) {
  std::vector<WrappedKey> all;
  for (int i = 1; i <= 3; ++i) {
    all.push_back({a, i, "2025", "a" + std::to_string(i)});
    all.push_back({b, i, i == 2 ? "2026" : "2025", "b" + std::to_string(i)});
  }
  for (const WrappedKey& key : all) EXPECT_TRUE(*run_here(keys_->add(key)));
  WrappedKey last;
  last.generation = 0;
  const auto page = run_here(keys_->not_under("2026", last, 4));
  EXPECT_EQ(*page, (std::vector{all[0], all[2], all[4], all[1]}));
  EXPECT_EQ(*run_here(keys_->not_under("2026", page->back(), 4)), std::vector{all[5]});
  const DataKeyStore::Counts counts{{"2025", 5}, {"2026", 1}};
  EXPECT_EQ(*run_here(keys_->counts()), counts);
  WrappedKey next = all[0];
  next.kek = "2026";
  next.wrapped = "rewrapped";
  EXPECT_TRUE(*run_here(keys_->rewrap(all[0], next)));
  EXPECT_FALSE(*run_here(keys_->rewrap(all[0], next))) << "it is not that any more";
  EXPECT_EQ(run_here(keys_->keys_of(a))->front(), next);
}

TEST_P(DataKeyContract, WhatIsForgottenIsErasedAndItsGenerationStaysUsed) {
  EXPECT_TRUE(*run_here(keys_->add({a, 1, "2025", "one"})));
  EXPECT_TRUE(*run_here(keys_->add({b, 1, "2025", "other"})));
  EXPECT_EQ(*run_here(keys_->forget(a, why)), 1U);
  EXPECT_EQ(*run_here(keys_->forget(a, why)), 0U);
  EXPECT_EQ(run_here(keys_->keys_of(a))->front().wrapped, "");
  EXPECT_FALSE(*run_here(keys_->add({a, 1, "2025", "again"})));
  EXPECT_FALSE(*run_here(keys_->rewrap({a, 1, "2025", "one"}, {a, 1, "2026", "back"})));
  WrappedKey last;
  last.generation = 0;
  EXPECT_EQ(run_here(keys_->not_under("2026", last, 10))->size(), 1U);
  EXPECT_EQ(run_here(keys_->keys_of(b))->front().wrapped, "other");
}

INSTANTIATE_TEST_SUITE_P(All, DataKeyContract,
                         ::testing::Values(Kind::memory, Kind::sqlite, Kind::postgres),
                         testing::kind_name);

class SealedPorts : public testing::OnBothStores {
 protected:
  std::shared_ptr<sealed::DataKeys> keys_of(const KeyRing& keys) {
    return std::make_shared<sealed::DataKeys>(std::make_shared<sql::SqlDataKeyStore>(node_->thread),
                                              keys);
  }
  std::unique_ptr<OutboxStore> outbox(const KeyRing& keys) {
    return std::make_unique<sealed::SealedOutboxStore>(
        std::make_unique<sql::SqlOutboxStore>(node_->thread), keys_of(keys));
  }
  std::unique_ptr<ReconciliationStore> cases(const KeyRing& keys) {
    return std::make_unique<sealed::SealedReconciliationStore>(
        std::make_unique<sql::SqlReconciliationStore>(node_->thread), keys_of(keys));
  }
  void execute(std::string sql) {
    if (GetParam() == Kind::postgres) {
      server().query(sql, database_);
      return;
    }
    for (std::size_t at = 0; (at = sql.find("pawl.")) != std::string::npos;) sql.erase(at, 5);
    sqlite::execute(directory_.file(), sql);
  }
  void enqueue() {
    const std::string now = GetParam() == Kind::sqlite ? "0" : "'2020-01-01'";
    execute(
        "INSERT INTO pawl.outbox (scope_id, id, idempotency_key, destination, derived_key,"
        " headers, body, next_attempt_at, created_at) VALUES ('caller:a',"
        " '00000000-0000-0000-0000-000000000001', 'k', 'bank', 'd', '[[\"A\",\"1\"]]', " +
        std::string(GetParam() == Kind::sqlite ? "x'00736563726574'" : "'\\x00736563726574'") +
        ", " + now + ", " + now + ")");
  }
  static OutboxClaim a_claim(const std::string& owner) {
    OutboxClaim claim;
    claim.destination = "bank";
    claim.owner = owner;
    claim.lease = std::chrono::microseconds(1);
    claim.rows_max = 10;
    return claim;
  }
  void forget() {
    const AuditEntry why{"operator alice", "scope-forget", "asked to"};
    EXPECT_EQ(*run_here(keys_of(ring)->store().forget(Scope{"caller:a"}, why)), 1U);
  }

  std::unique_ptr<testing::SqlNode> node_ = connect();
  const std::string body = std::string("\0secret", 7);
};

TEST_P(SealedPorts, AMessageIsSealedByTheClaimThatFindsItAndOpensAtTheNext) {
  enqueue();
  const auto store = outbox(ring);
  const auto first = run_here(store->claim(a_claim("owner-1")));
  ASSERT_EQ(first->rows.size(), 1U);
  EXPECT_EQ(first->rows.front().body, body);
  const std::string id = first->rows.front().id;
  const auto raw = run_here(node_->outbox.find(id));
  EXPECT_THAT((*raw)->body, Not(HasSubstr("secret")));
  EXPECT_NE((*raw)->headers, first->rows.front().headers);
  EXPECT_EQ((*run_here(store->find(id)))->body, body);
  EXPECT_EQ((*run_here(store->find(id)))->headers, first->rows.front().headers);
  EXPECT_TRUE(run_here(store->list({}))->front().headers.empty());
  const auto second = run_here(outbox(ring)->claim(a_claim("owner-2")));
  ASSERT_EQ(second->rows.size(), 1U);
  EXPECT_EQ(second->rows.front().body, body);
  EXPECT_TRUE(second->rows.front().readable);
}

// One whose key is not here is left to a node that has it; one whose key was erased is a dead
// letter.
TEST_P(SealedPorts, AMessageThatDoesNotOpenIsNeverSent) {
  enqueue();
  EXPECT_EQ(run_here(outbox(ring)->claim(a_claim("owner-1")))->rows.front().body, body);
  EXPECT_TRUE(run_here(outbox(lost_ring)->claim(a_claim("owner-2")))->rows.empty());
  EXPECT_TRUE(run_here(outbox({})->claim(a_claim("owner-3")))->rows.empty());
  EXPECT_EQ(run_here(outbox(ring)->claim(a_claim("owner-4")))->rows.front().body, body);
  forget();
  const auto erased = run_here(outbox(ring)->claim(a_claim("owner-5")));
  ASSERT_EQ(erased->rows.size(), 1U);
  EXPECT_FALSE(erased->rows.front().readable);
  EXPECT_EQ(erased->rows.front().body, "");
}

TEST_P(SealedPorts, AMessageIsNotSealedWithAKeyThatWasErased) {
  enqueue();
  const auto keys = keys_of(ring);
  EXPECT_TRUE(run_here(keys->to_seal(Scope{"caller:a"})));
  forget();
  OutboxRow sealed;
  sealed.scope.text = "caller:a";
  sealed.id = "00000000-0000-0000-0000-000000000001";
  sealed.body = "lost for ever";
  EXPECT_FALSE(*run_here(keys->store().seal_message(sealed, "digest", 1)));
  EXPECT_EQ((*run_here(outbox(ring)->find(sealed.id)))->body, body);
  // As a node does that has not heard of it.
  sealed::SealedOutboxStore store(std::make_unique<sql::SqlOutboxStore>(node_->thread), keys);
  EXPECT_EQ(run_here(store.claim(a_claim("owner-1")))->rows.front().body, body);
  EXPECT_EQ(run_here(outbox(ring)->claim(a_claim("owner-2")))->rows.front().body, body);
}

TEST_P(SealedPorts, AnEventIsSealedAndOneThatDoesNotOpenIsNeverTakenForNone) {
  WebhookEvent event;
  event.subject = "derived";
  event.scope.text = "caller:a";
  event.key.text = "k";
  event.source = "bank";
  event.id = "e1";
  event.is_final = true;
  event.response.status = 201;
  event.response.headers = {{"Content-Type", "application/json"}};
  event.response.body = "{\"secret\":1}";
  EXPECT_TRUE(*run_here(cases(ring)->keep_event(event)));
  EXPECT_FALSE(*run_here(cases(ring)->keep_event(event)));
  EXPECT_THAT(*run_here(node_->cases.events_of("derived"))->front().response.body,
              Not(HasSubstr("secret")));
  const Instant now = run_here(store_->time())->now;
  EXPECT_EQ(*run_here(cases(ring)->events_of("derived")), std::vector{event});
  EXPECT_EQ(*run_here(cases(ring)->waiting_events(now, 10)), std::vector{event});
  EXPECT_EQ(run_here(cases(lost_ring)->events_of("derived")).error(), StoreError::unreadable);
  EXPECT_TRUE(run_here(cases(lost_ring)->waiting_events(now, 10))->empty());
  EXPECT_TRUE(run_here(cases(ring)->waiting_events(now, 10))->empty()) << "asked for later";
  EXPECT_EQ(run_here(cases(ring)->waiting_events(now + std::chrono::hours(1), 10))->size(), 1U);
  forget();
  const auto erased = run_here(cases(ring)->events_of("derived"));
  ASSERT_EQ(erased->size(), 1U) << "it still proves what became of the request";
  EXPECT_EQ(erased->front().response.status, 201);
  EXPECT_FALSE(erased->front().response.body);
}

TEST_P(SealedPorts, ForgettingAScopeRaisesThePurgeEpochAndIsAudited) {
  const std::int64_t before = run_here(store_->time())->purge_epoch;
  EXPECT_TRUE(run_here(keys_of(ring)->to_seal(Scope{"caller:a"})));
  forget();
  EXPECT_GT(run_here(store_->time())->purge_epoch, before);
  const auto told = run_here(node_->cases.audit_of(Scope{"caller:a"}, Key{"*"}));
  ASSERT_EQ(told->size(), 1U);
  EXPECT_EQ(told->front().entry.action, "scope-forget");
  EXPECT_EQ(told->front().entry.reason, "asked to");
}

TEST_P(SealedPorts, TheSqlFunctionsRecogniseASealedMessageAndReplayNoSealedAnswer) {
  if (GetParam() != Kind::postgres) GTEST_SKIP() << "SQLite has no functions";
  const auto query = [&](const std::string& sql) { return server().query(sql, database_); };
  const std::string fence =
      query("SELECT fence FROM pawl.reserve('caller:a', 'key-1', '1.-.f', 'owner')");
  const auto enqueue = [&](const std::string& text) {
    return query("SELECT pawl.enqueue('caller:a', 'key-1', " + fence + ", 'bank', '" + text + "')");
  };
  const std::string id = enqueue("secret");
  EXPECT_EQ(run_here(outbox(ring)->claim(a_claim("owner-1")))->rows.front().body, "secret");
  EXPECT_NE(query("SELECT sealed_digest FROM pawl.outbox"), "");
  EXPECT_EQ(enqueue("secret"), id);
  EXPECT_THROW(enqueue("another"), std::exception);
  query("SELECT pawl.complete('caller:a', 'key-1', " + fence + ", 201, '{}', 'secret')");
  sealed::SealedStore sealing(std::move(store_), keys_of(ring));
  const Record found = **run_here(sealing.find(Scope{"caller:a"}, Key{"key-1"}));
  EXPECT_FALSE(run_here(sealing.insert_or_read_one(found))->current == nullptr);
  EXPECT_EQ(query("SELECT response_schema_version FROM pawl.keys"), "101");
  EXPECT_THROW(query("SELECT pawl.reserve('caller:a', 'key-1', '1.-.f', 'other')"), std::exception);
  EXPECT_EQ(query("SELECT response_code FROM pawl.lookup('caller:a', 'key-1')"
                  " WHERE response_body IS NULL AND response_headers IS NULL"),
            "201");
  EXPECT_EQ(query("SELECT decision FROM pawl.reserve('caller:a', 'key-1', '1.-.g', 'other')"),
            "misuse");
}

INSTANTIATE_TEST_SUITE_P(Both, SealedPorts, ::testing::Values(Kind::sqlite, Kind::postgres),
                         testing::kind_name);

}  // namespace
}  // namespace pawl
