#include "src/reconcile/event.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/reconcile/derived_key.hpp"

namespace pawl::reconcile {
namespace {

using namespace std::chrono_literals;

json::Pointer at(std::string_view text) { return *json::parse_pointer(text); }

EventRules rules() {
  EventRules made;
  made.id = at("/id");
  made.time = at("/created");
  made.key = at("/data/key");
  made.scope = at("/data/scope");
  EventRule paid;
  paid.where = {{at("/type"), {"paid"}}};
  paid.then = EventThen::completed;
  paid.reply.status = 201;
  paid.reply.body = *parse_template("{/data}", true);
  EventRule pending;
  pending.where = {{at("/type"), {"pending"}}};
  made.rules = {paid, pending};
  return made;
}

constexpr const char* paid =
    R"({"id":"e1","type":"paid","created":1700000000,"data":{"key":"k","scope":"s","n":1.0}})";

TEST(Event, SaysWhatItIsAbout) {
  const auto read = read_event(rules(), paid);
  ASSERT_TRUE(read && *read);
  const Event& event = **read;
  EXPECT_EQ(event.id, "e1");
  EXPECT_EQ(event.subject, derived_key(Scope{"s"}, Key{"k"}));
  EXPECT_TRUE(event.is_final);
  EXPECT_EQ(event.happened_at, Instant(std::chrono::seconds(1'700'000'000)));
  EXPECT_EQ(event.response.status, 201);
  EXPECT_EQ(event.response.body, R"({"key":"k","scope":"s","n":1.0})");
}

TEST(Event, ItsRuleSaysWhetherItHappened) {
  EventRules made = rules();
  EXPECT_FALSE((*read_event(made, paid))->declined);
  made.rules.front().then = EventThen::declined;
  const auto read = read_event(made, paid);
  ASSERT_TRUE(read && *read);
  EXPECT_TRUE((*read)->is_final);
  EXPECT_TRUE((*read)->declined);
  EXPECT_EQ((*read)->response.status, 201) << "what its client is told is another matter";
  made.rules.front().then = EventThen::completed;
  made.rules.front().reply.status = 402;
  EXPECT_TRUE((*read_event(made, paid))->declined) << "as configurations said it before";
}

TEST(Event, ScopesAreTold) {
  EventRules one = rules();
  one.scope.reset();
  one.fixed_scope = "s";
  EXPECT_EQ((*read_event(one, paid))->subject, derived_key(Scope{"s"}, Key{"k"}));
  one.fixed_scope = "t";
  EXPECT_EQ((*read_event(one, paid))->subject, derived_key(Scope{"t"}, Key{"k"}));
  EventRules derived = rules();
  derived.derived_key = at("/data/key");
  EXPECT_EQ((*read_event(derived, paid))->subject, "k");
}

TEST(Event, NobodysEventsAreIgnoredAndBrokenOnesRefused) {
  EXPECT_FALSE(*read_event(rules(), R"({"id":"e","type":"other"})"));
  EXPECT_FALSE(*read_event(rules(), "[]"));
  for (const char* body :
       {"", "{", "{\"a\":1,\"a\":1}",
        R"({"type":"paid","created":1,"data":{"key":"k","scope":"s"}})",
        R"({"id":"","type":"paid","created":1,"data":{"key":"k","scope":"s"}})",
        R"({"id":"e","type":"paid","data":{"key":"k","scope":"s"}})",
        R"({"id":"e","type":"paid","created":"soon","data":{"key":"k","scope":"s"}})",
        R"({"id":"e","type":"paid","created":1e3,"data":{"key":"k","scope":"s"}})",
        R"({"id":"e","type":"paid","created":1,"data":{"scope":"s"}})",
        R"({"id":"e","type":"paid","created":1,"data":{"key":"k"}})",
        R"({"id":"e","type":"paid","created":1,"data":{"key":["k"],"scope":"s"}})",
        "{\"id\":\"e\",\"type\":\"paid\",\"created\":1,\"data\":{\"key\":\"\\u0000\",\"scope\":"
        "\"s\"}}"}) {
    EXPECT_FALSE(read_event(rules(), body)) << body;
  }
}

const Instant created{std::chrono::seconds(1'700'000'000)};

const AttemptSeen first{created, 1, created};

KeptEvent event(bool is_final, Duration happened, Duration received, int status = 200) {
  return {is_final, created + happened, created + received, status};
}

// In whatever order they came, the same one decides, and never one that is not final.
TEST(Events, TheOrderTheyCameInIsOfNoImportance) {
  std::vector<KeptEvent> events{event(false, 5s, 50s), event(true, 2s, 60s), event(true, 4s, 40s),
                                event(false, 9s, 70s), event(true, 3s, 90s)};
  std::vector<std::size_t> order{0, 1, 2, 3, 4};
  do {
    std::vector<KeptEvent> shuffled;
    for (const std::size_t i : order) shuffled.push_back(events[i]);
    const auto best = decisive(shuffled, first);
    ASSERT_TRUE(best);
    EXPECT_EQ(shuffled[*best].happened_at, created + 4s) << "the latest final one";
  } while (std::ranges::next_permutation(order).found);
}

TEST(Events, PendingDecidesNothing) {
  EXPECT_FALSE(decisive({}, first));
  EXPECT_FALSE(decisive({event(false, 1s, 1s), event(false, 2s, 2s)}, first));
}

TEST(Events, AnEarlierLifeOfTheKeyIsNotThisOne) {
  EXPECT_FALSE(decisive({event(true, 1s, -1us)}, first)) << "it came before the request";
  EXPECT_FALSE(decisive({event(true, -61s, 5s)}, first)) << "it happened before the request";
  EXPECT_TRUE(decisive({event(true, -60s, 5s)}, first)) << "clocks differ a little";
}

TEST(Events, WhatHappenedAtTheSameTimeIsTakenAsItCame) {
  const auto best = decisive({event(true, 1s, 9s), event(true, 1s, 3s)}, first);
  EXPECT_EQ(best, 0U);
}

// The second attempt began ten minutes into the key's life.
const AttemptSeen second{created, 2, created + 600s};

TEST(Events, OfAnEarlierAttemptOnlyASuccessDecides) {
  const auto declined = [](Duration at) { return event(true, at, at + 700s, 402); };
  EXPECT_FALSE(decisive({declined(590s)}, second)) << "the first attempt's, told late";
  EXPECT_FALSE(decisive({declined(620s)}, second)) << "their clock may be ahead of ours";
  EXPECT_TRUE(decisive({declined(660s)}, second)) << "nobody else's any more";
  EXPECT_TRUE(decisive({declined(5s)}, first)) << "there was no other attempt";
  EXPECT_FALSE(decisive({event(true, 700s, 700s, 402)}, second))
      << "without a time of its own it may be about any attempt";
  EXPECT_TRUE(decisive({event(true, 5s, 700s)}, second)) << "the effect is there";
  EXPECT_FALSE(decisive({event(true, 900s, 950s, 402)}, {created, 2, std::nullopt}))
      << "when the attempt began is not known";
}

// What the client is told has nothing to do with what happened: a decline may be told as a 201.
TEST(Events, ADeclineIsNoSuccessWhateverItIsAnsweredWith) {
  KeptEvent declined = event(true, 590s, 700s, 201);
  declined.declined = true;
  EXPECT_FALSE(decisive({declined}, second)) << "the first attempt's, told late";
  EXPECT_EQ(decisive({event(true, 5s, 700s), declined}, second), 0U);
  EXPECT_TRUE(decisive({declined}, first)) << "there was no other attempt";
}

TEST(Events, ADeclineThatIsAnsweredWithASuccessContradictsWhatWasFound) {
  KeptEvent declined = event(true, 5s, 6s, 201);
  declined.declined = true;
  const KeptEvent paid_event = event(true, 5s, 6s, 201);
  const StoredOutcome found_paid{.status = 201};
  const StoredOutcome found_declined{.status = 201, .by_owner = false, .declined = true};
  EXPECT_EQ(contradiction(declined, {}, found_paid, first), Contradiction::outcome);
  EXPECT_EQ(contradiction(declined, {}, found_declined, first), Contradiction::none);
  EXPECT_EQ(contradiction(paid_event, {}, found_declined, first), Contradiction::outcome);
  EXPECT_EQ(contradiction(declined, {}, {.status = 201, .by_owner = true}, first),
            Contradiction::none)
      << "the owner's 201 may be a decline as well: its status does not say";
}

TEST(Events, ASuccessOutweighsALaterRefusalWhereSeveralAttemptsWereMade) {
  const std::vector<KeptEvent> events{event(true, 5s, 700s), event(true, 670s, 701s, 402)};
  EXPECT_EQ(decisive(events, second), 0U);
  EXPECT_EQ(decisive(events, first), 1U) << "one attempt: the latest word";
}

TEST(Events, WhatSaysOtherwiseThanIsStoredIsAContradiction) {
  const StoredOutcome declined{402, false};
  const StoredOutcome done{201, true};
  const StoredOutcome found{201, false};
  const KeptEvent early = event(true, 5s, 700s);
  const KeptEvent late = event(true, 610s, 700s);
  EXPECT_EQ(contradiction(late, {}, declined, first), Contradiction::outcome);
  EXPECT_EQ(contradiction(early, {}, declined, second), Contradiction::outcome);
  EXPECT_EQ(contradiction(late, {}, {std::nullopt, false}, first), Contradiction::outcome)
      << "released, and it had happened";
  EXPECT_EQ(contradiction(late, {}, done, first), Contradiction::none);
  EXPECT_EQ(contradiction(event(true, 9s, 9s, 402), {}, done, first), Contradiction::outcome);
  EXPECT_EQ(contradiction(event(true, 5s, 700s, 402), {}, done, second), Contradiction::none)
      << "the first attempt's refusal, and the second one's success";
  EXPECT_EQ(contradiction(event(true, 700s, 701s, 402), {}, done, second), Contradiction::outcome);
  EXPECT_EQ(contradiction(late, {}, done, second), Contradiction::none) << "the attempt's own";
  EXPECT_EQ(contradiction(early, {}, done, second), Contradiction::twice);
  EXPECT_EQ(contradiction(early, {early}, found, second), Contradiction::none)
      << "what was found may be what it tells of";
  EXPECT_EQ(contradiction(late, {early, late}, found, second), Contradiction::twice);
  EXPECT_EQ(contradiction(event(true, -61s, 9s), {}, declined, first), Contradiction::none)
      << "another life";
  EXPECT_EQ(contradiction(event(false, 9s, 9s), {}, declined, first), Contradiction::none);
}

TEST(Event, AResourceIdIsEnough) {
  EventRules by_resource = rules();
  by_resource.key.reset();
  by_resource.scope.reset();
  by_resource.resource_id = *json::parse_pointer("/data/id");
  const auto read =
      read_event(by_resource, R"({"id":"e","type":"paid","created":1,"data":{"id":"ch_1"}})");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ((*read)->subject, "resource:ch_1");
  EXPECT_TRUE((*read)->scope.text.empty());
  EXPECT_FALSE(read_event(by_resource, R"({"id":"e","type":"paid","created":1,"data":{}})"));
}

TEST(Events, AFindingThatWasWrongIsToldOnceTheRecordIsTakenOver) {
  Record record;
  record.created_at = created;
  const Fence before{created.time_since_epoch().count()};
  const Fence after{before.number + 1};
  record.fence = after;
  const std::vector<Release> released{{before, created + 60s}};
  EXPECT_TRUE(proves_too_late(event(true, 5s, 90s), released, record));
  EXPECT_TRUE(proves_too_late(event(true, 59s, 90s), released, record));
  EXPECT_FALSE(proves_too_late(event(true, 60s, 90s), released, record))
      << "times are whole afters: it may be about the after owner";
  EXPECT_FALSE(proves_too_late(event(false, 5s, 90s), released, record)) << "only pending";
  EXPECT_FALSE(proves_too_late(event(true, 5s, 90s, 402), released, record)) << "declined";
  EXPECT_FALSE(proves_too_late(event(true, 5s, 90s), {}, record)) << "nobody released it";
  record.fence = before;
  EXPECT_FALSE(proves_too_late(event(true, 5s, 90s), released, record)) << "still in time";
  record.fence = after;
  record.created_at = created + 61s;
  EXPECT_FALSE(proves_too_late(event(true, 5s, 90s), released, record)) << "an earlier life";
}

}  // namespace
}  // namespace pawl::reconcile
