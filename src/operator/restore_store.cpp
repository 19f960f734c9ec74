#include "src/operator/restore_store.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "src/config/units.hpp"
#include "src/operator/known_retention.hpp"
#include "src/operator/store_overview.hpp"

namespace pawl {
namespace {

using std::chrono::hours;

constexpr std::size_t unsettled_per_page = 500;
constexpr Duration refused_for_min = hours(48);
constexpr const char* in_use =
    "a record changed meanwhile: stop every node and service that uses this store";

// How long keys that the store has forgotten may live on with a client: the longest of all that is
// known. Nothing where neither the store nor a configuration says.
Task<OrRefusal<std::optional<Duration>>> longest_retention(Upkeep& upkeep, Instant now,
                                                           std::optional<Duration> configured) {
  const OrRefusal<std::optional<Duration>> known = co_await retention_known_to(upkeep, now);
  if (!known) co_return Unexpected{known.error()};
  const std::optional<Duration> longest = std::max(*known, configured);
  if (!longest) co_return std::optional<Duration>();
  co_return std::optional<Duration>(std::max(*longest, refused_for_min));
}

std::optional<Duration> wanted_in(const RestoreOrder& order) {
  if (order.refused_for.empty()) return std::nullopt;
  return config::parse_duration(order.refused_for);
}

// What becomes of the keys of one page.
Task<OrRefusal<std::vector<Replacement>>> changes_for(Store& store, const KeyPage& page,
                                                      const AuditEntry& audit) {
  const OrRefusal<Instant> now = co_await time_of(store);
  if (!now) co_return Unexpected{now.error()};
  std::vector<Replacement> changes;
  for (const auto& [scope, key] : page.keys) {
    const StoreResult<std::optional<Record>> found = co_await store.find(scope, key);
    // Left as it is: no node can use it, and so it executes nothing.
    if (!found && found.error() == StoreError::unreadable) continue;
    if (!found) co_return store_failed(found.error());
    if (!*found) continue;
    std::optional<Record> next = restored(**found, *now);
    if (next) changes.push_back({std::move(*next), guard_of(**found), audit});
  }
  co_return changes;
}

// How many became unknown; an error where not all of them could be written.
Task<OrRefusal<std::size_t>> change_page(Store& store, const KeyPage& page,
                                         const AuditEntry& audit) {
  OrRefusal<std::vector<Replacement>> changes = co_await changes_for(store, page, audit);
  if (!changes) co_return Unexpected{changes.error()};
  if (changes->empty()) co_return std::size_t{0};
  const std::vector<StoreResult<Written>> results = co_await store.replace(std::move(*changes));
  for (const StoreResult<Written>& written : results) {
    if (!written) co_return store_failed(written.error());
    if (!written->mine) co_return refused(in_use);
  }
  co_return results.size();
}

Task<OrRefusal<std::size_t>> change_all(Store& store, Upkeep& upkeep, const AuditEntry& audit) {
  std::size_t done = 0;
  KeyPage page;
  while (!page.is_last) {
    StoreResult<KeyPage> next =
        co_await upkeep.unsettled(page.last_scope, page.last_key, unsettled_per_page);
    if (!next) co_return port_failed(upkeep, next.error());
    page = std::move(*next);
    const OrRefusal<std::size_t> changed = co_await change_page(store, page, audit);
    if (!changed) co_return Unexpected{changed.error()};
    done += *changed;
  }
  co_return done;
}

Task<OrRefusal<std::size_t>> doubt_all_messages(Upkeep& upkeep) {
  std::size_t all = 0;
  for (;;) {
    const StoreResult<std::size_t> some = co_await upkeep.doubt_messages();
    if (!some) co_return port_failed(upkeep, some.error());
    if (*some == 0) co_return all;
    all += *some;
  }
}

Unexpected<Refusal> not_finished(const std::string& what, Refusal why) {
  why.sentence = what + "; repeat this command, it goes on where it stopped: " + why.sentence;
  return Unexpected{std::move(why)};
}

}  // namespace

std::optional<Refusal> check_restore(const RestoreOrder& order) {
  if (std::optional<Refusal> wrong = check_reason(order.by.reason)) return wrong;
  const std::optional<Duration> wanted = wanted_in(order);
  if (order.refused_for.empty() || (wanted && *wanted > Duration{0})) return std::nullopt;
  return malformed("--for must be like 48h or 7d").error;
}

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

Task<OrRefusal<RestorePlan>> plan_restore(Store& store, Upkeep& upkeep, RestoreOrder order) {
  if (const auto wrong = check_restore(order)) co_return Unexpected{*wrong};
  const std::optional<Duration> wanted = wanted_in(order);
  const OrRefusal<Instant> now = co_await time_of(store);
  if (!now) co_return Unexpected{now.error()};
  const std::optional<Instant> since = parse_since(order.since, *now);
  if (!since || *since > *now) {
    co_return malformed(
        "--since must be when the backup was made: a time that is past, like "
        "2026-11-16T22:00:00Z, or how long ago, like 3h");
  }
  const auto before = co_await recorded_restoration(upkeep);
  if (!before) co_return unavailable(before.error());
  const OrRefusal<std::optional<Duration>> known =
      co_await longest_retention(upkeep, *now, order.configured_retention);
  if (!known) co_return Unexpected{known.error()};
  if (!*known && !wanted) {
    co_return malformed(
        "nothing says how long keys of this store live: give the nodes' --config, or --for with "
        "the longest retention of any service that used it");
  }
  RestorePlan plan;
  if (wanted && *known && *wanted < **known) {
    plan.warning = "--for " + order.refused_for + " is shorter than keys may live (" +
                   config::to_text(**known) +
                   "): a key that was used after the backup is new again after that";
  }
  const Duration length = wanted.value_or(known->value_or(refused_for_min));
  plan.restoration = StoredRestoration{*since, *now, *now + length, false, order.trust_uuidv7};
  if (*before) {
    plan.restoration.since = std::min(plan.restoration.since, (*before)->since);
    plan.restoration.until = std::max(plan.restoration.until, (*before)->until);
  }
  plan.audit = audit_of(order.by, "store-restored");
  co_return plan;
}

Task<OrRefusal<RestoredStore>> restore_store(Store& store, Upkeep& upkeep, RestorePlan plan) {
  StoredRestoration& declared = plan.restoration;
  declared.finished = false;
  // First of all: from here on no node starts that does not know.
  const std::string opening = to_json(declared);
  const StoreResult<Done> begun = co_await upkeep.declare(restoration_fact, opening, plan.audit);
  if (!begun) co_return port_failed(upkeep, begun.error());
  const OrRefusal<std::size_t> keys = co_await change_all(store, upkeep, plan.audit);
  if (!keys) co_return not_finished("not all keys were gone through", keys.error());
  const OrRefusal<std::size_t> messages = co_await doubt_all_messages(upkeep);
  if (!messages) {
    co_return not_finished("not all of the outbox was gone through", messages.error());
  }
  declared.finished = true;
  const std::string closing = to_json(declared);
  const StoreResult<Done> ended = co_await upkeep.declare(restoration_fact, closing, plan.audit);
  if (!ended) {
    co_return not_finished("it could not be recorded as done",
                           port_failed(upkeep, ended.error()).error);
  }
  co_return RestoredStore{declared, *keys, *messages};
}

std::string restored_text(const RestoredStore& restored) {
  return "restored: keys that are not in the store are refused until " +
         to_the_second(restored.restoration.until) + "\n  " + std::to_string(restored.keys) +
         " keys that were not finished are unknown now\n  " + std::to_string(restored.messages) +
         " messages of the outbox may have been sent since they were enqueued\n" +
         "Start or restart every node now.\n";
}

}  // namespace pawl
