#include "src/workers/reconciler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/reconcile/derived_key.hpp"
#include "src/reconcile/event.hpp"
#include "src/workers/world_for_tests.hpp"

namespace pawl::workers {
namespace {

using namespace std::chrono_literals;
using testing::Fault;
using testing::FaultReconciliationStore;
using testing::FaultStore;
using ::testing::HasSubstr;

constexpr std::string_view key_text = "test-key-00000001";

struct Node {
  Node(World& world, Store& records, ReconciliationStore& doubts, ReconcilerOptions options = {})
      : engine(records, world.clock, world.entropy, world.counters),
        reconciler({engine, records, doubts, world.sources, world.state, world.clock, world.entropy,
                    world.sleepers, world.metrics, world.log},
                   world.context.get_executor(), std::move(options)) {}
  Engine engine;
  Reconciler reconciler;
};

struct Scene : World {
  // Sent under a lease that has ended by now, and nobody knows what came of it.
  Record put_unknown(int attempt = 1, const std::string& scope = "tenant-a") {
    const Instant now = clock.wall();
    Record record = testing::an_in_progress_record(key_text, "owner-gone", now);
    record.scope.text = scope;
    record.attempt = attempt;
    record.state = Unknown{.reconcile_after = now, .locked_until = now, .locked_at = now};
    if (attempt > 1) record.created_at = now - 10min;
    record.fence = Fence{record.created_at.time_since_epoch().count() + attempt - 1};
    store.put_back({record});
    return record;
  }
  [[nodiscard]] Record now_stored() const { return store.records().front(); }
  [[nodiscard]] Status status() const { return status_of(now_stored()); }
  ReconcileCounts poll(Node& node) { return run(node.reconciler.poll_once()); }
  Case the_case() {
    const Record record = now_stored();
    return *run(cases.find(record.scope, record.key)).value();
  }
  std::string last_note() {
    const Record record = now_stored();
    const auto notes = run(cases.notes_of(record.scope, record.key)).value();
    return notes.empty() ? "" : notes.back().result + " | " + notes.back().detail;
  }
  // Past what everything it did must be visible by.
  void pass_window() { clock.advance(Policy{}.upstream_timeout + 6min); }
  // Polls until nothing is due within a day of questions, or it is settled.
  void poll_often(Node& node, int times = 150) {
    for (int i = 0; i < times && status() == Status::unknown; ++i) {
      poll(node);
      clock.advance(10min);
    }
  }
  WebhookEvent event(const Record& about, const std::string& id, int answer = 201) {
    WebhookEvent told;
    told.subject = reconcile::derived_key(about.scope, about.key);
    told.scope = about.scope;
    told.key = about.key;
    told.source = "bank";
    told.id = id;
    told.is_final = true;
    told.happened_at = clock.wall();
    told.received_at = clock.wall();
    told.response = testing::a_stored_response();
    told.response.status = answer;
    return told;
  }
  static LateEvidence late_answer(const Record& record) {
    LateEvidence late;
    late.scope = record.scope;
    late.key = record.key;
    late.fence = record.fence;
    late.fingerprint = record.fingerprint;
    late.evidence = Evidence::answered;
    late.response = testing::a_stored_response();
    return late;
  }
  std::string marked(const std::string& id) {
    const Record record = now_stored();
    const std::string subject = reconcile::derived_key(record.scope, record.key);
    const std::vector<WebhookEvent> events = run(cases.events_of(subject)).value();
    for (const WebhookEvent& each : events) {
      if (each.id == id) return each.applied_as;
    }
    return "none";
  }
  // Its client retries: the next owner.
  void take_over() {
    Record record = now_stored();
    const Guard guard = guard_of(record);
    record.fence.number += 1;
    record.owner = Owner{"next"};
    record.attempt += 1;
    record.state = InProgress{clock.wall(), clock.wall() + 30s};
    const Replacement change{record, guard, std::nullopt};
    EXPECT_TRUE(run(store.replace_one(change))->mine);
  }
};

class ReconcilerTest : public ::testing::Test, protected Scene {};

TEST_F(ReconcilerTest, WhatIsFoundCompletesTheRecord) {
  put_unknown();
  source.says(SourceFound{testing::a_stored_response(R"({"id":"pay_9"})")});
  Node node(*this, store, cases);
  const ReconcileCounts counts = poll(node);
  ASSERT_EQ(status(), Status::completed);
  EXPECT_EQ(std::get<Completed>(now_stored().state).response.body, R"({"id":"pay_9"})");
  EXPECT_EQ(the_case().state, CaseState::closed);
  EXPECT_EQ(last_note(), "completed | asked, it answered 200: there it is");
  EXPECT_EQ(store.audit().front().second.reason, "bank: asked, it answered 200: there it is");
  EXPECT_TRUE(state.cache.find(now_stored().scope, now_stored().key));
  EXPECT_EQ(counts.asked, 1U);
  EXPECT_EQ(counts.completed, 1U);
}

TEST_F(ReconcilerTest, ALateAnswerSettlesItAndNobodyIsAsked) {
  const Record record = put_unknown();
  ASSERT_TRUE(run(store.keep_evidence(late_answer(record))));
  Node node(*this, store, cases);
  poll(node);
  EXPECT_EQ(status(), Status::completed);
  EXPECT_TRUE(source.asked.empty());
  EXPECT_THAT(last_note(), HasSubstr("had got this answer when it had lost the record"));
}

// It was answered, and what cannot be read may be a success: sealed with a key that is not here.
TEST_F(ReconcilerTest, ALateAnswerThatCannotBeReadIsNotReleased) {
  const Record record = put_unknown();
  LateEvidence late = late_answer(record);
  late.response.reset();
  ASSERT_TRUE(run(store.keep_evidence(late)));
  source.says(SourceNeverSeen{}, "answered 404");
  Node node(*this, store, cases);
  for (int i = 0; i < 4; ++i) {
    poll(node);
    EXPECT_EQ(status(), Status::unknown);
    pass_window();
  }
  EXPECT_FALSE(source.asked.empty());
}

// Whoever completes a key under a fence that has moved on may have made that fence up.
TEST_F(ReconcilerTest, AnAnswerUnderAnEarlierFenceOfTheKeyApiNeitherCompletesNorReleases) {
  const Record record = put_unknown(2, "api:tenant-a");
  LateEvidence late = late_answer(record);
  late.fence.number -= 1;
  ASSERT_TRUE(run(store.keep_evidence(late)));
  source.says(SourceNeverSeen{}, "answered 404");
  Node node(*this, store, cases);
  for (int i = 0; i < 4; ++i) {
    poll(node);
    EXPECT_EQ(status(), Status::unknown);
    pass_window();
  }
  EXPECT_FALSE(source.asked.empty());
  EXPECT_EQ(the_case().state, CaseState::dead) << "an operator has to decide";
  EXPECT_THAT(last_note(), HasSubstr("an answer was brought under an earlier fence"));
}

TEST_F(ReconcilerTest, AnEventSettlesItAndNobodyIsAsked) {
  const Record record = put_unknown();
  ASSERT_TRUE(run(cases.keep_event(event(record, "evt_1"))).value());
  Node node(*this, store, cases);
  poll(node);
  EXPECT_EQ(status(), Status::completed);
  EXPECT_EQ(marked("evt_1"), "resolved");
  EXPECT_TRUE(source.asked.empty());
}

TEST_F(ReconcilerTest, AnEventOfASourceThatMayNotSpeakIsNotApplied) {
  const Record record = put_unknown(1, "tenant-mute");
  ASSERT_TRUE(run(cases.keep_event(event(record, "evt_1"))).value());
  Node node(*this, store, cases);
  ASSERT_TRUE(run(node.engine.sync_time()));
  poll(node);
  EXPECT_EQ(status(), Status::unknown);
  EXPECT_EQ(metrics.counts["foreign"], 1);
  EXPECT_EQ(marked("evt_1"), "not applied: its source may not speak for the record");
}

TEST_F(ReconcilerTest, ADeclineOfARetriedRequestIsNotBelievedTooEarly) {
  put_unknown(2);
  source.says(SourceFound{testing::a_stored_response(), false}, "answered 402");
  Node node(*this, store, cases);
  poll(node);
  EXPECT_EQ(status(), Status::unknown);
  EXPECT_EQ(last_note(), "pending | answered 402: a refusal that may be an earlier attempt's");
  pass_window();
  poll(node);
  EXPECT_EQ(status(), Status::completed);
  EXPECT_THAT(last_note(), HasSubstr("declined: asked, it answered 402: there it is"));
}

TEST_F(ReconcilerTest, WhatWasNeverSeenIsReleasedOnlyAfterTheWindowAndSeenTwice) {
  put_unknown();
  source.says(SourceNeverSeen{}, "answered 404");
  Node node(*this, store, cases);
  poll(node);
  EXPECT_EQ(status(), Status::unknown) << "too early";
  EXPECT_EQ(the_case().absent, 0);
  pass_window();
  poll(node);
  EXPECT_EQ(status(), Status::unknown) << "once is not enough";
  EXPECT_EQ(the_case().absent, 1);
  clock.advance(1min);
  const ReconcileCounts counts = poll(node);
  EXPECT_EQ(status(), Status::failed_retryable);
  EXPECT_EQ(the_case().state, CaseState::released);
  EXPECT_EQ(counts.released, 1U);
  EXPECT_THAT(last_note(), HasSubstr("answered 404: never seen, 2 times after everything it did"));
}

TEST_F(ReconcilerTest, WhatAnotherSourceDoesNotHaveProvesNothing) {
  put_unknown();
  Node node(*this, store, cases);
  poll(node);
  sources.bank.name_in_case = "bank by derived key";
  source.says(SourceNeverSeen{}, "answered 404");
  pass_window();
  poll(node);
  EXPECT_EQ(the_case().state, CaseState::dead);
  EXPECT_EQ(status(), Status::unknown);
  EXPECT_THAT(last_note(), HasSubstr("the route named \"bank\" when the outcome became unknown"));
}

// The configuration changed before anything was asked: the provider was sent the client's key.
TEST_F(ReconcilerTest, WhatTheSourceOfALaterConfigurationDoesNotHaveProvesNothing) {
  Record record = put_unknown();
  record.policy.sent_key = ForwardKey::same;
  record.policy.source = "by-key";
  store.put_back({record});
  Node node(*this, store, cases);
  source.says(SourceNeverSeen{}, "answered 404");
  pass_window();
  poll(node);
  EXPECT_EQ(the_case().source, "by-key");
  EXPECT_EQ(the_case().state, CaseState::dead);
  EXPECT_EQ(status(), Status::unknown);
  EXPECT_THAT(last_note(), HasSubstr("the route named \"by-key\" when the outcome became unknown"));
}

TEST_F(ReconcilerTest, ASourceThatCameLaterIsBelievedOnlyByTheKeyThatWasSent) {
  Record record = put_unknown();
  record.policy.sent_key = ForwardKey::same;
  store.put_back({record});
  sources.bank.asked_by = ForwardKey::derived;
  sources.bank.name_in_case = "bank by derived key";
  source.says(SourceNeverSeen{}, "answered 404");
  Node node(*this, store, cases);
  pass_window();
  poll_often(node, 3);
  EXPECT_EQ(status(), Status::unknown);
  EXPECT_EQ(the_case().state, CaseState::dead);
}

TEST_F(ReconcilerTest, TheSourceOfTheAttemptIsBelieved) {
  Record record = put_unknown();
  record.policy.sent_key = ForwardKey::same;
  record.policy.source = "bank";
  store.put_back({record});
  sources.bank.asked_by = ForwardKey::same;
  source.says(SourceNeverSeen{}, "answered 404");
  Node node(*this, store, cases);
  pass_window();
  poll_often(node, 5);
  EXPECT_EQ(status(), Status::failed_retryable);
}

TEST_F(ReconcilerTest, ADeclineOfAnotherSourceIsNoAnswer) {
  put_unknown();
  Node node(*this, store, cases);
  poll(node);
  sources.bank.name_in_case = "bank by derived key";
  source.says(SourceFound{testing::a_stored_response(), false}, "answered 402");
  pass_window();
  poll(node);
  EXPECT_EQ(status(), Status::unknown);
  EXPECT_EQ(the_case().state, CaseState::dead);
}

TEST_F(ReconcilerTest, ItIsADeadLetterWhenItsSourceCannotBeAskedOrAnswersNothingForLong) {
  put_unknown();
  Node node(*this, store, cases);
  poll_often(node);
  EXPECT_EQ(the_case().state, CaseState::dead);
  EXPECT_EQ(source.asked.size(), std::size_t(sources.bank.patience.max_attempts));
  EXPECT_TRUE(std::get<Unknown>(now_stored().state).dead_lettered) << "its client is told";
  EXPECT_TRUE(log.has("is a dead letter: no answer: reset"));
  EXPECT_EQ(metrics.counts["dead"], 1);
}

TEST_F(ReconcilerTest, ItIsADeadLetterAtOnceWhereItCannotBeAskedAbout) {
  put_unknown();
  source.says(SourceFailed{"the source is not asked: {key} has a slash in it", true}, "");
  Node node(*this, store, cases);
  EXPECT_EQ(poll(node).dead, 1U);
  EXPECT_EQ(the_case().state, CaseState::dead);
}

TEST_F(ReconcilerTest, NobodysRecordIsADeadLetterUntilSomebodyIsNamed) {
  Record record = put_unknown();
  record.route = "elsewhere";
  store.put_back({record});
  Node node(*this, store, cases);
  poll(node);
  EXPECT_EQ(the_case().state, CaseState::dead);
  EXPECT_THAT(last_note(), HasSubstr("its route names no source to ask"));
  record = now_stored();
  record.route = "payments";
  store.put_back({record});
  source.says(SourceFound{testing::a_stored_response()});
  clock.advance(2h);
  poll(node);
  EXPECT_EQ(status(), Status::completed);
}

TEST_F(ReconcilerTest, ALostRaceClosesItsCase) {
  const Record record = put_unknown();
  source.says(SourceFound{testing::a_stored_response()});
  source.meanwhile = [&] {
    Record settled = now_stored();
    const Guard guard = guard_of(settled);
    settled.state = Completed{testing::a_stored_response("{}"), clock.wall()};
    EXPECT_TRUE(testing::run(store.replace_one({settled, guard, std::nullopt}))->mine);
  };
  Node node(*this, store, cases);
  poll(node);
  EXPECT_EQ(std::get<Completed>(now_stored().state).response.body, "{}");
  EXPECT_EQ(the_case().state, CaseState::closed);
  EXPECT_EQ(last_note(), "refused | lost a race: a concurrent update had settled the record");
}

TEST_F(ReconcilerTest, OfManyNodesOneAsks) {
  put_unknown();
  Node one(*this, store, cases);
  Node two(*this, store, cases);
  poll(one);
  poll(two);
  EXPECT_EQ(source.asked.size(), 1U);
}

TEST_F(ReconcilerTest, NothingIsDoneByAClockThatIsNotTrusted) {
  put_unknown();
  Node node(*this, store, cases);
  ASSERT_TRUE(run(node.engine.sync_time()));
  clock.jump_wall(24h);
  source.says(SourceNeverSeen{}, "answered 404");
  poll(node);
  EXPECT_FALSE(node.engine.time().trusted());
  EXPECT_TRUE(source.asked.empty());
  EXPECT_EQ(status(), Status::unknown);
}

TEST_F(ReconcilerTest, AClockThatJumpsWhileASourceIsAskedDatesNothing) {
  put_unknown();
  Node node(*this, store, cases);
  source.meanwhile = [&] {
    clock.jump_wall(24h);
    EXPECT_TRUE(testing::run(node.engine.sync_time()));
    EXPECT_FALSE(node.engine.time().trusted());
  };
  poll(node);
  clock.jump_wall(-24h);
  EXPECT_EQ(source.asked.size(), 1U);
  EXPECT_LT(the_case().next_at, clock.wall() + 1min);
  EXPECT_LT(std::get<Unknown>(now_stored().state).reconcile_after, clock.wall() + 1min);
}

TEST_F(ReconcilerTest, AnEventAfterAReleaseTakesItBackAndAlarms) {
  const Record record = put_unknown();
  const WebhookEvent told = event(record, "evt_1");
  source.says(SourceNeverSeen{}, "answered 404");
  Node node(*this, store, cases);
  poll_often(node);
  ASSERT_EQ(status(), Status::failed_retryable);
  ASSERT_TRUE(run(cases.keep_event(told)).value());
  poll(node);
  EXPECT_EQ(status(), Status::completed);
  EXPECT_EQ(metrics.counts["disproved"], 1);
  EXPECT_TRUE(log.has("had been found not executed, and the webhook event evt_1 proves"));
}

TEST_F(ReconcilerTest, AnEventAfterATakeoverAlarmsAndTouchesNothing) {
  const Record record = put_unknown();
  const WebhookEvent told = event(record, "evt_1");
  source.says(SourceNeverSeen{}, "answered 404");
  Node node(*this, store, cases);
  poll_often(node);
  take_over();
  ASSERT_TRUE(run(cases.keep_event(told)).value());
  poll(node);
  EXPECT_EQ(status(), Status::in_progress);
  EXPECT_EQ(metrics.counts["too late"], 1);
  EXPECT_EQ(marked("evt_1"), "too late: released and taken over");
  EXPECT_TRUE(log.has("may have been executed twice"));
}

TEST_F(ReconcilerTest, AnEventThatContradictsWhatIsStoredAlarms) {
  const Record record = put_unknown();
  source.says(SourceFound{testing::a_stored_response()});
  Node node(*this, store, cases);
  poll(node);
  clock.advance(2min);
  ASSERT_TRUE(run(cases.keep_event(event(record, "evt_1", 402))).value());
  poll(node);
  EXPECT_EQ(status(), Status::completed);
  EXPECT_EQ(metrics.counts["contradicted"], 1);
  EXPECT_EQ(marked("evt_1"), "contradicts: 201 is stored");
}

TEST_F(ReconcilerTest, ARecordOfTheLibraryThatHasASourceIsLeftToIt) {
  const Record record = put_unknown(1, "lib:tenant-a");
  ReconciliationStore::CaseClaim claim;
  claim.id = CaseId{record.scope, record.key, record.fence};
  claim.source = "library";
  claim.now = claim.until = clock.wall();
  ASSERT_TRUE(run(cases.take(claim)).value());
  Node gateway(*this, store, cases);
  poll(gateway);
  EXPECT_TRUE(source.asked.empty());
  ReconcilerOptions options;
  options.library_route = "payments";
  Node library(*this, store, cases, options);
  sources.bank.name = sources.bank.name_in_case = "library";
  source.says(SourceFound{testing::a_stored_response()}, "");
  EXPECT_EQ(poll(library).completed, 1U) << "although the gateway has put it off";
  EXPECT_EQ(last_note(), "completed | asked, it said: there it is");
}

TEST_F(ReconcilerTest, StopsWhenItWasStoppedAndNothingIsUnderWay) {
  put_unknown();
  Node node(*this, store, cases);
  source.says(SourceFound{testing::a_stored_response()});
  source.meanwhile = [&] { node.reconciler.stop(); };
  run(node.reconciler.run());
  EXPECT_EQ(status(), Status::completed) << "what was under way was finished";
}

class ReconcilerFaults : public ::testing::TestWithParam<Fault> {
 protected:
  // The same way to its end, with the n-th call of either store failing, for every n.
  static void fail_everywhere(const std::function<void(Scene&)>& prepare,
                              const std::function<void(Scene&, Node&)>& check) {
    for (const bool of_cases : {false, true}) {
      for (int n = 0;; ++n) {
        SCOPED_TRACE(std::string(of_cases ? "cases " : "store ") + std::to_string(n));
        Scene scene;
        prepare(scene);
        const testing::FailAt never{1 << 20, 1, GetParam()};
        const testing::FailAt at{n, 1, GetParam()};
        FaultStore records(scene.store, of_cases ? never : at);
        FaultReconciliationStore doubts(scene.cases, of_cases ? at : never);
        Node node(scene, records, doubts);
        check(scene, node);
        const int calls = of_cases ? doubts.calls() : records.calls();
        if (HasFailure() || calls <= n) break;
      }
    }
  }
};

TEST_P(ReconcilerFaults, WhatIsFoundIsRecordedInTheEnd) {
  fail_everywhere(
      [](Scene& scene) {
        scene.put_unknown();
        scene.source.says(SourceFound{testing::a_stored_response()});
      },
      [](Scene& scene, Node& node) {
        scene.poll_often(node);
        EXPECT_EQ(scene.status(), Status::completed);
      });
}

TEST_P(ReconcilerFaults, NothingIsReleasedThatAnEventOrALateAnswerProves) {
  enum class Proof { event, event_of_its_resource, late_answer };
  for (const Proof proof : {Proof::event, Proof::event_of_its_resource, Proof::late_answer}) {
    SCOPED_TRACE(static_cast<int>(proof));
    fail_everywhere(
        [&](Scene& scene) {
          Record record = scene.put_unknown();
          record.resource_id = "ch_1";
          scene.store.put_back({record});
          scene.source.says(SourceNeverSeen{}, "answered 404");
          WebhookEvent told = scene.event(record, "evt_1");
          if (proof == Proof::event_of_its_resource) {
            told.subject = reconcile::resource_subject(record.resource_id);
            told.scope = {};
            told.key = {};
          }
          if (proof == Proof::late_answer) {
            EXPECT_TRUE(scene.run(scene.store.keep_evidence(scene.late_answer(record))));
          } else {
            EXPECT_TRUE(scene.run(scene.cases.keep_event(told)).value());
          }
          // Asked often enough before: the next absence would do.
          scene.sources.bank.patience.absent_confirmations = 1;
          scene.pass_window();
        },
        [](Scene& scene, Node& node) {
          scene.poll_often(node);
          EXPECT_EQ(scene.status(), Status::completed);
          const auto audit = scene.store.audit();
          for (const auto& [key, entry] : audit) {
            EXPECT_THAT(entry.reason, ::testing::Not(HasSubstr("never seen")));
          }
        });
  }
}

TEST_P(ReconcilerFaults, AnEffectThatIsThereTwiceIsTold) {
  fail_everywhere(
      [](Scene& scene) {
        const Record record = scene.put_unknown();
        const WebhookEvent told = scene.event(record, "evt_1");
        scene.source.says(SourceNeverSeen{}, "answered 404");
        Node before(scene, scene.store, scene.cases);
        scene.poll_often(before);
        scene.take_over();
        EXPECT_TRUE(scene.run(scene.cases.keep_event(told)).value());
      },
      [](Scene& scene, Node& node) {
        for (int i = 0; i < 5; ++i) {
          scene.poll(node);
          scene.clock.advance(1h);
        }
        EXPECT_GE(scene.metrics.counts["too late"], 1);
        EXPECT_EQ(scene.marked("evt_1"), "too late: released and taken over");
      });
}

TEST_P(ReconcilerFaults, AContradictionIsTold) {
  fail_everywhere(
      [](Scene& scene) {
        const Record record = scene.put_unknown();
        scene.source.says(SourceFound{testing::a_stored_response()});
        Node before(scene, scene.store, scene.cases);
        scene.poll(before);
        scene.clock.advance(2min);
        EXPECT_TRUE(scene.run(scene.cases.keep_event(scene.event(record, "evt_1", 402))).value());
      },
      [](Scene& scene, Node& node) {
        for (int i = 0; i < 5; ++i) {
          scene.poll(node);
          scene.clock.advance(1h);
        }
        EXPECT_GE(scene.metrics.counts["contradicted"], 1);
        EXPECT_EQ(scene.marked("evt_1"), "contradicts: 201 is stored");
      });
}

INSTANTIATE_TEST_SUITE_P(All, ReconcilerFaults,
                         ::testing::Values(Fault::unavailable, Fault::in_doubt_written,
                                           Fault::in_doubt_lost));

}  // namespace
}  // namespace pawl::workers
