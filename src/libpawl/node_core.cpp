#include "src/libpawl/node_core.hpp"

#include <algorithm>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include "src/core/sha256.hpp"

namespace pawl::detail {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;

constexpr Duration look_after_every = 2s;
constexpr std::size_t evidence_bytes_max = std::size_t{64} << 20;
constexpr std::size_t evidence_bytes_fixed = 1024;  // the record, its lease, what lists cost

class NoMetrics final : public Metrics {
 public:
  void add(Counter, std::string_view, std::uint64_t) override {}
};

NodeOptions completed(NodeOptions options) {
  if (!options.metrics) options.metrics = std::make_shared<NoMetrics>();
  return options;
}

// The host's standard error may be a pipe that nobody reads: it stops no thread of ours.
std::unique_ptr<os::LogSink> standard_error(const NodeOptions& options) {
  if (options.log) return nullptr;
  os::LogSinkOptions sink;
  sink.dropped_line = [](std::uint64_t lines) {
    return "pawl: " + std::to_string(lines) + " log lines were dropped\n";
  };
  return std::make_unique<os::LogSink>(std::move(sink));
}

std::size_t bytes_of(const LateEvidence& evidence) {
  return evidence_bytes_fixed +
         (evidence.response ? evidence.response->body.value_or("").size() : 0);
}

}  // namespace

void rethrow(std::exception_ptr failure) {
  if (failure) std::rethrow_exception(failure);
}

NodeCore::NodeCore(OpenedStore opened, NodeOptions options)
    : options_(completed(std::move(options))),
      standard_error_(standard_error(options_)),
      keep_running_(net::make_work_guard(context_)),
      opened_(std::move(opened)),
      engine_(*opened_.ports.store, clock_, entropy_, *options_.metrics),
      boundary_(state_, {engine_, *opened_.ports.store, clock_, entropy_, sleepers_,
                         gateway_metrics_, boundary_log_}),
      maintenance_({engine_, boundary_, *opened_.ports.store, clock_, maintenance_metrics_,
                    boundary_log_, opened_.ports.upkeep.get()},
                   maintenance_options()),
      renew_every_(Duration(1s).count()),
      flows_(std::max<std::size_t>(options_.flow_threads, 1)) {
  engine_.set_restored(workers::restoration_of(opened_.restored));
  net::co_spawn(context_, deadlines_.run(), net::detached);
  net::co_spawn(context_, keep_leases(), net::detached);
  net::co_spawn(context_, look_after(), net::detached);
  net::co_spawn(context_, tidy(), net::detached);
  if (options_.passes) {
    net::co_spawn(context_, sweep(), net::detached);
    net::co_spawn(context_, reap(), net::detached);
  }
  thread_ = std::thread([this] { context_.run(); });
}

NodeCore::~NodeCore() {
  flows_.join();
  stopping_ = true;
  context_.stop();
  thread_.join();
  kept_.clear();
  // Its threads may still be letting go of the event loop they have just woken: they end first.
  opened_.ports = OpenStore{};
}

void NodeCore::demand_other_thread() {
  if (!context_.get_executor().running_in_this_thread()) return;
  throw std::logic_error(
      "a blocking call of libpawl on the node's own thread would wait for itself: a function that "
      "was handed to Middleware::begin, finish or an awaiting form must pass it to another thread");
}

void NodeCore::offload(std::function<void()> work) { net::post(flows_, std::move(work)); }

void NodeCore::expect_leases_of(Duration lease) {
  // Renewals come at a third of a lease; looking six times a lease is soon enough for that.
  const Duration::rep wanted = std::clamp<Duration>(lease / 6, 20ms, 1s).count();
  Duration::rep before = renew_every_;
  while (wanted < before && !renew_every_.compare_exchange_weak(before, wanted)) {
  }
}

void NodeCore::say(LogLevel level, std::string_view text) const {
  if (options_.log) {
    options_.log(level, text);
  } else if (level != LogLevel::info) {
    standard_error_->write(std::string("pawl: ").append(text).append("\n"),
                           os::LogSink::When::at_once);
  }
}

void NodeCore::reach(std::string_view phase, std::string_view point) const {
  if (!options_.at_point) return;
  options_.at_point(std::string(phase).append(":").append(point));
}

void NodeCore::add_reconciler(const std::string& route) {
  const std::lock_guard lock(mutex_);
  reconciled_.insert(route);
}

void NodeCore::remove_reconciler(const std::string& route) {
  const std::lock_guard lock(mutex_);
  reconciled_.erase(reconciled_.find(route));
}

bool NodeCore::has_reconciler(const std::string& route) {
  const std::lock_guard lock(mutex_);
  return reconciled_.contains(route);
}

void NodeCore::keep(std::shared_ptr<void> thing) {
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(thing));
}

void NodeCore::BoundaryLog::say(std::string_view level, std::string_view what) {
  node_.say(level == "error" ? LogLevel::error : LogLevel::warning, what);
}

workers::MaintenanceOptions NodeCore::maintenance_options() const {
  workers::MaintenanceOptions options;
  options.outbox_retention = options_.outbox_retention;
  options.evidence_retention = options_.evidence_retention;
  options.audit_retention = options_.audit_retention;
  options.reaps_trail = options_.passes;
  return options;
}

Task<void> NodeCore::keep_leases() {
  for (;;) {
    co_await maintenance_.renew();
    co_await clock_.sleep_until(clock_.now() + Duration(renew_every_));
  }
}

Task<void> NodeCore::look_after() {
  for (;;) {
    co_await maintenance_.look_after();
    co_await keep_remembered();
    co_await clock_.sleep_until(clock_.now() + look_after_every);
  }
}

Task<void> NodeCore::sweep() {
  for (;;) {
    co_await clock_.sleep_until(clock_.now() + options_.sweep_interval);
    co_await maintenance_.sweep(stopping_);
  }
}

// Beside the sweeper: where much is past its retention it takes its time.
Task<void> NodeCore::reap() {
  for (;;) {
    co_await clock_.sleep_until(clock_.now() + options_.sweep_interval);
    co_await maintenance_.reap(stopping_);
  }
}

Task<void> NodeCore::tidy() {
  for (;;) {
    co_await clock_.sleep_until(clock_.now() + options_.sweep_interval);
    co_await maintenance_.tidy(stopping_);
  }
}

void NodeCore::keep_evidence(LateEvidence evidence) { run(keep_or_remember(std::move(evidence))); }

Task<Done> NodeCore::keep_or_remember(LateEvidence evidence) {
  const StoreResult<Done> kept = co_await opened_.ports.store->keep_evidence(evidence);
  if (kept) co_return Done{};
  std::string text = "an answer for " + log_name(evidence.scope, evidence.key);
  const std::size_t bytes = bytes_of(evidence);
  if (evidence_bytes_ + bytes > evidence_bytes_max) {
    say(LogLevel::error, text.append(" is lost: the store is away, and too many wait for it"));
    co_return Done{};
  }
  say(LogLevel::error, text.append(" is kept in memory alone until the store is back"));
  evidence_bytes_ += bytes;
  evidence_.push_back(std::move(evidence));
  co_return Done{};
}

Task<void> NodeCore::keep_remembered() {
  while (!evidence_.empty()) {
    const LateEvidence evidence = evidence_.front();
    const StoreResult<Done> kept = co_await opened_.ports.store->keep_evidence(evidence);
    if (!kept) co_return;
    evidence_bytes_ -= bytes_of(evidence);
    evidence_.pop_front();  // only this coroutine takes from the front
  }
}

}  // namespace pawl::detail
