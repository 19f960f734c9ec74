#include "src/workers/ledger_comparison.hpp"

#include <gmock/gmock.h>

#include <deque>
#include <map>

#include "src/reconcile/derived_key.hpp"
#include "testing/run.hpp"

namespace pawl::workers {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Instant now{std::chrono::hours(500'000)};

// Answers in turn, whatever it is asked for.
class ScriptedPages final : public LedgerPages {
 public:
  Task<Expected<std::string, Failure>> fetch(std::string target) override {
    fetched.push_back(target);
    if (on_fetch) on_fetch();
    Expected<std::string, Failure> next = std::move(script.front());
    script.pop_front();
    co_return next;
  }

  std::deque<Expected<std::string, Failure>> script;
  std::vector<std::string> fetched;
  std::function<void()> on_fetch;
};

// Sleeps for no time, and remembers for how long.
class CountingSleepers final : public Sleepers {
 public:
  class Counting final : public Sleeper {
   public:
    explicit Counting(std::vector<Duration>& slept) : slept_(slept) {}
    Task<void> sleep(Duration longest) override {
      slept_.push_back(longest);
      co_return;
    }
    [[nodiscard]] bool woken() const override { return false; }
    void rest() override {}
    void wake() override {}

   private:
    std::vector<Duration>& slept_;
  };
  std::shared_ptr<Sleeper> new_sleeper() override { return std::make_shared<Counting>(slept); }

  std::vector<Duration> slept;
};

// Our records, in pages of one.
class OurRecords final : public LedgerStore {
 public:
  Task<StoreResult<LedgerPage>> page(LedgerQuery query) override {
    queries.push_back(query);
    LedgerPage page;
    const auto next = std::ranges::find_if(
        rows, [&](const LedgerRow& row) { return row.key.text > query.after_key.text; });
    if (next != rows.end()) {
      page.rows.push_back(*next);
      page.last_scope = next->scope;
      page.last_key = next->key;
    }
    page.is_last = next == rows.end();
    co_return page;
  }
  Task<StoreResult<bool>> take_comparison(std::string, Duration) override { co_return false; }
  Task<StoreResult<Done>> compared(Comparison, Duration) override { co_return Done{}; }
  Task<StoreResult<std::vector<Comparison>>> comparisons() override {
    co_return std::vector<Comparison>{};
  }
  [[nodiscard]] std::string trouble() const override { return "unavailable"; }

  std::vector<LedgerRow> rows;
  std::vector<LedgerQuery> queries;
};

class MemoryWorkspace final : public LedgerWorkspace {
 public:
  Task<StoreResult<Progress>> begin(LedgerRange range) override {
    if (!progress) progress = Progress{range, "", false, {}, {}, false};
    co_return *progress;
  }
  Task<StoreResult<Done>> add(std::vector<TheirEntry> page, Progress then) override {
    for (TheirEntry& entry : page) matches[entry.subject].theirs.push_back(std::move(entry));
    progress = std::move(then);
    co_return Done{};
  }
  Task<StoreResult<Done>> add(std::vector<OurEntry> page, Progress then) override {
    for (OurEntry& entry : page) matches[entry.subject].ours.push_back(std::move(entry));
    progress = std::move(then);
    co_return Done{};
  }
  Task<StoreResult<LedgerCounts>> read(std::function<void(const Match&)> each) override {
    LedgerCounts counts;
    for (const auto& [subject, match] : matches) {
      counts.ours += match.ours.size();
      counts.theirs += match.theirs.size();
      each(match);
    }
    co_return counts;
  }
  [[nodiscard]] std::string trouble() const override { return "disk full"; }

  std::optional<Progress> progress;
  std::map<std::string, Match> matches;
};

class LedgerComparisonTest : public ::testing::Test {
 protected:
  LedgerComparisonTest() {
    settings.source = "provider";
    settings.target = "/charges?after={cursor}";
    settings.routes = {"payments"};
    settings.rules.items = json::parse_pointer("/data").value();
    settings.rules.next = json::parse_pointer("/next").value();
    settings.rules.id = json::parse_pointer("/id").value();
    settings.rules.who.derived_key = json::parse_pointer("/key").value();
  }

  void we_have(const std::string& key) {
    LedgerRow row;
    row.scope = Scope{"caller:a"};
    row.key = Key{key};
    row.status = "completed";
    row.response_code = 201;
    row.created_at = now - 1h;
    ours.rows.push_back(row);
  }
  static std::string entry(const std::string& key) {
    return R"({"id":"ch_)" + key + R"(","key":")" +
           reconcile::derived_key(Scope{"caller:a"}, Key{key}) + R"("})";
  }
  void they_answer(const std::string& entries, const std::string& next) {
    pages.script.emplace_back(R"({"data":[)" + entries + R"(],"next":")" + next + R"("})");
  }
  void they_fail(bool temporary) {
    pages.script.emplace_back(Unexpected{LedgerPages::Failure{"answered 503", temporary}});
  }

  LedgerComparison::Result compare() {
    LedgerComparison comparison(settings, {ours, workspace, pages, sleepers, stop});
    const LedgerComparison::Each each = [this](const Difference& difference) {
      found.push_back(std::string(to_text(difference.kind)) + " " + difference.id + difference.key);
    };
    return pawl::testing::run(comparison.run(range_of(settings, 24h, now), each));
  }

  LedgerSettings settings;
  OurRecords ours;
  MemoryWorkspace workspace;
  ScriptedPages pages;
  CountingSleepers sleepers;
  std::atomic<bool> stop = false;
  std::vector<std::string> found;
};

TEST_F(LedgerComparisonTest, ReadsBothSidesToTheEndAndTellsWhatDiffers) {
  we_have("k1");
  we_have("k2");
  they_answer(entry("k1"), "p2");
  they_answer(entry("k3"), "");
  const LedgerComparison::Result counts = compare();
  ASSERT_TRUE(counts) << counts.error();
  EXPECT_EQ(counts->ours, 2U);
  EXPECT_EQ(counts->theirs, 2U);
  EXPECT_EQ(counts->differences(), 2U);
  EXPECT_THAT(found, ::testing::UnorderedElementsAre("ours_only k2", "theirs_only ch_k3"));
  EXPECT_THAT(pages.fetched, ElementsAre("/charges", "/charges?after=p2"));
  EXPECT_THAT(ours.queries.at(0).routes, ElementsAre("payments"));
  EXPECT_THAT(sleepers.slept, ElementsAre());
}

TEST_F(LedgerComparisonTest, ATemporaryFailureIsTriedAgainAndAPauseDoublesEachTime) {
  they_fail(true);
  they_fail(true);
  they_answer("", "");
  ASSERT_TRUE(compare());
  EXPECT_EQ(pages.fetched.size(), 3U);
  EXPECT_THAT(sleepers.slept, ElementsAre(500ms, 1s));
}

TEST_F(LedgerComparisonTest, GivesUpAfterSixTriesOfOnePage) {
  for (int i = 0; i < 6; ++i) they_fail(true);
  const LedgerComparison::Result counts = compare();
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error(), "answered 503");
  EXPECT_TRUE(pages.script.empty());
  EXPECT_TRUE(found.empty());
}

TEST_F(LedgerComparisonTest, APermanentFailureIsNotTriedAgain) {
  they_fail(false);
  ASSERT_FALSE(compare());
  EXPECT_EQ(pages.fetched.size(), 1U);
}

TEST_F(LedgerComparisonTest, AListThatNamesItsOwnPageAsTheNextIsRefused) {
  they_answer("", "p2");
  they_answer("", "p2");
  const LedgerComparison::Result counts = compare();
  ASSERT_FALSE(counts);
  EXPECT_THAT(counts.error(), HasSubstr("names itself as the next"));
}

TEST_F(LedgerComparisonTest, StopsBetweenPagesAndGoesOnThereTheNextTime) {
  we_have("k1");
  they_answer(entry("k1"), "p2");
  pages.on_fetch = [this] { stop = true; };
  const LedgerComparison::Result counts = compare();
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error(), "it was stopped");
  stop = false;
  pages.on_fetch = nullptr;
  they_answer("", "");
  ASSERT_TRUE(compare());
  EXPECT_THAT(pages.fetched, ElementsAre("/charges", "/charges?after=p2"));
  EXPECT_TRUE(found.empty());
}

TEST(LedgerCounts, AreReadBackAsTheyWereWritten) {
  LedgerCounts counts;
  counts.ours = 3;
  counts.theirs = 4;
  counts.by_kind[static_cast<std::size_t>(Differs::value)] = 5;
  const LedgerCounts read = counts_in(counts_json(counts));
  EXPECT_EQ(read.ours, 3U);
  EXPECT_EQ(read.theirs, 4U);
  EXPECT_EQ(read.by_kind[static_cast<std::size_t>(Differs::value)], 5U);
  EXPECT_EQ(read.differences(), 5U);
}

}  // namespace
}  // namespace pawl::workers
