#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "pawl/reconcile.hpp"
#include "src/core/recovery_point.hpp"
#include "src/core/scope.hpp"
#include "src/libpawl/node_core.hpp"
#include "src/node/run_here.hpp"
#include "src/reconcile/derived_key.hpp"
#include "src/reconcile/event.hpp"
#include "src/workers/reconciler.hpp"

namespace pawl {
namespace {

ReconcilerOptions checked(ReconcilerOptions options) {
  const auto refuse = [](const char* what) { throw std::invalid_argument(what); };
  if (options.route.empty()) refuse("ReconcilerOptions::route must name a Middleware or a Flow");
  if (options.source.empty()) refuse("ReconcilerOptions::source must not be empty");
  if (options.absent_confirmations < 1) refuse("absent_confirmations must be at least 1");
  if (options.max_attempts < 1) refuse("max_attempts must be at least 1");
  const bool pauses = options.backoff > Duration{0} && options.backoff_max >= options.backoff;
  if (!pauses) refuse("backoff must be over zero and not over backoff_max");
  if (options.visibility_window < Duration{0}) refuse("visibility_window must not be negative");
  if (options.ask_limit <= Duration{0} || options.every <= Duration{0}) {
    refuse("ask_limit and every must be over zero");
  }
  return options;
}

UnknownOutcome doubt_of(const Record& record) {
  UnknownOutcome doubt;
  doubt.scope = record.scope;
  doubt.caller = caller_in(record.scope.text);
  doubt.key = record.key;
  doubt.derived_key = reconcile::derived_key(record.scope, record.key);
  doubt.method = record.method;
  doubt.path = record.path;
  if (const std::optional<RecoveryPoint> point = decode_recovery_point(record.recovery_point)) {
    doubt.phase = point->phase;
    if (point->sending) doubt.call_key = point->sending->key;
  }
  doubt.attempt = record.attempt;
  doubt.created_at = record.created_at;
  doubt.began_at = reconcile::attempt_of(record).began_at.value_or(record.created_at);
  return doubt;
}

// The user's function. It blocks as long as it must, on the reconciler's thread.
class AskedFunction final : public Source {
 public:
  explicit AskedFunction(Reconciler::Ask ask) : ask_(std::move(ask)) {
    if (!ask_) throw std::invalid_argument("Reconciler needs a function to ask");
  }

  Task<SourceReply> ask(SourceQuestion question, BootTime) override {
    co_return SourceReply{found_by(doubt_of(*question.record)), ""};
  }

 private:
  SourceFinding found_by(const UnknownOutcome& doubt) const {
    try {
      return finding_of(ask_(doubt));
    } catch (const std::exception& error) {
      return SourceFailed{std::string("asking threw: ") + error.what()};
    } catch (...) {
      return SourceFailed{"asking threw"};
    }
  }
  static SourceFinding finding_of(const LookupAnswer& told) {
    if (const auto* happened = std::get_if<Happened>(&told)) {
      const bool success = !happened->declined && reconcile::is_success(happened->response.status);
      return SourceFound{storable(happened->response, SettleOptions{}), success};
    }
    if (std::holds_alternative<NeverSeen>(told)) return SourceNeverSeen{};
    const std::string& why = std::get<StillUnknown>(told).why;
    return SourceStill{why.empty() ? "not known yet" : why};
  }

  const Reconciler::Ask ask_;
};

// It is the source of every record that is looked at.
class OneSource final : public workers::SourceDirectory {
 public:
  OneSource(const ReconcilerOptions& options, Source& source) {
    settings_.name = settings_.name_in_case = options.source;
    settings_.timeout = options.ask_limit;
    settings_.patience = {options.visibility_window, options.absent_confirmations,
                          options.max_attempts, options.backoff, options.backoff_max};
    settings_.source = &source;
  }
  [[nodiscard]] workers::SharedSource source_of(const Record&) const override {
    return workers::lasting(settings_);
  }
  [[nodiscard]] bool speaks_for(const std::string&, const Scope&) const override { return false; }
  [[nodiscard]] SettleOptions settle_options(const Record&) const override { return {}; }

 private:
  workers::SourceSettings settings_;
};

workers::ReconcilerOptions worker_options(const ReconcilerOptions& options) {
  workers::ReconcilerOptions made;
  made.what = "reconciliation of \"" + options.route + "\"";
  made.library_route = options.route;
  made.every = options.every;
  return made;
}

}  // namespace

struct Reconciler::Core {
  Core(Node of, ReconcilerOptions with, Ask asks)
      : node(std::move(of)),
        options(checked(std::move(with))),
        source(std::move(asks)),
        directory(options, source),
        engine(node.core()->store(), node.core()->clock(), entropy, node.core()->metrics()),
        worker({engine, node.core()->store(), node.core()->cases(), directory, node.core()->state(),
                node.core()->clock(), entropy, sleepers, metrics, node.core()->log()},
               context.get_executor(), worker_options(options)) {
    node.core()->add_reconciler(options.route);
  }
  ~Core() { node.core()->remove_reconciler(options.route); }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  void run();
  ReconcileReport pass();

  Node node;
  const ReconcilerOptions options;
  AskedFunction source;
  const OneSource directory;
  os::SystemEntropy entropy;
  NoGatewayMetrics metrics;
  std::mutex passing;  // one pass at a time, on whichever thread wants one
  boost::asio::io_context context{1};
  os::AsioSleepers sleepers{context.get_executor()};
  Engine engine;  // of the thread that passes
  workers::Reconciler worker;
  std::mutex mutex;
  std::condition_variable woken;
  bool stopping = false;  // under mutex
  std::thread thread;
};

void Reconciler::Core::run() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    lock.unlock();
    try {
      pass();
    } catch (const std::exception& failure) {  // the host's process goes on, and so do we
      node.core()->say(LogLevel::error,
                       "reconciliation of \"" + options.route +
                           "\" was given up, until the next time: " + failure.what());
    }
    lock.lock();
    woken.wait_for(lock, options.every, [&] { return stopping; });
  }
}

ReconcileReport Reconciler::Core::pass() {
  const std::lock_guard one(passing);
  std::optional<workers::ReconcileCounts> counts;
  context.restart();
  boost::asio::co_spawn(context, detail::keep_result(worker.poll_once(), counts),
                        [](std::exception_ptr failure) {
                          if (failure) std::rethrow_exception(failure);
                        });
  context.run();
  return {counts->asked, counts->completed, counts->released, counts->dead};
}

Reconciler::Reconciler(Node node, ReconcilerOptions options, Ask ask)
    : core_(std::make_unique<Core>(std::move(node), std::move(options), std::move(ask))) {
  core_->thread = std::thread([core = core_.get()] { core->run(); });
}

Reconciler::~Reconciler() {
  {
    const std::lock_guard lock(core_->mutex);
    core_->stopping = true;
  }
  core_->worker.stop();
  core_->woken.notify_one();
  core_->thread.join();
}

ReconcileReport Reconciler::reconcile() {
  core_->node.core()->demand_other_thread();
  return core_->pass();
}

}  // namespace pawl
