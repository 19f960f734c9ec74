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

KeptEvent event(bool is_final, Duration happened, Duration received) {
  return {is_final, created + happened, created + received};
}

// In whatever order they came, the same one decides, and never one that is not final.
TEST(Events, TheOrderTheyCameInIsOfNoImportance) {
  std::vector<KeptEvent> events{event(false, 5s, 50s), event(true, 2s, 60s), event(true, 4s, 40s),
                                event(false, 9s, 70s), event(true, 3s, 90s)};
  std::vector<std::size_t> order{0, 1, 2, 3, 4};
  do {
    std::vector<KeptEvent> shuffled;
    for (const std::size_t i : order) shuffled.push_back(events[i]);
    const auto best = decisive(shuffled, created);
    ASSERT_TRUE(best);
    EXPECT_EQ(shuffled[*best].happened_at, created + 4s) << "the latest final one";
  } while (std::ranges::next_permutation(order).found);
}

TEST(Events, PendingDecidesNothing) {
  EXPECT_FALSE(decisive({}, created));
  EXPECT_FALSE(decisive({event(false, 1s, 1s), event(false, 2s, 2s)}, created));
}

TEST(Events, AnEarlierLifeOfTheKeyIsNotThisOne) {
  EXPECT_FALSE(decisive({event(true, 1s, -1us)}, created)) << "it came before the request";
  EXPECT_FALSE(decisive({event(true, -61s, 5s)}, created)) << "it happened before the request";
  EXPECT_TRUE(decisive({event(true, -60s, 5s)}, created)) << "clocks differ a little";
}

TEST(Events, WhatHappenedAtTheSameTimeIsTakenAsItCame) {
  const auto best = decisive({event(true, 1s, 9s), event(true, 1s, 3s)}, created);
  EXPECT_EQ(best, 0U);
}

TEST(Events, AFindingThatWasWrongIsToldOnceTheRecordIsTakenOver) {
  Record record;
  record.created_at = created;
  const Fence first{created.time_since_epoch().count()};
  const Fence second{first.number + 1};
  record.fence = second;
  const std::vector<Release> released{{first, created + 60s}};
  EXPECT_TRUE(proves_too_late(event(true, 5s, 90s), released, record));
  EXPECT_TRUE(proves_too_late(event(true, 59s, 90s), released, record));
  EXPECT_FALSE(proves_too_late(event(true, 60s, 90s), released, record))
      << "times are whole seconds: it may be about the second owner";
  EXPECT_FALSE(proves_too_late(event(false, 5s, 90s), released, record)) << "only pending";
  EXPECT_FALSE(proves_too_late(event(true, 5s, 90s), {}, record)) << "nobody released it";
  record.fence = first;
  EXPECT_FALSE(proves_too_late(event(true, 5s, 90s), released, record)) << "still in time";
  record.fence = second;
  record.created_at = created + 61s;
  EXPECT_FALSE(proves_too_late(event(true, 5s, 90s), released, record)) << "an earlier life";
}

}  // namespace
}  // namespace pawl::reconcile
