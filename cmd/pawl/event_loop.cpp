#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>

#include "cmd/pawl/node.hpp"
#include "src/workers/failures.hpp"

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

EngineOptions engine_options(const gateway::NodeServices& shared) {
  EngineOptions options;
  options.orphans = shared.orphans;
  return options;
}

}  // namespace

EventLoop::EventLoop(const config::Config& config, gateway::NodeServices& shared, Ports ports)
    : pool(address_of(config.upstream), deadlines),
      others(address_of(config.upstream), deadlines),
      store(ports.store, clock, ports.metrics, shared.cache),
      engine(store, clock, entropy, ports.metrics, engine_options(shared)),
      gateway(shared, engine, store, pool, others, clock, entropy, sleepers),
      sessions(context, deadlines, gateway, limits_of(config.limits, shared.memory)),
      stored_calls(shared, pool),
      async({engine, store, stored_calls, shared, clock, entropy, sleepers, shared.log},
            context.get_executor()),
      sources(shared, deadlines),
      reconciler({engine, store, ports.cases, sources, shared, clock, entropy, sleepers,
                  ports.metrics, shared.log},
                 context.get_executor()),
      maintenance(
          {engine, gateway.boundary(), store, clock, ports.metrics, shared.log, ports.upkeep},
          maintenance_options(config, ports)),
      log_(shared.log),
      tasks_(context.get_executor(), workers::told_to(shared.log)) {}

workers::MaintenanceOptions EventLoop::maintenance_options(const config::Config& config,
                                                           Ports& ports) {
  workers::MaintenanceOptions options;
  options.outbox_retention = config.outbox_retention;
  options.evidence_retention = config.evidence_retention;
  options.audit_retention = config.audit_retention;
  options.on_restoration = std::move(ports.on_restoration);
  if (ports.upkeep == nullptr) return options;
  options.on_clock = [this](const StoreTime& time) {
    const std::optional<gateway::ClockNotice> notice = clock_watch_.look_at(time);
    if (notice) log_.say(notice->level, notice->text);
  };
  return options;
}

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

void EventLoop::stop_passes() {
  stopping_ = true;
  for (Job& job : jobs_) job.loop.stop();
  async.stop();
  if (outbox) outbox->stop();
  if (inquiries) inquiries->stop();
  reconciler.stop();
}

void EventLoop::run(Task<void> work) {
  ++*running_;
  tasks_.spawn(until_over(std::move(work)));
}

Task<void> EventLoop::until_over(Task<void> work) {
  // However it ends: a job that was given up must not keep the node from ending.
  const std::shared_ptr<void> over(nullptr, [count = running_](void*) { --*count; });
  co_await std::move(work);
}

void EventLoop::repeat(std::string what, std::function<Task<void>()> job, Duration every) {
  Job& made = jobs_.emplace_back(sleepers, log_, std::move(what), every, std::move(job));
  run(made.loop.run(made.poll));
}

void EventLoop::keep_leases(Duration every) {
  const auto renew = [this] { return maintenance.renew(); };
  repeat("renewing leases", renew, every);
  const auto look = [this] { return look_after(); };
  repeat("looking after lost reservations", look, 2s);
}

void EventLoop::keep_order(Duration every) {
  const auto sweep = [this] { return maintenance.sweep(stopping_); };
  repeat("sweeping", sweep, every);
  const auto reap = [this] { return maintenance.reap(stopping_); };
  repeat("reaping", reap, every);
  const auto tidy = [this] { return maintenance.tidy(stopping_); };
  repeat("store maintenance", tidy, every);
  const auto count_records = [this] { return count(); };
  repeat("counting", count_records, every);
}

Task<void> EventLoop::look_after() {
  pool.prune();
  others.prune();
  sources.prune();
  if (destinations) destinations->prune();
  co_await maintenance.look_after();
}

Task<void> EventLoop::count() {
  maintenance.count_unreadable();
  co_await maintenance.count_unknown();
}

}  // namespace pawl::cmd
