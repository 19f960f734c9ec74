// pawl store: the store as a whole. What it holds, and what must be said after it was restored.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>

#include "cmd/pawl/command.hpp"
#include "cmd/pawl/current_user.hpp"
#include "cmd/pawl/desk.hpp"
#include "cmd/pawl/known_retention.hpp"
#include "pawl/types/json.hpp"
#include "src/config/secrets.hpp"
#include "src/config/serving.hpp"
#include "src/config/show.hpp"
#include "src/config/units.hpp"
#include "src/engine/stored_restoration.hpp"

namespace pawl::cmd {
namespace {

using std::chrono::hours;

constexpr std::size_t page_rows = 500;
constexpr Duration refused_for_min = hours(48);

struct Options {
  std::string store;
  std::optional<std::string> config;
  bool json = false;
  // restored
  std::string since;
  std::string refused_for;
  bool trust_uuidv7 = false;
  std::string reason;
  std::string actor;
};

int failed(const std::string& what, int code = exit_failed) {
  std::cerr << "pawl store: " << what << '\n';
  return code;
}

// Which store, and for how long it keeps a key at most, where a configuration says so.
struct Chosen {
  std::string store;
  std::optional<Duration> retention;
};

Expected<Chosen, std::string> choose(const Options& options) {
  Chosen chosen;
  if (!options.config) {
    if (options.store.empty()) return Unexpected{std::string("--store or --config must say which")};
    Expected<std::string, std::string> store = config::expand_store(options.store);
    if (!store) return Unexpected{"--store: " + store.error()};
    chosen.store = std::move(*store);
    return chosen;
  }
  config::Overrides overrides;
  if (!options.store.empty()) overrides.store = options.store;
  const auto read = config::read_for_serving(options.config, overrides, config::Purpose::work);
  if (!read) {
    std::string all;
    for (const config::Diagnostic& trouble : read.error()) all += "\n" + to_text(trouble);
    return Unexpected{"the configuration is not right:" + all};
  }
  chosen.store = read->config.store;
  chosen.retention = retention_in(read->config);
  return chosen;
}

// How long keys that the store has forgotten may live on with a client: the longest of all that is
// known. Nothing where neither the store nor a configuration says.
Expected<std::optional<Duration>, std::string> longest_retention(const Chosen& chosen, Desk& desk,
                                                                 Instant now) {
  Expected<std::optional<Duration>, std::string> known = retention_known_to(*desk.open.upkeep, now);
  if (!known) return known;
  const std::optional<Duration> longest = std::max(*known, chosen.retention);
  if (!longest) return std::optional<Duration>();
  return std::optional<Duration>(std::max(*longest, refused_for_min));
}

// "2026-11-16T22:00:00Z", or how long ago: "3h".
std::optional<Instant> parse_since(const std::string& text, Instant now) {
  if (const std::optional<Duration> ago = config::parse_duration(text)) return now - *ago;
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int read = 0;
  const int fields = std::sscanf(text.c_str(), "%4d-%2u-%2uT%2d:%2d:%2dZ%n", &year, &month, &day,
                                 &hour, &minute, &second, &read);
  if (fields != 6 || static_cast<std::size_t>(read) != text.size()) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  const bool in_range =
      hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60;
  if (!date.ok() || !in_range) return std::nullopt;
  return Instant(std::chrono::sys_days(date)) + hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second);
}

std::string in_words(Instant at) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(at - day));
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", int(date.year()),
                unsigned(date.month()), unsigned(date.day()), int(time.hours().count()),
                int(time.minutes().count()), int(time.seconds().count()));
  return text;
}

constexpr std::string_view in_use =
    "a record changed meanwhile: stop every node and service that uses this store";

// One page of them. How many became unknown; an error where not all of them could be written.
Expected<std::size_t, std::string> doubt_page(Desk& desk, const KeyPage& page,
                                              const AuditEntry& audit) {
  const Expected<Instant, std::string> now = time_of(desk);
  if (!now) return Unexpected{now.error()};
  std::vector<Replacement> changes;
  for (const auto& [scope, key] : page.keys) {
    const StoreResult<std::optional<Record>> found = run_here(desk.open.store->find(scope, key));
    // Left as it is: nobody can use it, and so it executes nothing.
    if (!found && found.error() == StoreError::unreadable) continue;
    if (!found) return Unexpected{"the store: " + std::string(to_text(found.error()))};
    if (!*found) continue;
    const Record& record = **found;
    std::optional<Record> next = pawl::restored(record, *now);
    if (next) changes.push_back({std::move(*next), guard_of(record), audit});
  }
  if (changes.empty()) return std::size_t{0};
  const std::vector<StoreResult<Written>> results =
      run_here(desk.open.store->replace(std::move(changes)));
  std::size_t done = 0;
  for (const StoreResult<Written>& written : results) {
    if (!written) return Unexpected{"the store: " + std::string(to_text(written.error()))};
    if (!written->mine) return Unexpected{std::string(in_use)};
    ++done;
  }
  return done;
}

Expected<std::size_t, std::string> doubt_all(Desk& desk, const AuditEntry& audit) {
  std::size_t done = 0;
  KeyPage page;
  while (!page.is_last) {
    Expected<KeyPage, std::string> next =
        desk.open.upkeep->unsettled(page.last_scope, page.last_key, page_rows);
    if (!next) return Unexpected{next.error()};
    page = std::move(*next);
    const Expected<std::size_t, std::string> changed = doubt_page(desk, page, audit);
    if (!changed) return Unexpected{changed.error()};
    done += *changed;
  }
  return done;
}

Expected<std::size_t, std::string> doubt_messages(Desk& desk) {
  std::size_t all = 0;
  for (;;) {
    const Expected<std::size_t, std::string> some = desk.open.upkeep->doubt_messages();
    if (!some) return some;
    if (*some == 0) return all;
    all += *some;
  }
}

int restored(const Options& options) {
  if (const std::string must = check_reason(options.reason); !must.empty()) {
    return failed(must, exit_usage);
  }
  std::optional<Duration> wanted;
  if (!options.refused_for.empty()) {
    wanted = config::parse_duration(options.refused_for);
    if (!wanted || *wanted <= Duration{0})
      return failed("--for must be like 48h or 7d", exit_usage);
  }
  const Expected<Chosen, std::string> chosen = choose(options);
  if (!chosen) return failed(chosen.error(), exit_usage);
  const auto desk = open_desk(chosen->store);
  if (!desk) return failed(desk.error());
  const Expected<Instant, std::string> now = time_of(**desk);
  if (!now) return failed(now.error());
  const std::optional<Instant> since = parse_since(options.since, *now);
  if (!since || *since > *now) {
    return failed(
        "--since must be when the backup was made: a time that is past, like "
        "2026-11-16T22:00:00Z, or how long ago, like 3h",
        exit_usage);
  }
  Upkeep& upkeep = *(*desk)->open.upkeep;
  const Expected<std::optional<StoredRestoration>, std::string> before =
      recorded_restoration(upkeep);
  if (!before) return failed(before.error());

  const Expected<std::optional<Duration>, std::string> known =
      longest_retention(*chosen, **desk, *now);
  if (!known) return failed(known.error());
  if (!*known && !wanted) {
    return failed(
        "nothing says how long keys of this store live: give the nodes' --config, or --for with "
        "the longest retention of any service that used it",
        exit_usage);
  }
  if (wanted && *known && *wanted < **known) {
    std::cerr << "pawl store: --for " << options.refused_for << " is shorter than keys may live ("
              << config::to_text(**known) << "): a key that was used after the backup is new "
              << "again after that\n";
  }

  StoredRestoration told{*since, *now, *now + wanted.value_or(known->value_or(refused_for_min)),
                         false, options.trust_uuidv7};
  if (*before) {
    told.since = std::min(told.since, (*before)->since);
    told.until = std::max(told.until, (*before)->until);
  }
  const std::string actor = options.actor.empty() ? current_user() : options.actor;
  const AuditEntry audit{"operator " + actor, "store-restored", options.reason};
  // First of all: from here on no node starts that does not know.
  const Upkeep::Result<Done> begun = upkeep.declare(restoration_fact, to_json(told), audit);
  if (!begun) return failed(begun.error());
  const std::string again = "; repeat this command, it goes on where it stopped: ";
  const Expected<std::size_t, std::string> records = doubt_all(**desk, audit);
  if (!records) return failed("not all keys were gone through" + again + records.error());
  const Expected<std::size_t, std::string> messages = doubt_messages(**desk);
  if (!messages) return failed("not all of the outbox was gone through" + again + messages.error());
  told.finished = true;
  const Upkeep::Result<Done> ended = upkeep.declare(restoration_fact, to_json(told), audit);
  if (!ended) return failed("it could not be recorded as done" + again + ended.error());
  std::cout << "restored: keys that are not in the store are refused until " << in_words(told.until)
            << "\n  " << *records << " keys that were not finished are unknown now\n  " << *messages
            << " messages of the outbox may have been sent since they were enqueued\n"
            << "Start or restart every node now.\n";
  return exit_ok;
}

std::string counts_text(const StoreOverview::Counts& counts) {
  std::string text;
  for (const auto& [status, number] : counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(number) + " " + status;
  }
  return text.empty() ? "none" : text;
}

std::string counts_json(const StoreOverview::Counts& counts) {
  std::string text = "{";
  for (const auto& [status, number] : counts) {
    text += (text.size() > 1 ? "," : "") + json::quote(status) + ":" + std::to_string(number);
  }
  return text + "}";
}

void print_json(const StoreOverview& overview, const std::optional<StoredRestoration>& told) {
  std::cout << R"({"schema_version":)" << overview.schema_version << R"(,"purge_epoch":)"
            << overview.purge_epoch << R"(,"restoration":)"
            << (told ? to_json(*told) : std::string("null")) << R"(,"in_force":)"
            << (told && overview.now < told->until ? "true" : "false") << R"(,"keys":)"
            << counts_json(overview.keys) << R"(,"outbox":)" << counts_json(overview.outbox)
            << R"(,"evidence":)" << overview.evidence << R"(,"audit":)" << overview.audit << "}\n";
}

void print_text(const std::string& store, const StoreOverview& overview,
                const std::optional<StoredRestoration>& told) {
  std::cout << "store     " << config::mask_passwords(store) << "\nschema    version "
            << overview.schema_version << "\nrestored  ";
  if (!told) {
    std::cout << "never";
  } else {
    const bool in_force = overview.now < told->until;
    std::cout << "at " << in_words(told->at) << " from a backup of " << in_words(told->since)
              << (in_force ? "; keys that are not in the store are refused until "
                           : "; in force until ")
              << in_words(told->until)
              << (told->trust_uuidv7 ? ", unless they are UUIDs of version 7 made since then" : "")
              << (told->finished ? "" : "; NOT FINISHED: run `pawl store restored` again");
  }
  std::cout << "\nkeys      " << counts_text(overview.keys) << "\noutbox    "
            << counts_text(overview.outbox) << "\nevidence  " << overview.evidence << "\naudit     "
            << overview.audit << '\n';
}

int show(const Options& options) {
  const Expected<Chosen, std::string> chosen = choose(options);
  if (!chosen) return failed(chosen.error(), exit_usage);
  const auto desk = open_desk(chosen->store);
  if (!desk) return failed(desk.error());
  const Upkeep::Result<StoreOverview> overview = (*desk)->open.upkeep->overview();
  if (!overview) return failed(overview.error());
  const auto told = recorded_restoration(*(*desk)->open.upkeep);
  if (!told) return failed(told.error());
  options.json ? print_json(*overview, *told) : print_text(chosen->store, *overview, *told);
  return exit_ok;
}

void add_which(CLI::App* command, const std::shared_ptr<Options>& options) {
  command->add_option("--store", options->store, "postgres://..., key=value pairs, or sqlite:PATH");
  command->add_option("--config", options->config, "The nodes' TOML file, instead");
}

}  // namespace

void add_store(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("store", "Inspect the store; record that it was restored");
  command->require_subcommand(1);
  command->footer("How to restore a backup: docs/stores.md");

  auto looked = std::make_shared<Options>();
  CLI::App* showing = command->add_subcommand("show", "Version, restoration in force, counts");
  add_which(showing, looked);
  showing->add_flag("--json", looked->json, "Print one JSON object");
  showing->footer("Example: pawl store show --store sqlite:pawl.db");
  showing->callback([looked, &exit_code] { exit_code = show(*looked); });

  auto options = std::make_shared<Options>();
  CLI::App* saying = command->add_subcommand(
      "restored", "Say that the store was put back from a backup, before nodes start on it");
  add_which(saying, options);
  saying
      ->add_option("--since", options->since,
                   "When the backup was made: 2026-11-16T22:00:00Z, or how long ago: 3h")
      ->required();
  saying->add_option("--for", options->refused_for,
                     "How long unknown keys are refused (the longest retention that the store or "
                     "the configuration knows of, at least 48h)");
  saying->add_flag("--trust-uuidv7", options->trust_uuidv7,
                   "Keys that date themselves (UUID version 7) after this are new. Only where the "
                   "clocks of all clients are right: one that is fast pays again");
  saying->add_option("--reason", options->reason, "Why; kept with your name")->required();
  saying->add_option("--actor", options->actor, "Who does it (you, on this machine)");
  saying->footer(
      "A backup has forgotten the keys that were used after it was made. To execute\n"
      "them again would be to pay again: they are refused (409 store-restored) until\n"
      "their retention is over. What was not finished in the backup becomes unknown.\n"
      "May be repeated.\n"
      "Example: pawl store restored --config /etc/pawl/pawl.toml \\\n"
      "           --since 2026-11-16T22:00:00Z --reason \"disk of db1 lost\"\n"
      "Exit codes: 0 done, 1 failed (repeat it), 64 wrong usage.");
  saying->callback([options, &exit_code] { exit_code = restored(*options); });
}

}  // namespace pawl::cmd
