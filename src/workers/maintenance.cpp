#include "src/workers/maintenance.hpp"

#include <algorithm>
#include <string>

namespace pawl::workers {
namespace {

constexpr int batches_per_pass_max = 20;
constexpr std::size_t unknown_rows_max = 10'000;

}  // namespace

std::optional<Restoration> restoration_of(const std::optional<StoredRestoration>& told) {
  if (!told) return std::nullopt;
  return Restoration{told->since, told->at, told->until, told->trust_uuidv7};
}

Maintenance::Maintenance(MaintenancePorts ports, MaintenanceOptions options)
    : ports_(ports), options_(std::move(options)) {}

Task<void> Maintenance::renew() { static_cast<void>(co_await ports_.engine.renew()); }

Task<void> Maintenance::look_after() {
  // An answer about an idle store's clock tells of a jump that no request would have noticed.
  static_cast<void>(co_await ports_.engine.sync_time());
  options_.on_clock(ports_.engine.time());
  static_cast<void>(co_await ports_.engine.release_orphans());
  co_await ports_.boundary.settle_late();
}

Task<void> Maintenance::sweep(const std::atomic<bool>& stop) {
  const std::function seen = [this](const PassReport& report) {
    ports_.metrics.waiting_records(static_cast<double>(report.waiting));
  };
  static_cast<void>(co_await sweep_at_pace(ports_.engine, ports_.clock, stop, seen));
}

Task<void> Maintenance::reap(const std::atomic<bool>& stop) {
  static_cast<void>(co_await reap_at_pace(ports_.engine, ports_.clock, stop));
}

Task<bool> Maintenance::obey_restoration() {
  const Expected<std::optional<StoredRestoration>, std::string> told =
      co_await recorded_restoration(*ports_.upkeep);
  if (!told) {
    ports_.log.say("warning", "store maintenance: " + told.error());
    co_return false;
  }
  if (options_.on_restoration) {
    options_.on_restoration(*told);
  } else {
    ports_.engine.set_restored(restoration_of(*told));
  }
  co_return true;
}

Task<void> Maintenance::tidy(const std::atomic<bool>& stop) {
  if (ports_.upkeep == nullptr) co_return;
  const bool obeyed = co_await obey_restoration();
  const StoreTime& time = ports_.engine.time();
  if (!obeyed || !options_.reaps_trail || !time.known() || !time.trusted()) co_return;
  const Instant now = time.at(ports_.clock.now());
  const TrailBefore before{now - options_.outbox_retention, now - options_.evidence_retention,
                           now - options_.audit_retention};
  Pace pace(ports_.clock, stop);
  for (int batch = 0; batch < batches_per_pass_max && !stop; ++batch) {
    pace.begin();
    const StoreResult<std::size_t> gone = co_await ports_.upkeep->reap(before);
    if (!gone) ports_.log.say("warning", "store maintenance: " + ports_.upkeep->trouble());
    if (!gone || *gone == 0) co_return;
    co_await pace.rest();
  }
}

Task<void> Maintenance::count_unknown() {
  if (!ports_.engine.time().known()) co_return;
  const Instant now = ports_.engine.time().at(ports_.clock.now());
  const PassQuery all{.now = now + std::chrono::years(10), .rows_max = unknown_rows_max};
  const StoreResult<std::vector<Record>> rows = co_await ports_.store.undetermined(all);
  if (!rows) co_return;
  Duration oldest{0};
  for (const Record& record : *rows) {
    oldest = std::max(oldest, now - std::get<Unknown>(record.state).locked_until);
  }
  ports_.metrics.unknown_records(static_cast<double>(rows->size()),
                                 std::chrono::duration<double>(oldest).count());
}

// Once when there are some, and again when there are more.
void Maintenance::count_unreadable() {
  const std::size_t rows = ports_.store.unreadable_rows();
  ports_.metrics.unreadable_records(static_cast<double>(rows));
  if (rows > unreadable_) {
    ports_.log.say("error",
                   std::to_string(rows) +
                       " records cannot be understood (damaged, or written by a newer version): "
                       "their keys are refused, and no background job can settle or reap them");
  }
  unreadable_ = rows;
}

}  // namespace pawl::workers
