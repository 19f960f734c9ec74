#include "src/gateway/ledger_comparison.hpp"

#include "src/adapters/http/upstream_call.hpp"
#include "src/gateway/question.hpp"
#include "src/reconcile/derived_key.hpp"
#include "src/reconcile/ledger.hpp"

namespace pawl::gateway {
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

}  // namespace

LedgerRange range_of(const config::Source& source, Duration since, Instant now) {
  return {source.name, now - since, now - source.patience.visibility_window};
}

std::vector<std::string> routes_of(const config::Source& source, const config::Config& config) {
  std::vector<std::string> names;
  if (config.policy.reconcile == source.name) names.emplace_back("default");
  if (config.key_api.policy.reconcile == source.name) names.emplace_back("key-api");
  for (const config::Route& route : config.routes) {
    if (route.policy.reconcile == source.name) names.push_back(route.name);
  }
  return names;
}

http::UpstreamAddress LedgerComparison::address_of(const config::Source& source) {
  return gateway::address_of(source.ledger->address);
}

Task<LedgerComparison::Result> LedgerComparison::run(LedgerRange range, const Each& each) {
  const StoreResult<LedgerWorkspace::Progress> begun = co_await workspace_.begin(range);
  if (!begun) co_return Unexpected{workspace_.trouble()};
  // Theirs first: what they have was on record here before they had it.
  const Read theirs = co_await read_theirs(*begun);
  if (!theirs) co_return Unexpected{theirs.error()};
  const Read ours = co_await read_ours(*theirs);
  if (!ours) co_return Unexpected{ours.error()};
  LedgerCounts counts;
  const std::function look = [&](const LedgerWorkspace::Match& match) {
    const OurEntry* const mine = match.ours.empty() ? nullptr : &match.ours.front();
    const std::optional<Difference> found =
        reconcile::difference_of(source_.ledger->rules, theirs->range, mine, match.theirs);
    if (!found) return;
    ++counts.by_kind[static_cast<std::size_t>(found->kind)];
    each(*found);
  };
  const StoreResult<LedgerCounts> read = co_await workspace_.read(look);
  if (!read) co_return Unexpected{workspace_.trouble()};
  counts.ours = read->ours;
  counts.theirs = read->theirs;
  co_return counts;
}

Task<LedgerComparison::Read> LedgerComparison::read_theirs(LedgerWorkspace::Progress progress) {
  const config::Ledger& ledger = *source_.ledger;
  while (!progress.theirs_done) {
    if (stop_) co_return Unexpected{std::string(stopped)};
    std::string target =
        reconcile::fill_page_url(ledger.target, progress.cursor, progress.range.since);
    const Expected<std::string, std::string> body = co_await ask_for(std::move(target));
    if (!body) co_return Unexpected{body.error()};
    const Expected<reconcile::Page, std::string> page = reconcile::read_page(ledger.rules, *body);
    if (!page) co_return Unexpected{page.error()};
    if (page->next && *page->next == progress.cursor) {
      co_return Unexpected{same_cursor(progress.cursor)};
    }
    progress.theirs_done = !page->next;
    progress.cursor = page->next.value_or("");
    const StoreResult<Done> added = co_await workspace_.add(page->entries, progress);
    if (!added) co_return Unexpected{workspace_.trouble()};
  }
  co_return progress;
}

Task<LedgerComparison::Read> LedgerComparison::read_ours(LedgerWorkspace::Progress progress) {
  LedgerQuery query;
  query.routes = routes_;
  query.since = progress.range.since - overlap;
  query.rows_max = our_rows_max;
  query.bodies = !source_.ledger->rules.compare.empty();
  while (!progress.ours_done) {
    if (stop_) co_return Unexpected{std::string(stopped)};
    query.after_scope = progress.scope;
    query.after_key = progress.key;
    const StoreResult<LedgerPage> page = co_await ledger_.page(query);
    if (!page) co_return Unexpected{ledger_.trouble()};
    std::vector<OurEntry> entries;
    for (const LedgerRow& row : page->rows) entries.push_back(entry_of(row, source_.ledger->rules));
    progress.ours_done = page->is_last;
    if (!page->is_last) {
      progress.scope = page->last_scope;
      progress.key = page->last_key;
    }
    const StoreResult<Done> added = co_await workspace_.add(std::move(entries), progress);
    if (!added) co_return Unexpected{workspace_.trouble()};
  }
  co_return progress;
}

// A list may be asked for as often as need be; a source that is busy is given time.
Task<Expected<std::string, std::string>> LedgerComparison::ask_for(std::string target) {
  Duration pause = first_pause;
  for (int tries = 1;; ++tries) {
    bool again = false;
    Expected<std::string, std::string> body = co_await ask_once(target, again);
    if (body || !again || tries == tries_max || stop_) co_return body;
    co_await deadlines_.sleep(pause);
    pause *= 2;
  }
}

Task<Expected<std::string, std::string>> LedgerComparison::ask_once(const std::string& target,
                                                                    bool& again) {
  Question question(source_, target, pool_.authority());
  http::CallOptions options;
  options.connect_timeout = source_.timeout;
  http::UpstreamCall call(pool_, question, options);
  AlwaysOpen gate;
  const Record nobody{};
  const Outcome outcome = co_await call.send(nobody, gate, deadlines_.now() + source_.timeout);
  again = true;
  const std::string about = "GET " + target + ": ";
  if (const auto* none = std::get_if<NotSent>(&outcome)) co_return Unexpected{about + none->why};
  if (const auto* lost = std::get_if<Lost>(&outcome)) co_return Unexpected{about + lost->why};
  const Response& response = std::get<Answered>(outcome).response;
  if (response.status == 200) co_return response.body;
  again = response.status >= 500 || response.status == 429;
  co_return Unexpected{about + "answered " + std::to_string(response.status)};
}

}  // namespace pawl::gateway
