#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>

#include "cmd/pawl/node.hpp"
#include "src/engine/pace.hpp"

namespace pawl::cmd {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;

http::UpstreamAddress address_of(const config::UpstreamUrl& url) {
  return {url.host, url.port, url.tls};
}

http::SessionLimits limits_of(const config::Limits& limits, MemoryBudget& memory) {
  http::SessionLimits session;
  session.head.head_bytes_max = limits.header_bytes;
  session.head.field_count_max = limits.header_count;
  session.head.target_bytes_max = limits.target_bytes;
  session.header_timeout = limits.header_timeout;
  session.body_timeout = limits.body_timeout;
  session.idle_timeout = limits.idle_timeout;
  session.memory = &memory;
  return session;
}

constexpr int batches_per_pass_max = 20;
constexpr std::size_t unknown_rows_max = 10'000;

EngineOptions engine_options(const gateway::NodeServices& shared) {
  EngineOptions options;
  options.orphans = shared.orphans;
  return options;
}

}  // namespace

EventLoop::EventLoop(const config::Config& config, gateway::NodeServices& shared, Store& inner,
                     prom::PrometheusMetrics& metrics, ReconciliationStore& cases)
    : pool(address_of(config.upstream), deadlines),
      others(address_of(config.upstream), deadlines),
      store(inner, clock, metrics, shared.cache),
      engine(store, clock, entropy, metrics, engine_options(shared)),
      gateway(shared, engine, store, pool, others, clock, entropy, sleepers),
      sessions(context, deadlines, gateway, limits_of(config.limits, shared.memory)),
      async(shared, engine, store, pool, clock, entropy, context.get_executor()),
      reconciler(shared, engine, store, cases, deadlines, clock, entropy, context.get_executor()),
      shared_(shared),
      metrics_(metrics),
      log_(shared.log) {}

void EventLoop::start() {
  net::co_spawn(context, deadlines.run(), net::detached);
  thread_ = std::thread([this] {
    const auto work = net::make_work_guard(context);
    while (!context.stopped()) run_until_thrown();
  });
}

// What a job throws ends that job, not the thread and all its other requests.
void EventLoop::run_until_thrown() {
  try {
    context.run();
  } catch (const std::exception& failure) {
    log_.say("error", std::string("a job was given up: ") + failure.what());
  }
}

void EventLoop::join() {
  context.stop();
  if (thread_.joinable()) thread_.join();
}

void EventLoop::repeat(Pass pass, Duration every) {
  net::co_spawn(context, repeat_until_stopped(pass, every), net::detached);
}

Task<void> EventLoop::repeat_until_stopped(Pass pass, Duration every) {
  for (;;) {
    ++busy_;  // before the look: whoever stops us sees that we are at it, or we see that we must
              // not
    if (stopping_) break;
    try {
      co_await (this->*pass)();
    } catch (const std::exception& failure) {
      log_.say("error", std::string("a background job was given up: ") + failure.what());
    }
    --busy_;
    co_await clock.sleep_until(clock.now() + every);
  }
  --busy_;
}

Task<void> EventLoop::renew() { static_cast<void>(co_await engine.renew()); }

Task<void> EventLoop::look_after() {
  pool.prune();
  others.prune();
  // An answer about an idle store's clock tells of a jump that no request would have noticed.
  static_cast<void>(co_await engine.sync_time());
  if (upkeep != nullptr) watch_clock();
  static_cast<void>(co_await engine.release_orphans());
  co_await gateway.boundary().settle_late();
}

// On one of the threads: all of them hear the same clock.
void EventLoop::watch_clock() {
  if (const std::optional<gateway::ClockNotice> notice = clock_watch_.look_at(engine.time())) {
    log_.say(notice->level, notice->text);
  }
}

Task<void> EventLoop::sweep() {
  const std::function seen = [this](const PassReport& report) {
    metrics_.waiting_records(static_cast<double>(report.waiting));
  };
  static_cast<void>(co_await sweep_at_pace(engine, clock, stopping_, seen));
}

Task<void> EventLoop::reap() { static_cast<void>(co_await reap_at_pace(engine, clock, stopping_)); }

// What outlives its record goes when its own time is over; and another node, or an operator, may
// have said meanwhile that the store was restored.
Task<void> EventLoop::tidy() {
  if (upkeep == nullptr) co_return;
  const auto told = co_await recorded_restoration(*upkeep);
  if (told) {
    on_restoration(*told);
  } else {
    shared_.log.say("warning", "store maintenance: " + told.error());
    co_return;
  }
  if (!engine.time().known() || !engine.time().trusted()) co_return;
  const config::Config& config = shared_.config;
  const Instant now = engine.time().at(clock.now());
  const TrailBefore before{now - config.outbox_retention, now - config.evidence_retention,
                           now - config.audit_retention};
  Pace pace(clock, stopping_);
  for (int batch = 0; batch < batches_per_pass_max && !stopping_; ++batch) {
    pace.begin();
    const StoreResult<std::size_t> gone = co_await upkeep->reap(before);
    if (!gone) shared_.log.say("warning", "store maintenance: " + upkeep->trouble());
    if (!gone || *gone == 0) co_return;
    co_await pace.rest();
  }
}

Task<void> EventLoop::count_unknown() {
  if (!engine.time().known()) co_return;
  const Instant now = engine.time().at(clock.now());
  const PassQuery all{.now = now + std::chrono::years(10), .rows_max = unknown_rows_max};
  const StoreResult<std::vector<Record>> rows = co_await store.undetermined(all);
  if (!rows) co_return;
  Duration oldest{0};
  for (const Record& record : *rows) {
    oldest = std::max(oldest, now - std::get<Unknown>(record.state).locked_until);
  }
  metrics_.unknown_records(static_cast<double>(rows->size()),
                           std::chrono::duration<double>(oldest).count());
}

// Once when there are some, and again when there are more.
Task<void> EventLoop::count_unreadable() {
  const std::size_t rows = store.unreadable_rows();
  metrics_.unreadable_records(static_cast<double>(rows));
  if (rows > unreadable_) {
    log_.say("error", std::to_string(rows) +
                          " records cannot be understood (damaged, or written by a newer version): "
                          "their keys are refused, and no background job can settle or reap them");
  }
  unreadable_ = rows;
  co_return;
}

Task<void> EventLoop::count_outbox() { co_await outbox->count(); }

}  // namespace pawl::cmd
