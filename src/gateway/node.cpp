#include "src/gateway/node.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>

#include "src/config/serving.hpp"
#include "src/engine/orphans.hpp"
#include "src/gateway/http_ledger.hpp"
#include "src/node/run_here.hpp"

namespace pawl::gateway {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;

constexpr auto never = std::chrono::steady_clock::time_point::max();
constexpr const char* settled_channel = "pawl_settled";
constexpr const char* outbox_channel = "pawl_outbox";

// A node that has not said so for longer is taken for one that ended.
constexpr Duration serves_every = 3s;
constexpr Duration serves_for = 10s;

// Is there a limit of which every node grants its share?
bool has_rates(const config::Config& config) {
  const auto rates = [](const config::RoutePolicy& policy) {
    return policy.new_keys_per_second || policy.lookups_per_second;
  };
  return rates(config.policy) || rates(config.key_api.policy) ||
         std::ranges::any_of(config.routes, rates, &config::Route::policy);
}

bool somebody_waits(const config::Config& config) {
  return config.policy.in_flight == WhenInFlight::wait ||
         std::ranges::any_of(config.routes, [](const config::Route& route) {
           return route.policy.in_flight == WhenInFlight::wait;
         });
}

bool is_observed(const config::RoutePolicy& policy) {
  return policy.mode == Mode::observe && policy.key != KeyRequirement::off;
}

// The names of all routes that are only watched.
std::vector<std::string> observed_routes(const config::Config& config) {
  std::vector<std::string> names;
  if (is_observed(config.policy)) names.emplace_back("default");
  for (const config::Route& route : config.routes) {
    if (is_observed(route.policy)) names.push_back(route.name);
  }
  return names;
}

std::vector<std::string> route_names(const config::Config& config) {
  std::vector<std::string> names{"default", "pawl", "key-api"};
  for (const config::Route& route : config.routes) names.push_back(route.name);
  return names;
}

std::size_t thread_count(const config::Config& config) {
  if (config.threads > 0) return config.threads;
  return std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
}

// Renewals come at a third of a lease; looking six times a lease is soon enough for that.
Duration renew_interval(const config::Config& config) {
  Duration shortest = config.policy.lease;
  for (const config::Route& route : config.routes)
    shortest = std::min(shortest, route.policy.lease);
  return std::clamp<Duration>(shortest / 6, 50ms, 1s);
}

std::string url_of(const config::Address& address, const config::ListenerTls& tls,
                   std::uint16_t port) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return (tls.certificate_file.empty() ? "http://" : "https://") +
         (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(port);
}

}  // namespace

// SIGTERM and SIGINT end the node. SIGHUP is what many programs take for "read your configuration
// again", and what a terminal sends that goes away: neither may end a payment in the middle.
class Node::Signals {
 public:
  explicit Signals(std::function<void()> on_hup) : on_hup_(std::move(on_hup)) {
    wait_for_end();
    wait_for_hup();
  }
  net::io_context& context() { return context_; }
  [[nodiscard]] int asked() const { return asked_; }
  void wait(std::chrono::milliseconds time) { context_.run_for(time); }

 private:
  void wait_for_end() {
    ends_.async_wait([this](const boost::system::error_code&, int) {
      ++asked_;
      wait_for_end();
    });
  }
  void wait_for_hup() {
    hups_.async_wait([this](const boost::system::error_code&, int) {
      on_hup_();
      wait_for_hup();
    });
  }

  const std::function<void()> on_hup_;
  net::io_context context_;
  net::signal_set ends_{context_, SIGTERM, SIGINT};
  net::signal_set hups_{context_, SIGHUP};
  int asked_ = 0;
};

Node::Node(const config::Config& config, OpenStore store, Role role)
    : config_(config),
      role_(role),
      store_(std::move(store)),
      log_(config.log),
      metrics_(route_names(config)),
      shared_(config, metrics_, log_, "pawl-" + os::SystemEntropy().new_owner().text.substr(0, 12)),
      recorder_(config.fingerprint_secrets, *store_.observations, metrics_, log_, clock_,
                !observed_routes(config).empty()),
      count_(config.limits.connections, config.limits.connections_per_address),
      admin_count_(256, 256) {
  shared_.orphans = std::make_shared<Orphans>();
  for (std::size_t i = 0; i < thread_count(config); ++i) {
    NodeThread::Ports ports{*store_.store, *store_.cases, metrics_, nullptr, {}};
    if (i == 0) ports.upkeep = store_.upkeep.get();
    ports.on_restoration = [this](const std::optional<StoredRestoration>& now) { obey(now); };
    threads_.push_back(std::make_unique<NodeThread>(config, shared_, std::move(ports)));
  }
  shared_.recorder = &recorder_;
  shared_.cases = store_.cases.get();
  shared_.on_event = [&reconciler = threads_.front()->reconciler] { reconciler.wake(); };
  for (const std::string& route : observed_routes(config)) {
    metrics_.will_observe(route, observe::all_words());
  }
  shared_.accepted = [&async = threads_.front()->async] { async.wake(); };
  NodeThread& first = *threads_.front();
  open_outbox();
  const auto open_workspace = [] { return open_ledger_workspace({}); };
  const auto open_pages = [&config, &first](const std::string& source) {
    return std::make_unique<HttpLedger>(*source_named(config, source), first.loop.deadlines);
  };
  first.ledger = std::make_unique<workers::LedgerJob>(
      ledgers_of(config), workers::LedgerJobPorts{*store_.ledger, first.loop.sleepers, metrics_,
                                                  log_, open_workspace, open_pages});
  listen();
  AdminSources sources;
  sources.not_ready = [this] { return not_ready(); };
  sources.metrics = [this] { return metrics_text(); };
  sources.token = [this] { return shared_.in_force.now()->config.admin.token; };
  sources.reload = [this] { return reload_from_afar(); };
  sources.reload_trouble = [this] {
    const std::lock_guard lock(reload_mutex_);
    return reload_trouble_;
  };
  admin_.emplace(std::move(sources));
  admin_sessions_.emplace(first.loop.context, first.loop.deadlines, *admin_, http::SessionLimits{});
}

Node::~Node() {
  for (const auto& thread : threads_) thread->loop.join();
  notifications_.reset();  // before the event loops on which it wakes waiting requests
  // Its threads may still be letting go of the event loops they have just woken: they end first.
  store_ = OpenStore{};
}

// One connection for all that other nodes may say, where there is anything to hear or to say.
void Node::listen() {
  if (!store_.listen) return;
  const bool waits = role_ == Role::serve && somebody_waits(config_);
  workers::OutboxWorker* const outbox =
      config_.destinations.empty() ? nullptr : threads_.front()->outbox.get();
  std::vector<std::string> channels;
  if (waits) channels.emplace_back(settled_channel);
  if (outbox != nullptr) channels.emplace_back(outbox_channel);
  if (channels.empty()) return;
  const auto heard = [this, outbox](std::string_view channel, std::string_view word) {
    if (channel == settled_channel && shared_.notices.heard(word)) metrics_.hinted();
    if (channel == outbox_channel) outbox->wake();
  };
  notifications_ = store_.listen(std::move(channels), heard);
  if (!notifications_ || !waits) return;
  shared_.notices.say = [this](std::string name) {
    notifications_->say(settled_channel, std::move(name));
  };
}

// A worker polls the outbox even where it has nowhere to send to: what waits must be seen.
void Node::open_outbox() {
  if (role_ == Role::serve && config_.destinations.empty()) return;
  NodeThread& first = *threads_.front();
  for (const config::Destination& destination : config_.destinations) {
    metrics_.will_deliver(destination.name);
  }
  const workers::OutboxPorts ports{*store_.outbox,      first.loop.clock, first.loop.entropy,
                                   first.loop.sleepers, metrics_,         log_};
  first.destinations =
      std::make_unique<HttpDestinations>(config_.destinations, first.loop.deadlines);
  first.outbox = std::make_unique<workers::OutboxWorker>(ports, first.destinations->settings(),
                                                         first.executor());
  std::vector<workers::AskedDestination> asked;
  for (const config::Destination& each : config_.destinations) {
    const workers::SourceSettings* const source = first.sources.named(each.reconcile);
    if (source != nullptr) asked.push_back({each.name, each.rules, source});
  }
  workers::OutboxReconcilerPorts asking{*store_.outbox,
                                        *store_.cases,
                                        first.sources,
                                        first.loop.clock,
                                        first.loop.entropy,
                                        first.loop.sleepers,
                                        metrics_,
                                        metrics_,
                                        log_,
                                        [&outbox = *first.outbox] { outbox.wake(); }};
  first.inquiries = std::make_unique<workers::OutboxReconciler>(std::move(asking), std::move(asked),
                                                                first.executor());
}

Expected<Done, std::string> Node::open() {
  NodeThread& first = *threads_.front();
  const auto told = run_here(restoration_to_obey(*store_.upkeep));
  if (!told) return Unexpected{"store: " + told.error()};
  if (*told) obey(*told);
  // What is answered from memory must be of an epoch that is known.
  static_cast<void>(run_here(first.store.time()));
  const Expected<Certificates, std::string> certificates = read_certificates(config_);
  if (!certificates) return Unexpected{certificates.error()};
  show_certificates(*certificates);
  std::vector<http::SessionGroup*> groups;
  for (const auto& thread : threads_) groups.push_back(&thread->sessions);
  if (role_ == Role::serve) {
    listener_.emplace(first.loop.context, groups, count_);
    const auto port = listener_->open(config_.listen.host, config_.listen.port);
    if (!port) return Unexpected{port.error()};
    port_ = *port;
  }
  admin_listener_.emplace(first.loop.context, std::vector{&*admin_sessions_}, admin_count_);
  const auto admin_port =
      admin_listener_->open(config_.admin.listen.host, config_.admin.listen.port);
  if (!admin_port) return Unexpected{admin_port.error()};
  admin_port_ = *admin_port;
  // Before the node can be reached: from now on a signal means to drain.
  signals_ = std::make_unique<Signals>([this] { static_cast<void>(reload()); });
  if (role_ == Role::serve && has_rates(config_)) static_cast<void>(run_here(share_limits()));
  return Done{};
}

// While the store does not answer, the last count holds.
Task<bool> Node::share_limits() {
  const StoreResult<std::size_t> nodes =
      co_await store_.nodes->serves(shared_.pseudonym, serves_for);
  if (nodes) shared_.limits.share_among(*nodes);
  co_return nodes.has_value();
}

Task<void> Node::keep_shares() {
  if (has_rates(shared_.in_force.now()->config)) co_await share_limits();
}

// An engine belongs to its thread; before those run, what is posted waits for them and goes first.
void Node::obey(const std::optional<StoredRestoration>& told) {
  if (told == obeyed_) return;
  obeyed_ = told;
  const std::optional<Restoration> restoration = workers::restoration_of(told);
  for (const auto& thread : threads_) {
    net::post(thread->loop.context,
              [&engine = thread->engine, restoration] { engine.set_restored(restoration); });
  }
  if (told) {
    log_.say("warning",
             "the store was restored from a backup: keys that are not in it are refused until "
             "their retention is over (pawl store show)");
  }
}

std::string Node::public_url() const { return url_of(config_.listen, config_.tls, port_); }
std::string Node::admin_url() const {
  return url_of(config_.admin.listen, config_.admin.tls, admin_port_);
}

void Node::start() {
  NodeThread& first = *threads_.front();
  EventLoop& loop = first.loop;
  const Duration renewal = renew_interval(config_);
  for (const auto& thread : threads_) thread->keep_leases(renewal);
  first.keep_order(config_.sweep_interval);
  working_.push_back(loop.spawn(first.async.run()));
  if (first.outbox) {
    working_.push_back(loop.spawn(first.outbox->run()));
    working_.push_back(loop.spawn(first.inquiries->run()));
    const auto count = [&outbox = *first.outbox] { return outbox.count(); };
    loop.repeat("counting the outbox", std::min<Duration>(config_.sweep_interval, 10s), count);
  }
  if (role_ == Role::serve) {  // a reload may bring the first limit
    loop.repeat("counting nodes", serves_every, [this] { return keep_shares(); });
  }
  working_.push_back(loop.spawn(first.reconciler.run()));
  if (listener_) accepting_ = loop.spawn(listener_->run());
  working_.push_back(loop.spawn(first.ledger->run()));
  // It writes down what the last requests were, so it ends after them.
  if (role_ == Role::serve) observing_ = loop.spawn_service(recorder_.run(loop.sleepers));
  loop.spawn_service(admin_listener_->run());
  for (const auto& thread : threads_) thread->loop.start();
}

bool Node::serve() {
  Signals& signals = *signals_;
  start();
  wait_until_asked(signals, 1, never);
  draining_ = true;
  const Duration delay = shared_.in_force.now()->config.drain_delay;
  if (delay > Duration{0}) {
    log_.say("info", "not ready any more; draining begins after drain_delay");
    wait_until_asked(signals, 2, std::chrono::steady_clock::now() + delay);
  }
  return drain();
}

void Node::wait_until_asked(Signals& signals, int times,
                            std::chrono::steady_clock::time_point end) {
  while (signals.asked() < times && std::chrono::steady_clock::now() < end) {
    signals.wait(100ms);
    watch_store();
  }
}

// What /readyz says of it to operators alone, the log says to its readers.
void Node::watch_store() {
  const std::string trouble = store_.trouble().value_or("");
  if (trouble == store_trouble_) return;
  store_trouble_ = trouble;
  trouble.empty() ? log_.say("info", "the store has recovered")
                  : log_.say("warning", "the store cannot be used: " + trouble);
}

// Stops accepting, lets what is under way finish, and ends when it has, or at drain_timeout.
bool Node::drain() {
  const auto deadline =
      std::chrono::steady_clock::now() + shared_.in_force.now()->config.drain_timeout;
  log_.say("info", "draining: " + std::to_string(count_.all()) + " connections");
  NodeThread& first = *threads_.front();
  if (first.outbox) first.outbox->stop();  // its rows can wait for the next worker
  first.ledger->stop();                    // what it has read is read again another time
  if (listener_) {
    net::post(first.loop.context, [this] { listener_->close(); });
    accepting_.wait();
  }
  std::vector<std::future<void>> requests;
  for (const auto& thread : threads_) {
    requests.push_back(thread->loop.spawn_service(thread->finish_requests()));
  }
  const bool finished = wait_for_all(requests, deadline);
  if (finished && observing_.valid()) {
    recorder_.stop();
    observing_.wait_until(std::max(deadline, std::chrono::steady_clock::now() + 1s));
  }
  std::vector<EventLoop*> loops;
  for (const auto& thread : threads_) {
    thread->stop_workers();
    loops.push_back(&thread->loop);
  }
  const bool quiet = end_work(loops, working_, deadline);
  close_admin();
  if (finished && quiet) {
    log_.say("info", "drained");
  } else {
    log_.say("warning", std::to_string(under_way()) +
                            " requests were still under way at drain_timeout; their leases will "
                            "lapse and their records follow their policy");
    log_.flush();  // the process may end without destructors
  }
  return finished && quiet;
}

// An operator's request is answered, one that does not end is not waited for.
void Node::close_admin() {
  EventLoop& loop = threads_.front()->loop;
  net::post(loop.context, [this] {
    admin_listener_->close();
    admin_sessions_->drain();
  });
  std::future<void> closed = loop.spawn_service(admin_sessions_->ended());
  if (closed.wait_for(1s) == std::future_status::ready) return;
  net::post(loop.context, [this] { admin_sessions_->close_all(); });
  closed.wait_for(1s);
}

void Node::put_in_force(config::Config next) {
  metrics_.will_serve(route_names(next));
  for (const std::string& route : observed_routes(next)) {
    metrics_.will_observe(route, observe::all_words());
  }
  recorder_.set_watching(!observed_routes(next).empty());
  log_.set_format(next.log);
  count_.limit(next.limits.connections, next.limits.connections_per_address);
  for (const auto& thread : threads_) {
    // Before the first lease by the new rules: it may be shorter than all before.
    thread->renew_at_least_every(renew_interval(next));
    thread->set_limits(next.limits);
  }
  shared_.in_force.replace(std::make_shared<const ServedConfig>(std::move(next), log_));
}

// An operator's order comes on another thread than the one that reloads: one reload at a time.
Task<Expected<Done, std::string>> Node::reload_from_afar() {
  if (draining_) co_return Unexpected{std::string("the node is draining")};
  using Result = std::optional<Expected<Done, std::string>>;
  const auto there = [this]() -> Task<Result> { co_return reload(); };
  Result result = co_await net::co_spawn(signals_->context(), there, net::use_awaitable);
  co_return std::move(*result);
}

std::size_t Node::under_way() const {
  std::size_t all = count_.all();
  for (const auto& thread : threads_) all += thread->gateway.boundary().late();
  return all;
}

std::vector<NotReady> Node::not_ready() const {
  std::vector<NotReady> reasons;
  if (draining_) reasons.push_back({"draining"});
  if (!config::needs_store(shared_.in_force.now()->config)) return reasons;
  if (const std::optional<std::string> trouble = store_.trouble()) {
    reasons.push_back({"store: it cannot be used", *trouble});
  }
  const StoreTime& time = threads_.front()->engine.time();  // the admin's own thread
  if (!time.known()) reasons.push_back({"store: its time is not known yet"});
  if (!time.trusted()) reasons.push_back({"clock: " + workers::clock_trouble(time)});
  return reasons;
}

std::string Node::metrics_text() {
  prom::Gauges now;
  now.connections = static_cast<double>(count_.all());
  now.cache_bytes = static_cast<double>(shared_.cache.bytes());
  now.memory_budget = static_cast<double>(shared_.memory.bytes());
  now.memory_used = static_cast<double>(shared_.memory.used());
  now.waiting = static_cast<double>(shared_.flights.waiting());
  now.log_dropped = static_cast<double>(log_.dropped());
  now.breaker_open = shared_.breaker.open();
  now.clock_trusted = threads_.front()->engine.time().trusted();  // the admin's own thread
  {
    const std::lock_guard lock(reload_mutex_);
    now.reload_succeeded = reload_trouble_.empty();
    now.reloaded_at = std::chrono::duration<double>(reloaded_at_.time_since_epoch()).count();
  }
  return metrics_.text(now);
}

}  // namespace pawl::gateway
