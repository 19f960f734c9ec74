// ReconciliationStore, on every store: one contract. KeyDirectory and LedgerStore on those with
// SQL.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "tests/contract/any_node.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using testing::Kind;

const Instant start{std::chrono::seconds(1'700'000'000)};

class CasesContract : public testing::OnEveryStore {
 protected:
  static Record unknown(std::int64_t fence = 7) {
    Record record;
    record.scope = Scope{"caller:a"};
    record.key = Key{"0123456789abcdef"};
    record.fingerprint = Fingerprint{"1.-.00"};
    record.fence = Fence{fence};
    record.owner = Owner{"somebody"};
    record.method = "POST";
    record.path = "/pay";
    record.route = "payments";
    record.last_error = "sent: reset";
    record.created_at = start;
    record.expires_at = start + 48h;
    record.state = Unknown{.reconcile_after = start, .locked_until = start};
    return record;
  }

  void put(const Record& record) {
    const auto written = run_here(store_->insert_or_read_one(record));
    if (!written || !written->mine) throw std::runtime_error("not inserted");
  }

  static ReconciliationStore::CaseClaim taking(std::int64_t fence, Duration now = 0s) {
    ReconciliationStore::CaseClaim one;
    one.id = CaseId{unknown().scope, unknown().key, Fence{fence}};
    one.subject = "subject";
    one.source = "bank";
    one.now = start + now;
    one.until = one.now + 20s;
    return one;
  }

  static CaseChange change(CaseState state, Duration next, int absent = 0) {
    CaseChange made;
    made.state = state;
    made.absent = absent;
    made.next_at = start + next;
    made.note = CaseNote{start + next, Fence{7}, "bank", "failed", "it's \"answered 500\" \\x"};
    return made;
  }

  static WebhookEvent event(const std::string& id, bool is_final = true) {
    WebhookEvent made;
    made.subject = "subject";
    made.source = "bank";
    made.id = id;
    made.is_final = is_final;
    made.happened_at = start + 1s;
    made.received_at = start + 2s;
    made.response = StoredResponse{
        201, {{"Content-Type", "application/json"}}, "{\"n\":\"\xc3\xa4\\u0000\"}", 1};
    return made;
  }
};

// The ports that only the stores with SQL have.
class SqlCasesContract : public CasesContract {
 protected:
  std::unique_ptr<testing::SqlNode> connect() { return OnBothStores::connect(); }
};

TEST_P(CasesContract, IsTakenOnceUntilItIsDue) {
  const auto node = connect();
  ReconciliationStore* const cases = &node->cases;
  const auto first = run_here(cases->take(taking(7)));
  ASSERT_TRUE(first) << cases->trouble();
  ASSERT_TRUE(*first);
  EXPECT_EQ((*first)->attempts, 1);
  EXPECT_EQ((*first)->subject, "subject");
  EXPECT_FALSE(run_here(cases->take(taking(7, 19s))).value());
  EXPECT_EQ((*run_here(cases->take(taking(7, 20s))))->attempts, 2) << "whoever had it is gone";
  ASSERT_TRUE(run_here(cases->change(taking(7).id, change(CaseState::open, 100s, 1))));
  EXPECT_FALSE(run_here(cases->take(taking(7, 99s))).value());
  const auto next = run_here(cases->take(taking(7, 100s)));
  EXPECT_EQ((*next)->attempts, 3);
  EXPECT_EQ((*next)->absent, 1);
}

TEST_P(CasesContract, ALaterOwnersCaseBeginsAnewAndAnEarlierOnesIsOver) {
  const auto node = connect();
  ReconciliationStore* const cases = &node->cases;
  ASSERT_TRUE(run_here(cases->take(taking(7))).value());
  ASSERT_TRUE(run_here(cases->change(taking(7).id, change(CaseState::dead, 0s, 1))));
  EXPECT_FALSE(run_here(cases->take(taking(7, 1h))).value()) << "dead";
  const auto next = run_here(cases->take(taking(8, 1h)));
  ASSERT_TRUE(next && *next);
  EXPECT_EQ((*next)->attempts, 1);
  EXPECT_EQ((*next)->absent, 0);
  EXPECT_FALSE(run_here(cases->take(taking(7, 2h))).value());
  ASSERT_TRUE(run_here(cases->change(taking(7).id, change(CaseState::closed, 0s))));
  EXPECT_EQ((*run_here(cases->find(taking(7).id.scope, taking(7).id.key)))->state, CaseState::open);
}

TEST_P(CasesContract, OfManyNodesOneTakesIt) {
  std::atomic<int> taken = 0;
  std::vector<std::thread> nodes;
  for (int i = 0; i < 8; ++i) {
    nodes.emplace_back([&] {
      const auto node = connect();
      ReconciliationStore* const cases = &node->cases;
      const auto got = run_here(cases->take(taking(7)));
      ASSERT_TRUE(got) << cases->trouble();
      if (*got) ++taken;
    });
  }
  for (std::thread& node : nodes) node.join();
  EXPECT_EQ(taken, 1);
}

TEST_P(CasesContract, KeepsItsHistory) {
  const auto node = connect();
  ReconciliationStore* const cases = &node->cases;
  ASSERT_TRUE(run_here(cases->take(taking(7))).value());
  ASSERT_TRUE(run_here(cases->change(taking(7).id, change(CaseState::open, 1s))));
  ASSERT_TRUE(run_here(cases->change(taking(7).id, change(CaseState::dead, 2s))));
  const auto notes = run_here(cases->notes_of(taking(7).id.scope, taking(7).id.key));
  ASSERT_EQ(notes->size(), 2U);
  EXPECT_EQ(notes->front().detail, "it's \"answered 500\" \\x");
  EXPECT_EQ(notes->back().at, start + 2s);
  EXPECT_EQ(notes->back().fence, Fence{7});
}

TEST_P(CasesContract, EventsAreKeptOnce) {
  const auto node = connect();
  ReconciliationStore* const cases = &node->cases;
  EXPECT_TRUE(run_here(cases->keep_event(event("e1"))).value());
  EXPECT_FALSE(run_here(cases->keep_event(event("e1"))).value());
  EXPECT_TRUE(run_here(cases->keep_event(event("e2", false))).value());
  node->disconnect();
  const auto events = run_here(cases->events_of("subject"));
  ASSERT_TRUE(events) << cases->trouble();
  EXPECT_THAT(*events, ::testing::UnorderedElementsAre(event("e1"), event("e2", false)));
  EXPECT_TRUE(run_here(cases->events_of("another"))->empty());
}

TEST_P(CasesContract, OfAnEventIsKeptWhatAClientCanBeTold) {
  const auto node = connect();
  ReconciliationStore* const cases = &node->cases;
  WebhookEvent told = event("e1");
  told.response = StoredResponse{402, {{"X-A", "b"}, {"content-type", "text/plain"}}, {}, 0};
  told.applied_as = "resolved";
  ASSERT_TRUE(run_here(cases->keep_event(told)).value());
  WebhookEvent kept = event("e1");
  kept.declined = true;
  kept.response = StoredResponse{402, {{"Content-Type", "text/plain"}}, ""};
  EXPECT_THAT(run_here(cases->events_of("subject")).value(), ::testing::ElementsAre(kept));
}

TEST_P(CasesContract, EventsAreToldInTheOrderInWhichTheyHappened) {
  const auto node = connect();
  ReconciliationStore* const cases = &node->cases;
  WebhookEvent first = event("z");
  first.happened_at = start;
  WebhookEvent last = event("a");
  last.received_at = start + 3s;
  for (const WebhookEvent& each : {last, event("m"), first}) {
    ASSERT_TRUE(run_here(cases->keep_event(each)).value());
  }
  EXPECT_THAT(run_here(cases->events_of("subject")).value(),
              ::testing::ElementsAre(first, event("m"), last));
}

TEST_P(CasesContract, FinalEventsWaitUntilTheyAreAppliedOrPutOff) {
  const auto node = connect();
  ReconciliationStore* const cases = &node->cases;
  ASSERT_TRUE(run_here(cases->keep_event(event("e0", false))).value());
  EXPECT_TRUE(run_here(cases->waiting_events(start, 10))->empty()) << "pending is no news";
  WebhookEvent named = event("e1");
  named.declined = true;  // and what its client is told stays what it is
  named.scope = Scope{"caller:a"};
  named.key = Key{"0123456789abcdef"};
  ASSERT_TRUE(run_here(cases->keep_event(named)).value());
  ASSERT_TRUE(run_here(cases->keep_event(event("e2"))).value());
  EXPECT_THAT(*run_here(cases->waiting_events(start, 10)),
              ::testing::UnorderedElementsAre(named, event("e2")));
  ASSERT_TRUE(run_here(cases->postpone(named, start + 1min)));
  EXPECT_THAT(*run_here(cases->waiting_events(start, 10)), ::testing::ElementsAre(event("e2")));
  EXPECT_THAT(*run_here(cases->waiting_events(start + 1min, 10)),
              ::testing::ElementsAre(event("e2"), named));
  ASSERT_TRUE(run_here(cases->applied(named, "resolved")));
  EXPECT_THAT(*run_here(cases->waiting_events(start + 1min, 10)),
              ::testing::ElementsAre(event("e2")));
  EXPECT_EQ(run_here(cases->events_of("subject"))->size(), 3U) << "kept";
}

TEST_P(CasesContract, AreFoundByWhatAnEventMayKnowThemBy) {
  const auto node = connect();
  ReconciliationStore* const cases = &node->cases;
  ReconciliationStore::CaseClaim one = taking(7);
  one.resource = "resource:ch_1";
  one.began_at = start - 5s;
  ASSERT_TRUE(run_here(cases->take(one)).value());
  for (const char* subject : {"subject", "resource:ch_1"}) {
    const auto found = run_here(cases->cases_of(subject)).value();
    ASSERT_EQ(found.size(), 1U) << subject;
    EXPECT_EQ(found[0].id.key, unknown().key);
    EXPECT_EQ(found[0].began_at, start - 5s);
    EXPECT_EQ(found[0].source, "bank");
  }
  EXPECT_TRUE(run_here(cases->cases_of(""))->empty());
  EXPECT_TRUE(run_here(cases->cases_of("resource:ch_2"))->empty());
}

TEST_P(CasesContract, DeadLettersAreUnknownRecordsOnly) {
  const auto node = connect();
  ReconciliationStore* const cases = &node->cases;
  put(unknown());
  ASSERT_TRUE(run_here(cases->take(taking(7))).value());
  EXPECT_EQ(*run_here(cases->count_dead()), 0U);
  ASSERT_TRUE(run_here(cases->change(taking(7).id, change(CaseState::dead, 0s))));
  EXPECT_EQ(*run_here(cases->count_dead()), 1U);
  // Its owner settles it after all.
  Record done = unknown();
  done.state = Completed{StoredResponse{201, {}, "ok", 1}, start + 1s};
  ASSERT_TRUE(run_here(store_->replace_one(
      {done, guard_of(unknown()), AuditEntry{"owner", "late-answer", "it's late"}})));
  EXPECT_EQ(*run_here(cases->count_dead()), 0U);
  const auto audit = run_here(cases->audit_of(done.scope, done.key));
  ASSERT_EQ(audit->size(), 1U);
  EXPECT_EQ(audit->front().before, "unknown");
  EXPECT_EQ(audit->front().after, "completed");
  EXPECT_EQ(audit->front().entry, (AuditEntry{"owner", "late-answer", "it's late"}));
}

TEST_P(SqlCasesContract, DeadLettersAreListedWhileTheirRecordsAreUnknown) {
  const auto node = connect();
  put(unknown());
  ASSERT_TRUE(run_here(node->cases.take(taking(7))).value());
  EXPECT_TRUE(run_here(node->directory.list(Listed::dead, 10))->empty());
  ASSERT_TRUE(run_here(node->cases.change(taking(7).id, change(CaseState::dead, 0s))));
  const auto listed = run_here(node->directory.list(Listed::dead, 10));
  ASSERT_TRUE(listed) << node->directory.trouble();
  ASSERT_EQ(listed->size(), 1U);
  EXPECT_EQ(listed->front().key.text, unknown().key.text);
  EXPECT_EQ(listed->front().last_error, "sent: reset");
  EXPECT_EQ(listed->front().created_at, start);
  EXPECT_EQ(listed->front().state, CaseState::dead);
  EXPECT_EQ(run_here(node->directory.list(Listed::unknown, 10))->size(), 1U);
  EXPECT_TRUE(run_here(node->directory.list(Listed::in_progress, 10))->empty());
  Record done = unknown();
  done.state = Completed{StoredResponse{201, {}, "ok", 1}, start + 1s};
  ASSERT_TRUE(run_here(store_->replace_one({done, guard_of(unknown()), {}})));
  EXPECT_TRUE(run_here(node->directory.list(Listed::dead, 10))->empty());
}

TEST_P(CasesContract, AcceptedWorkThatIsOutOfAttemptsIsADeadLetterOfItsOwn) {
  const auto node = connect();
  for (const Mode mode : {Mode::sync, Mode::async}) {
    Record record = unknown();
    record.key = Key{"0123456789abcde" + std::to_string(mode == Mode::async ? 1 : 0)};
    record.policy.mode = mode;
    put(record);
    Record failed = record;
    failed.state = FailedRetryable{};
    const Replacement given_up{failed, guard_of(record), {}};
    ASSERT_TRUE(run_here(store_->replace_one(given_up))->mine);
    EXPECT_EQ(run_here(node->cases.count_async_dead()).value(), mode == Mode::async ? 1U : 0U);
  }
  EXPECT_EQ(run_here(node->cases.count_dead()).value(), 0U);
}

TEST_P(CasesContract, ADeadOneIsReopened) {
  const auto node = connect();
  ReconciliationStore* const cases = &node->cases;
  const CaseNote note{start + 1h, Fence{7}, "operator", "asked again", "why"};
  const auto notes = [&] {
    return run_here(cases->notes_of(taking(7).id.scope, taking(7).id.key)).value();
  };
  EXPECT_FALSE(run_here(cases->reopen(taking(7).id.scope, taking(7).id.key, note)).value());
  ASSERT_TRUE(run_here(cases->take(taking(7))).value());
  EXPECT_FALSE(run_here(cases->reopen(taking(7).id.scope, taking(7).id.key, note)).value());
  EXPECT_TRUE(notes().empty()) << "nobody is asked again: the history must not say so";
  ASSERT_TRUE(run_here(cases->change(taking(7).id, change(CaseState::dead, 0s))));
  EXPECT_TRUE(run_here(cases->reopen(taking(7).id.scope, taking(7).id.key, note)).value());
  ASSERT_EQ(notes().size(), 2U);
  EXPECT_EQ(notes().back().result, "asked again");
  const auto reopened = run_here(cases->find(taking(7).id.scope, taking(7).id.key)).value();
  EXPECT_EQ(reopened->state, CaseState::open);
  EXPECT_EQ(reopened->next_at, note.at);
  EXPECT_EQ(reopened->last_result, "asked again");
  EXPECT_EQ((*run_here(cases->take(taking(7, 1h))))->attempts, 1);
}

TEST_P(CasesContract, EvidenceComesBackByteForByte) {
  const auto node = connect();
  ReconciliationStore* const cases = &node->cases;
  LateEvidence late;
  late.scope = unknown().scope;
  late.key = unknown().key;
  late.fence = Fence{6};
  late.owner = Owner{"late"};
  late.fingerprint = unknown().fingerprint;
  late.evidence = Evidence::answered;
  late.response = StoredResponse{201, {{"X-A", "b"}, {"X-A", "c"}}, std::string("\0\xff {", 4), 1};
  late.detail = "taken over";
  LateEvidence none = late;
  none.evidence = Evidence::sent;
  none.response.reset();
  ASSERT_TRUE(run_here(store_->keep_evidence(late)));
  ASSERT_TRUE(run_here(store_->keep_evidence(none)));
  const auto found = run_here(cases->evidence_of(late.scope, late.key));
  ASSERT_TRUE(found) << cases->trouble();
  EXPECT_THAT(*found, ::testing::UnorderedElementsAre(late, none));
}

TEST_P(SqlCasesContract, APurgeIsGuardedAndAudited) {
  const auto node = connect();
  ReconciliationStore* const cases = &node->cases;
  put(unknown());
  const AuditEntry entry{"operator ada", "purge", "asked to"};
  Guard wrong = guard_of(unknown());
  wrong.status = Status::completed;
  EXPECT_FALSE(
      run_here(node->directory.purge(unknown().scope, unknown().key, wrong, entry)).value());
  EXPECT_TRUE(run_here(cases->audit_of(unknown().scope, unknown().key))->empty());
  EXPECT_TRUE(
      run_here(node->directory.purge(unknown().scope, unknown().key, guard_of(unknown()), entry))
          .value());
  EXPECT_FALSE(*run_here(store_->find(unknown().scope, unknown().key)));
  const auto audit = run_here(cases->audit_of(unknown().scope, unknown().key));
  ASSERT_EQ(audit->size(), 1U);
  EXPECT_EQ(audit->front().after, "purged");
  EXPECT_EQ(audit->front().entry, entry);
}

TEST_P(CasesContract, OldThingsAreForgottenAndOpenOnesAreNot) {
  const auto node = connect();
  ReconciliationStore* const cases = &node->cases;
  ASSERT_TRUE(run_here(cases->keep_event(event("e1"))).value());
  ASSERT_TRUE(run_here(cases->take(taking(7))).value());
  ASSERT_TRUE(run_here(cases->change(taking(7).id, change(CaseState::dead, 0s))));
  EXPECT_EQ(*run_here(cases->reap(start + 1h)), 1U) << "the event";
  EXPECT_TRUE(*run_here(cases->find(taking(7).id.scope, taking(7).id.key)));
  EXPECT_EQ(run_here(cases->notes_of(taking(7).id.scope, taking(7).id.key))->size(), 1U);
  ASSERT_TRUE(run_here(cases->change(taking(7).id, change(CaseState::closed, 1s))));
  EXPECT_EQ(*run_here(cases->reap(start)), 0U);
  EXPECT_EQ(*run_here(cases->reap(start + 1h)), 3U) << "the case, and its notes after it";
}

TEST_P(CasesContract, WhatNobodyWasAskedAboutIsTakenBySomebodyWhoHasASource) {
  put(unknown());
  const auto node = connect();
  ReconciliationStore* const cases = &node->cases;
  ReconciliationStore::CaseClaim nobody = taking(7);
  nobody.source = "";
  ASSERT_TRUE(run_here(cases->take(nobody)).value());
  ASSERT_TRUE(run_here(cases->change(nobody.id, change(CaseState::dead, 1h))));
  EXPECT_FALSE(run_here(cases->take(nobody)).value()) << "dead";
  const auto taken = run_here(cases->take(taking(7, 1s)));
  ASSERT_TRUE(taken.value());
  EXPECT_EQ((*taken)->source, "bank");
  ASSERT_TRUE(run_here(cases->change(nobody.id, change(CaseState::dead, 1h))));
  EXPECT_FALSE(run_here(cases->take(taking(7, 2h))).value()) << "somebody was asked, and gave up";
}

TEST_P(CasesContract, RememberWhoWasNamedFirst) {
  const auto node = connect();
  ReconciliationStore* const cases = &node->cases;
  ASSERT_TRUE(run_here(cases->take(taking(7))).value());
  ReconciliationStore::CaseClaim other = taking(7, 1min);
  other.source = "other";
  const auto taken = run_here(cases->take(other)).value();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->source, "bank") << "whose absence counts";
  other.id.fence = Fence{8};
  EXPECT_EQ(run_here(cases->take(other)).value()->source, "other") << "another owner: another case";
}

TEST_P(CasesContract, WhatIsInDoubtIsFoundByRouteAndScopeWhenItIsDue) {
  put(unknown());
  const auto node = connect();
  ReconciliationStore* const cases = &node->cases;
  const auto due = [&](const std::string& scopes, const std::string& route, Duration at) {
    return run_here(cases->undetermined(scopes, route, start + at, 10)).value().size();
  };
  EXPECT_EQ(due("caller:", "payments", 0s), 1U);
  EXPECT_EQ(due("lib:", "payments", 0s), 0U);
  EXPECT_EQ(due("caller:", "refunds", 0s), 0U);
  ASSERT_TRUE(run_here(cases->take(taking(7))).value());
  EXPECT_EQ(due("caller:", "payments", 19s), 0U) << "somebody is at it";
  EXPECT_EQ(due("caller:", "payments", 20s), 1U);
  ASSERT_TRUE(run_here(cases->change(taking(7).id, change(CaseState::dead, 1s))));
  EXPECT_EQ(due("caller:", "payments", 30s), 0U);
}

TEST_P(SqlCasesContract, OurLedgerIsReadInPagesByKey) {
  for (int i = 0; i < 5; ++i) {
    Record record = unknown();
    record.key = Key{"0123456789abcde" + std::to_string(i)};
    record.route = i == 3 ? "refunds" : "payments";
    record.created_at = start + std::chrono::hours(i);
    if (i == 2) {
      record.state = Completed{StoredResponse{201, {}, std::string("\x00\xff{}", 4)}, start + 3h};
    }
    put(record);
  }
  const auto node = connect();
  LedgerQuery query;
  query.routes = {"payments", "it's"};
  query.since = start + 1h;
  query.rows_max = 3;
  query.bodies = true;
  const LedgerPage page = run_here(node->ledger.page(query)).value();
  const auto& first = page.rows;
  ASSERT_EQ(first.size(), 2U) << "too old is not wanted, and was looked at";
  EXPECT_FALSE(page.is_last);
  EXPECT_EQ(first[0].key.text, "0123456789abcde1");
  EXPECT_EQ(first[0].status, "unknown");
  EXPECT_EQ(first[0].created_at, start + 1h);
  EXPECT_EQ(first[1].response_code, 201);
  EXPECT_EQ(first[1].body, std::string("\x00\xff{}", 4));
  query.after_scope = page.last_scope;
  query.after_key = page.last_key;
  const LedgerPage rest = run_here(node->ledger.page(query)).value();
  const auto& second = rest.rows;
  EXPECT_TRUE(rest.is_last);
  ASSERT_EQ(second.size(), 1U) << "the other route's is not ours to compare";
  EXPECT_EQ(second[0].key.text, "0123456789abcde4");
  query.routes.clear();
  EXPECT_TRUE(run_here(node->ledger.page(query)).value().rows.empty());
}

// Whatever a node's own clock says: nobody tells it what time it is.
TEST_P(SqlCasesContract, AComparisonIsMadeByOneAndSeenByAll) {
  const auto one = connect();
  const auto other = connect();
  EXPECT_TRUE(run_here(one->ledger.take_comparison("bank", 6h)).value());
  EXPECT_FALSE(run_here(other->ledger.take_comparison("bank", 6h)).value());
  Comparison made;
  made.source = "bank";
  made.result = R"({"ours":1})";
  ASSERT_TRUE(run_here(one->ledger.compared(made, 24h)));
  EXPECT_FALSE(run_here(other->ledger.take_comparison("bank", 6h)).value());
  const auto first = run_here(one->ledger.comparisons()).value();
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].next_at, first[0].ended_at + 24h);
  ASSERT_TRUE(run_here(one->ledger.compared(made, 0s)));
  EXPECT_TRUE(run_here(other->ledger.take_comparison("bank", 6h)).value());
  Comparison failed;
  failed.source = "bank";
  failed.trouble = "it's away";
  ASSERT_TRUE(run_here(other->ledger.compared(failed, 5min)));
  const auto seen = run_here(one->ledger.comparisons()).value();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].result, made.result) << "the last one that was made to the end";
  EXPECT_GE(seen[0].ended_at, first[0].ended_at);
  EXPECT_LT(seen[0].ended_at, seen[0].next_at);
  EXPECT_EQ(seen[0].trouble, "it's away");
}

TEST_P(SqlCasesContract, AKeyIsFoundInWhicheverScopeItIs) {
  const auto put_in = [&](const char* scope, const char* key, std::int64_t fence) {
    Record record = unknown(fence);
    record.scope = Scope{scope};
    record.key = Key{key};
    record.attempt = 3;
    put(record);
  };
  put_in("caller:a", "0123456789abcde1", 11);
  put_in("caller:a", "0123456789abcde2", 12);
  put_in("caller:B", "0123456789abcde1", 13);  // before the others, byte by byte
  put_in("caller:c", "0123456789abcde3", 14);
  const auto node = connect();
  const ScopesOfKey two = run_here(node->directory.scopes_of(Key{"0123456789abcde1"}, 10)).value();
  EXPECT_TRUE(two.whole);
  ASSERT_EQ(two.scopes.size(), 2U);
  EXPECT_EQ(two.scopes[0].text, "caller:B");
  EXPECT_EQ(two.scopes[1].text, "caller:a");
  const ScopesOfKey cut = run_here(node->directory.scopes_of(Key{"0123456789abcde3"}, 2)).value();
  EXPECT_FALSE(cut.whole);
  EXPECT_TRUE(cut.scopes.empty());
  EXPECT_TRUE(
      run_here(node->directory.scopes_of(Key{"0123456789abcde4"}, 10)).value().scopes.empty());

  const auto page = run_here(node->directory.keys_after({}, {}, 3)).value();
  ASSERT_EQ(page.size(), 3U);
  EXPECT_EQ(page[0].scope.text, "caller:B");
  EXPECT_EQ(page[0].fence.number, 13);
  EXPECT_EQ(page[0].attempt, 3);
  const auto rest = run_here(node->directory.keys_after(page[2].scope, page[2].key, 3)).value();
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].key.text, "0123456789abcde3");
}

INSTANTIATE_TEST_SUITE_P(All, CasesContract,
                         ::testing::Values(Kind::sqlite, Kind::postgres, Kind::memory),
                         testing::kind_name);
INSTANTIATE_TEST_SUITE_P(All, SqlCasesContract, ::testing::Values(Kind::sqlite, Kind::postgres),
                         testing::kind_name);

}  // namespace
}  // namespace pawl
