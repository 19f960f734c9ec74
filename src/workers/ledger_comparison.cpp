#include "src/workers/ledger_comparison.hpp"

#include "pawl/types/json.hpp"
#include "src/core/json_writer.hpp"
#include "src/reconcile/derived_key.hpp"

namespace pawl::workers {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t our_rows_max = 250;
constexpr int tries_max = 6;
constexpr Duration first_pause = 500ms;  // doubled
// A charge may be younger than its record: it was retried, or found out about late.
constexpr Duration overlap = 24h;
constexpr std::string_view stopped = "it was stopped";

// Something that the list would otherwise begin again with, for ever.
std::string same_cursor(const std::string& cursor) {
  return "its list does not go on: the page after \"" + cursor + "\" names itself as the next";
}

OurEntry entry_of(const LedgerRow& row, const reconcile::LedgerRules& rules) {
  OurEntry entry;
  entry.subject = reconcile::derived_key(row.scope, row.key);
  entry.scope = row.scope;
  entry.key = row.key;
  entry.status = from_text<Status>(row.status).value_or(Status::unknown);
  entry.code = row.response_code;
  entry.created_at = row.created_at;
  if (entry.status == Status::completed) entry.facts = reconcile::facts_of(rules, row.body);
  return entry;
}

std::uint64_t number_in(const json::Value& object, std::string_view name) {
  const json::Value* const found = object.find(name);
  const bool number = found != nullptr && found->kind == json::Kind::number;
  return number ? std::strtoull(found->text.c_str(), nullptr, 10) : 0;
}

}  // namespace

LedgerRange range_of(const LedgerSettings& settings, Duration since, Instant now) {
  return {settings.source, now - since, now - settings.visibility_window};
}

Task<LedgerComparison::Result> LedgerComparison::run(LedgerRange range, const Each& each) {
  const StoreResult<LedgerWorkspace::Progress> begun = co_await ports_.workspace.begin(range);
  if (!begun) co_return Unexpected{ports_.workspace.trouble()};
  // Theirs first: what they have was on record here before they had it.
  const Read theirs = co_await read_theirs(*begun);
  if (!theirs) co_return Unexpected{theirs.error()};
  const Read ours = co_await read_ours(*theirs);
  if (!ours) co_return Unexpected{ours.error()};
  LedgerCounts counts;
  const std::function compare = [&](const LedgerWorkspace::Match& match) {
    const OurEntry* const mine = match.ours.empty() ? nullptr : &match.ours.front();
    const std::optional<Difference> found =
        reconcile::difference_of(settings_.rules, theirs->range, mine, match.theirs);
    if (!found) return;
    ++counts.by_kind[static_cast<std::size_t>(found->kind)];
    each(*found);
  };
  const StoreResult<LedgerCounts> read = co_await ports_.workspace.read(compare);
  if (!read) co_return Unexpected{ports_.workspace.trouble()};
  counts.ours = read->ours;
  counts.theirs = read->theirs;
  co_return counts;
}

Task<LedgerComparison::Read> LedgerComparison::read_theirs(LedgerWorkspace::Progress progress) {
  while (!progress.theirs_done) {
    if (ports_.stop) co_return Unexpected{std::string(stopped)};
    std::string target =
        reconcile::fill_page_url(settings_.target, progress.cursor, progress.range.since);
    const Expected<std::string, std::string> body = co_await fetch(std::move(target));
    if (!body) co_return Unexpected{body.error()};
    const Expected<reconcile::Page, std::string> page =
        reconcile::read_page(settings_.rules, *body);
    if (!page) co_return Unexpected{page.error()};
    if (page->next && *page->next == progress.cursor) {
      co_return Unexpected{same_cursor(progress.cursor)};
    }
    progress.theirs_done = !page->next;
    progress.cursor = page->next.value_or("");
    const StoreResult<Done> added = co_await ports_.workspace.add(page->entries, progress);
    if (!added) co_return Unexpected{ports_.workspace.trouble()};
  }
  co_return progress;
}

Task<LedgerComparison::Read> LedgerComparison::read_ours(LedgerWorkspace::Progress progress) {
  LedgerQuery query;
  query.routes = settings_.routes;
  query.since = progress.range.since - overlap;
  query.rows_max = our_rows_max;
  query.bodies = !settings_.rules.compare.empty();
  while (!progress.ours_done) {
    if (ports_.stop) co_return Unexpected{std::string(stopped)};
    query.after_scope = progress.scope;
    query.after_key = progress.key;
    const StoreResult<LedgerPage> page = co_await ports_.ledger.page(query);
    if (!page) co_return Unexpected{ports_.ledger.trouble()};
    std::vector<OurEntry> entries;
    for (const LedgerRow& row : page->rows) entries.push_back(entry_of(row, settings_.rules));
    progress.ours_done = page->is_last;
    if (!page->is_last) {
      progress.scope = page->last_scope;
      progress.key = page->last_key;
    }
    const StoreResult<Done> added = co_await ports_.workspace.add(std::move(entries), progress);
    if (!added) co_return Unexpected{ports_.workspace.trouble()};
  }
  co_return progress;
}

// A list may be fetched as often as need be; a source that is busy is given time.
Task<Expected<std::string, std::string>> LedgerComparison::fetch(std::string target) {
  Duration pause = first_pause;
  for (int tries = 1;; ++tries) {
    Expected<std::string, LedgerPages::Failure> body = co_await ports_.pages.fetch(target);
    if (body) co_return std::move(*body);
    const bool again = body.error().temporary && tries < tries_max && !ports_.stop;
    if (!again) co_return Unexpected{body.error().why};
    co_await sleeper_->sleep(pause);
    pause *= 2;
  }
}

std::string counts_json(const LedgerCounts& counts) {
  JsonObject out;
  out.number("ours", static_cast<std::int64_t>(counts.ours));
  out.number("theirs", static_cast<std::int64_t>(counts.theirs));
  for (const auto& [kind, name] : Names<Differs>::table) {
    out.number(name, static_cast<std::int64_t>(counts.by_kind[static_cast<std::size_t>(kind)]));
  }
  return out.done();
}

LedgerCounts counts_in(const std::string& json) {
  LedgerCounts counts;
  const Expected<json::Value, json::Error> read = json::read(json);
  if (!read) return counts;
  counts.ours = number_in(*read, "ours");
  counts.theirs = number_in(*read, "theirs");
  for (const auto& [kind, name] : Names<Differs>::table) {
    counts.by_kind[static_cast<std::size_t>(kind)] = number_in(*read, name);
  }
  return counts;
}

}  // namespace pawl::workers
