#include "src/gateway/node_thread.hpp"

#include <boost/asio/post.hpp>

#include "src/gateway/question.hpp"

namespace pawl::gateway {
namespace {

using namespace std::chrono_literals;

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

EngineOptions engine_options(const NodeServices& shared) {
  EngineOptions options;
  options.orphans = shared.orphans;
  return options;
}

}  // namespace

NodeThread::NodeThread(const config::Config& config, NodeServices& shared, Ports ports)
    : loop(shared.log),
      pool(upstreams_of(config), loop.deadlines),
      others(upstreams_of(config), loop.deadlines),
      store(ports.store, loop.clock, ports.metrics, shared.cache),
      engine(store, loop.clock, loop.entropy, ports.metrics, engine_options(shared)),
      gateway(shared, engine, store, pool, others, loop.clock, loop.entropy, loop.sleepers),
      sessions(loop.context, loop.deadlines, gateway, limits_of(config.limits, shared.memory),
               {&ports.connections, config.proxy_protocol}),
      stored_calls(shared, pool),
      async({engine, store, stored_calls, shared, loop.clock, loop.entropy, loop.sleepers,
             shared.log},
            executor()),
      sources(shared, loop.deadlines),
      reconciler({engine, store, ports.cases, sources, shared, loop.clock, loop.entropy,
                  loop.sleepers, ports.metrics, shared.log},
                 executor()),
      maintenance(
          {engine, gateway.boundary(), store, loop.clock, ports.metrics, shared.log, ports.upkeep},
          maintenance_options(config, ports)),
      log_(shared.log),
      memory_(shared.memory) {
  sessions.set_trusted_proxies(networks_of(config.trusted_proxies));
}

workers::MaintenanceOptions NodeThread::maintenance_options(const config::Config& config,
                                                            Ports& ports) {
  workers::MaintenanceOptions options;
  options.outbox_retention = config.outbox_retention;
  options.evidence_retention = config.evidence_retention;
  options.audit_retention = config.audit_retention;
  options.on_restoration = std::move(ports.on_restoration);
  if (ports.upkeep == nullptr) return options;
  options.on_clock = [this](const StoreTime& time) {
    const std::optional<workers::ClockNotice> notice = clock_watch_.changed(time);
    if (notice) log_.say(notice->level, notice->text);
  };
  return options;
}

void NodeThread::set_limits(const config::Limits& limits) {
  boost::asio::post(loop.context,
                    [this, next = limits_of(limits, memory_)] { sessions.set_limits(next); });
}

void NodeThread::set_trusted_proxies(const std::vector<std::string>& networks) {
  boost::asio::post(loop.context, [this, next = networks_of(networks)]() mutable {
    sessions.set_trusted_proxies(std::move(next));
  });
}

void NodeThread::keep_leases(Duration every) {
  const auto renew = [this] { return maintenance.renew(); };
  renewing_ = &loop.repeat("renewing leases", every, renew);
  const auto maintain_node = [this] { return maintain(); };
  loop.repeat("looking up lost reservations", 2s, maintain_node);
}

void NodeThread::keep_order(Duration every) {
  const auto sweep = [this] { return maintenance.sweep(loop.stopping()); };
  loop.repeat("sweeping", every, sweep);
  const auto reap = [this] { return maintenance.reap(loop.stopping()); };
  loop.repeat("reaping", every, reap);
  const auto tidy = [this] { return maintenance.tidy(loop.stopping()); };
  loop.repeat("store maintenance", every, tidy);
  const auto count_records = [this] { return count(); };
  loop.repeat("counting", every, count_records);
}

void NodeThread::stop_workers() {
  async.stop();
  reconciler.stop();
}

Task<void> NodeThread::finish_requests() {
  sessions.drain();
  co_await sessions.ended();
  co_await gateway.boundary().all_recorded();
}

Task<void> NodeThread::maintain() {
  pool.prune();
  others.prune();
  sources.prune();
  gateway.prune();
  if (outbound) outbound->prune();
  co_await maintenance.look_after();
}

Task<void> NodeThread::count_outbox() {
  const std::shared_ptr<OutboundWork> work = outbound;  // a reload may put another in its place
  if (work) co_await work->count();
}

Task<void> NodeThread::count() {
  maintenance.count_unreadable();
  co_await maintenance.count_unknown();
}

}  // namespace pawl::gateway
