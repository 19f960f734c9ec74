#include "src/reconcile/ledger.hpp"

#include <gtest/gtest.h>

#include "src/reconcile/derived_key.hpp"

namespace pawl::reconcile {
namespace {

using namespace std::chrono_literals;

json::Pointer at(std::string_view text) { return *json::parse_pointer(text); }

LedgerRules rules() {
  LedgerRules made;
  made.items = at("/data");
  made.next = at("/next");
  made.where = {{at("/status"), {"succeeded"}}};
  made.id = at("/id");
  made.who.key = at("/key");
  made.who.fixed_scope = "caller:default";
  made.compare = {{at("/amount"), at("/amount")}, {at("/currency"), at("/money/currency")}};
  return made;
}

const Instant now{24h * 365};
const LedgerRange range{"bank", now - 24h, now - 5min};

OurEntry ours(Status status = Status::completed, int code = 201) {
  OurEntry entry;
  entry.subject = "s";
  entry.key.text = "k";
  entry.status = status;
  entry.code = code;
  entry.created_at = now - 1h;
  entry.facts = facts_of(rules(), R"({"amount":100,"currency":"EUR"})");
  return entry;
}

TheirEntry theirs(const std::string& amount = "100") {
  const auto page = read_page(rules(), R"({"data":[{"id":"ch_1","status":"succeeded","key":"k",)"
                                       R"("amount":)" +
                                           amount + R"(,"money":{"currency":"EUR"}}]})");
  return page.value().entries.front();
}

std::optional<Differs> found(const OurEntry* mine, const std::vector<TheirEntry>& other) {
  const auto difference = difference_of(rules(), range, mine, other);
  return difference ? std::optional(difference->kind) : std::nullopt;
}

TEST(LedgerPage, HasTheEntriesThatCount) {
  const auto page =
      read_page(rules(), R"({"data":[{"id":"ch_1","status":"succeeded","key":"k","amount":1.50},)"
                         R"({"id":"ch_2","status":"failed","key":"k2"},)"
                         R"({"id":"ch_3","status":"succeeded"}],"next":"ch_3"})");
  ASSERT_TRUE(page);
  ASSERT_EQ(page->entries.size(), 2U);
  EXPECT_EQ(page->entries[0].subject, derived_key(Scope{"caller:default"}, Key{"k"}));
  EXPECT_EQ(page->entries[0].id, "ch_1");
  EXPECT_EQ(page->entries[1].subject, "") << "it names no request, and is kept all the same";
  EXPECT_EQ(page->next, "ch_3");
}

TEST(LedgerPage, TellsWhetherThereIsAnother) {
  EXPECT_FALSE(read_page(rules(), R"({"data":[]})")->next);
  EXPECT_FALSE(read_page(rules(), R"({"data":[],"next":null})")->next);
  EXPECT_FALSE(read_page(rules(), R"({"data":[],"next":""})")->next);
  EXPECT_EQ(read_page(rules(), R"({"data":[],"next":17})")->next, "17");
  LedgerRules by_item = rules();
  by_item.next.reset();
  by_item.more = at("/has_more");
  by_item.cursor = at("/id");
  EXPECT_EQ(read_page(by_item, R"({"data":[{"id":"a"},{"id":"b"}],"has_more":true})")->next, "b");
  EXPECT_FALSE(read_page(by_item, R"({"data":[{"id":"a"}],"has_more":false})")->next);
  EXPECT_FALSE(read_page(by_item, R"({"data":[],"has_more":true})")) << "it would never end";
}

TEST(LedgerPage, IsRefusedWhereItIsNotUnderstood) {
  EXPECT_FALSE(read_page(rules(), "<html>"));
  EXPECT_FALSE(read_page(rules(), R"({"data":{}})"));
  EXPECT_FALSE(read_page(rules(), R"({"error":"no"})"));
}

TEST(LedgerPage, IsNotTheLastWhereTheNextCannotBeRead) {
  for (const std::string next : {"true", "{\"cursor\":\"a\"}", "[\"a\"]"}) {
    EXPECT_FALSE(read_page(rules(), "{\"data\":[],\"next\":" + next + "}")) << next;
  }
  EXPECT_EQ(read_page(rules(), R"({"data":[],"next":false})").value().next, std::nullopt);
  LedgerRules by_more = rules();
  by_more.next.reset();
  by_more.more = at("/more");
  by_more.cursor = at("/id");
  for (const std::string more : {"\"true\"", "1", "{}"}) {
    EXPECT_FALSE(read_page(by_more, "{\"data\":[{\"id\":1}],\"more\":" + more + "}")) << more;
  }
  EXPECT_EQ(read_page(by_more, R"({"data":[{"id":1}],"more":null})").value().next, std::nullopt);
}

TEST(LedgerUrl, IsFilled) {
  EXPECT_EQ(fill_page_url("/v1/charges?after={cursor}&from={since}", "a b&c", Instant(90s)),
            "/v1/charges?after=a%20b%26c&from=90");
  EXPECT_EQ(fill_page_url("/c?after={cursor}&from={since}", "", Instant(90s)), "/c?from=90");
  EXPECT_EQ(fill_page_url("/c?from={since}&after={cursor}", "", Instant(90s)), "/c?from=90");
  EXPECT_EQ(fill_page_url("/c?a=1&after={cursor}&b=2", "", Instant(90s)), "/c?a=1&b=2");
  EXPECT_EQ(fill_page_url("/c?after={cursor}", "", Instant(90s)), "/c");
  EXPECT_EQ(fill_page_url("/pages/{cursor}", "", Instant(90s)), "/pages/");
}

TEST(LedgerDifference, NoneWhereBothAgree) {
  const OurEntry mine = ours();
  EXPECT_EQ(found(&mine, {theirs()}), std::nullopt);
  EXPECT_EQ(found(&mine, {theirs("1e2")}), std::nullopt) << "amounts are compared by value";
}

TEST(LedgerDifference, AmountsAndWhateverElseIsCompared) {
  const OurEntry mine = ours();
  const auto difference = difference_of(rules(), range, &mine, {theirs("120")});
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->kind, Differs::value);
  EXPECT_EQ(difference->detail, "/amount: ours 100, theirs 120");
  OurEntry withheld = ours();
  withheld.facts = facts_of(rules(), std::nullopt);
  EXPECT_EQ(found(&withheld, {theirs("120")}), std::nullopt) << "there is nothing to compare with";
}

// What is said of a value of ours and one of theirs, each as JSON.
std::string difference_between(const std::string& mine, const std::string& other) {
  OurEntry entry = ours();
  entry.facts = facts_of(rules(), "{\"amount\":" + mine + ",\"currency\":\"EUR\"}");
  const auto difference = difference_of(rules(), range, &entry, {theirs(other)});
  return difference ? difference->detail : std::string();
}

TEST(LedgerDifference, NothingAndAnythingElse) {
  EXPECT_EQ(difference_between(R"("")", R"("")"), "");
  EXPECT_EQ(difference_between(R"("")", "100"), R"(/amount: ours "", theirs 100)");
  EXPECT_EQ(difference_between("100", R"("")"), R"(/amount: ours 100, theirs "")");
  EXPECT_NE(difference_between("\"(none)\"", R"("")"), "");
}

TEST(LedgerDifference, ValuesThatOnlyLookAlike) {
  EXPECT_NE(difference_between(R"("1\u001f2")", R"("1 2")"), "");
  EXPECT_NE(difference_between(R"("\"")", R"("\"\\\"\"")"), "");
  const std::string alike(300, '7');
  EXPECT_NE(difference_between("\"" + alike + "1\"", "\"" + alike + "2\""), "");
  EXPECT_EQ(difference_between("\"" + alike + "1\"", "\"" + alike + "1\""), "");
  EXPECT_NE(difference_between("[\"" + alike + "\",1]", "[\"" + alike + "\",2]"), "");
}

TEST(LedgerDifference, NoneBetweenTwoSpellingsOfADocument) {
  EXPECT_EQ(difference_between(R"({"a":1,"b":[2]})", R"({"b":[2.0],"a":1})"), "");
}

TEST(LedgerDifference, OneSideOnly) {
  const OurEntry mine = ours();
  EXPECT_EQ(found(nullptr, {theirs()}), Differs::theirs_only);
  EXPECT_EQ(found(&mine, {}), Differs::ours_only);
  OurEntry young = ours();
  young.created_at = range.until;
  EXPECT_EQ(found(&young, {}), std::nullopt) << "it may not be shown there yet";
  OurEntry old = ours();
  old.created_at = range.since - 1us;
  EXPECT_EQ(found(&old, {}), std::nullopt) << "nobody asked";
  const OurEntry declined = ours(Status::completed, 402);
  EXPECT_EQ(found(&declined, {}), std::nullopt) << "nothing was to happen";
}

TEST(LedgerDifference, StatesThatDoNotSayThatItHappened) {
  for (const Status status : {Status::unknown, Status::failed_retryable}) {
    const OurEntry mine = ours(status, 0);
    EXPECT_EQ(found(&mine, {theirs()}), Differs::state) << to_text(status);
  }
  const OurEntry declined = ours(Status::completed, 402);
  EXPECT_EQ(found(&declined, {theirs()}), Differs::state);
  for (const Status status : {Status::pending, Status::in_progress, Status::expired}) {
    const OurEntry mine = ours(status, 0);
    EXPECT_EQ(found(&mine, {theirs()}), std::nullopt) << to_text(status);
  }
}

TEST(LedgerDifference, TwiceIsToldBeforeAnythingElse) {
  const OurEntry mine = ours();
  const auto difference = difference_of(rules(), range, &mine, {theirs(), theirs("120")});
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->kind, Differs::theirs_twice);
  EXPECT_EQ(difference->detail, "2 entries: ch_1, ch_1");
}

}  // namespace
}  // namespace pawl::reconcile
