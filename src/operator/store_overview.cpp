#include "src/operator/store_overview.hpp"

#include <array>
#include <chrono>
#include <cstdio>

#include "src/config/show.hpp"
#include "src/core/json_writer.hpp"

namespace pawl {
namespace {

std::string counts_text(const StoreOverview::Counts& counts) {
  std::string text;
  for (const auto& [status, number] : counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(number) + " " + status;
  }
  return text.empty() ? "none" : text;
}

std::string counts_json(const StoreOverview::Counts& counts) {
  JsonObject out;
  for (const auto& [status, number] : counts) out.raw(status, std::to_string(number));
  return out.done();
}

std::string restoration_text(const StoredRestoration& restoration, bool in_force) {
  return "at " + to_the_second(restoration.at) + " from a backup of " +
         to_the_second(restoration.since) +
         (in_force ? "; keys that are not in the store are refused until " : "; in force until ") +
         to_the_second(restoration.until) +
         (restoration.trust_uuidv7 ? ", unless they are UUIDs of version 7 made since then" : "") +
         (restoration.finished ? "" : "; NOT FINISHED: run `pawl store restored` again");
}

}  // namespace

bool StoreSummary::restoration_in_force() const {
  return restoration && overview.now < restoration->until;
}

Task<OrRefusal<StoreSummary>> summarize_store(Upkeep& upkeep) {
  StoreResult<StoreOverview> overview = co_await upkeep.overview();
  if (!overview) co_return port_failed(upkeep, overview.error());
  const auto restoration = co_await recorded_restoration(upkeep);
  if (!restoration) co_return unavailable(restoration.error());
  co_return StoreSummary{std::move(*overview), *restoration};
}

std::string store_summary(const StoreSummary& summary, const std::string& store) {
  const StoreOverview& overview = summary.overview;
  return "store     " + config::mask_passwords(store) + "\nschema    version " +
         std::to_string(overview.schema_version) + "\nrestored  " +
         (summary.restoration
              ? restoration_text(*summary.restoration, summary.restoration_in_force())
              : "never") +
         "\nkeys      " + counts_text(overview.keys) + "\noutbox    " +
         counts_text(overview.outbox) + "\nevidence  " + std::to_string(overview.evidence) +
         "\naudit     " + std::to_string(overview.audit) + "\n";
}

std::string store_summary_json(const StoreSummary& summary) {
  const StoreOverview& overview = summary.overview;
  JsonObject out;
  out.number("schema_version", overview.schema_version);
  out.number("purge_epoch", overview.purge_epoch);
  out.raw("restoration", summary.restoration ? to_json(*summary.restoration) : "null");
  out.flag("in_force", summary.restoration_in_force());
  out.raw("keys", counts_json(overview.keys)).raw("outbox", counts_json(overview.outbox));
  out.raw("evidence", std::to_string(overview.evidence));
  out.raw("audit", std::to_string(overview.audit));
  return out.done() + "\n";
}

std::string keys_in_words(const Upkeep::KeyCount& count, std::int64_t exact_max) {
  if (count.exact) return std::to_string(count.number) + " keys";
  // A store that cannot estimate stops counting there.
  if (count.number <= exact_max + 1) return "more than " + std::to_string(exact_max) + " keys";
  return "about " + std::to_string(count.number) + " keys";
}

std::string to_the_second(Instant at) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(at - day));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ", int(date.year()),
                unsigned(date.month()), unsigned(date.day()), int(time.hours().count()),
                int(time.minutes().count()), int(time.seconds().count()));
  return text.data();
}

}  // namespace pawl
