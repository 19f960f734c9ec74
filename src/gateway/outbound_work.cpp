#include "src/gateway/outbound_work.hpp"

#include <algorithm>
#include <chrono>

#include "src/gateway/http_ledger.hpp"

namespace pawl::gateway {
namespace {

workers::LedgerJobPorts ledger_ports(const SharedConfig& config, const OutboundWork::Ports& ports) {
  const auto open_workspace = [] { return open_ledger_workspace({}); };
  const auto open_pages = [config, &deadlines = ports.loop.deadlines](const std::string& source) {
    return std::make_unique<HttpLedger>(*source_named(config->config, source), deadlines);
  };
  return {*ports.store.ledger, ports.loop.sleepers, ports.metrics,
          ports.log,           open_workspace,      open_pages};
}

}  // namespace

OutboundWork::OutboundWork(SharedConfig config, Ports ports, bool polls_always)
    : config_(std::move(config)),
      ledger_(ledgers_of(config_->config), ledger_ports(config_, ports)),
      loop_(ports.loop) {
  if (polls_always || !config_->config.destinations.empty()) open_outbox(ports);
}

void OutboundWork::open_outbox(const Ports& ports) {
  const std::vector<config::Destination>& all = config_->config.destinations;
  std::vector<workers::AskedDestination> asked;
  for (const config::Destination& each : all) {
    ports.metrics.will_deliver(each.name);
    workers::SharedSource source = ports.sources.named(each.reconcile);
    if (source) asked.push_back({each.name, each.rules, std::move(source)});
  }
  const workers::OutboxPorts sending{*ports.store.outbox, loop_.clock,   loop_.entropy,
                                     loop_.sleepers,      ports.metrics, ports.log};
  const boost::asio::any_io_executor executor = loop_.context.get_executor();
  destinations_ = std::make_unique<HttpDestinations>(all, loop_.deadlines);
  outbox_ = std::make_unique<workers::OutboxWorker>(sending, destinations_->settings(), executor);
  workers::OutboxReconcilerPorts asking{
      *ports.store.outbox, *ports.store.cases,
      ports.sources,       loop_.clock,
      loop_.entropy,       loop_.sleepers,
      ports.metrics,       ports.metrics,
      ports.log,           [&outbox = *outbox_] { outbox.wake(); }};
  inquiries_ =
      std::make_unique<workers::OutboxReconciler>(std::move(asking), std::move(asked), executor);
}

void OutboundWork::start() {
  if (outbox_) {
    running_.push_back(loop_.spawn(outbox_->run()));
    running_.push_back(loop_.spawn(inquiries_->run()));
  }
  running_.push_back(loop_.spawn(ledger_.run()));
}

bool OutboundWork::ended() const {
  return std::ranges::all_of(running_, [](const std::future<void>& each) {
    return each.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
}

// Rows can wait for the next worker, and what was read of a ledger is read again another time.
void OutboundWork::stop_sending() {
  if (outbox_) outbox_->stop();
  ledger_.stop();
}

void OutboundWork::stop() {
  stop_sending();
  if (inquiries_) inquiries_->stop();
}

void OutboundWork::wake() {
  if (outbox_) outbox_->wake();
}

Task<void> OutboundWork::count() {
  if (outbox_) co_await outbox_->count();
}

void OutboundWork::prune() {
  if (destinations_) destinations_->prune();
}

}  // namespace pawl::gateway
