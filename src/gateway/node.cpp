#include "src/gateway/node.hpp"

#include <boost/asio/post.hpp>

#include "src/config/address.hpp"
#include "src/config/serving.hpp"
#include "src/engine/orphans.hpp"
#include "src/gateway/config_facts.hpp"
#include "src/node/run_here.hpp"

namespace pawl::gateway {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;

constexpr const char* settled_channel = "pawl_settled";
constexpr const char* outbox_channel = "pawl_outbox";

// A node that has not said so for longer is taken for one that ended.
constexpr Duration serves_for = 10s;

std::string url_of(const config::Address& address, const config::ListenerTls& tls,
                   std::uint16_t port) {
  if (!address.socket.empty()) return to_text(address);
  const bool v6 = address.host.find(':') != std::string::npos;
  return (tls.certificate_file.empty() ? "http://" : "https://") +
         (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(port);
}

// Its port; 0 of a Unix socket.
Expected<std::uint16_t, std::string> open_at(http::Listener& listener,
                                             const config::Address& address,
                                             std::optional<unsigned> mode) {
  if (address.socket.empty()) return listener.open(address.host, address.port);
  const Expected<Done, std::string> opened =
      listener.open_socket(address.socket, mode.value_or(config::default_listen_mode));
  if (!opened) return Unexpected{opened.error()};
  return std::uint16_t{0};
}

}  // namespace

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
  log_.set_level(config.log_level);
  shared_.orphans = std::make_shared<Orphans>();
  for (std::size_t i = 0; i < thread_count(config); ++i) {
    NodeThread::Ports ports{*store_.store, *store_.cases, metrics_, count_, nullptr, {}};
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
  first.outbound = open_outbound();
  outbound_.push_back(first.outbound);
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

// On the session that the store has anyway. Whatever the configuration: a reload may bring the
// first duplicate that waits, or the first destination.
void Node::listen() {
  if (!store_.listen) return;
  std::vector<std::string> channels{outbox_channel};
  if (role_ == Role::serve) channels.emplace_back(settled_channel);
  NodeThread& first = *threads_.front();
  const auto heard = [this, &first](std::string_view channel, std::string_view word) {
    if (channel == settled_channel && shared_.notices.heard(word)) metrics_.hinted();
    if (channel != outbox_channel) return;
    net::post(first.loop.context, [&first] { first.outbound->wake(); });
  };
  notifications_ = store_.listen(std::move(channels), heard);
  if (!notifications_) return;
  shared_.notices.say = [this](std::string name) {
    notifications_->say(settled_channel, std::move(name));
  };
}

// A worker polls the outbox even where it has nowhere to send to: what waits must be seen.
std::shared_ptr<OutboundWork> Node::open_outbound() {
  NodeThread& first = *threads_.front();
  const OutboundWork::Ports ports{store_, first.loop, first.sources, metrics_, log_};
  return std::make_shared<OutboundWork>(shared_.in_force.now(), ports, role_ == Role::work);
}

Expected<Done, std::string> Node::open() {
  NodeThread& first = *threads_.front();
  const auto told = run_here(restoration_to_obey(*store_.upkeep));
  if (!told) return Unexpected{"store: " + told.error()};
  if (*told) obey(*told);
  const Expected<config::EarlierAges, std::string> earlier = agree_on_request_ages(config_);
  if (!earlier) return Unexpected{earlier.error()};
  shared_.earlier_ages.replace(*earlier);
  // What is answered from memory must be of an epoch that is known.
  static_cast<void>(run_here(first.store.time()));
  const Expected<Certificates, std::string> certificates = read_certificates(config_);
  if (!certificates) return Unexpected{certificates.error()};
  show_certificates(*certificates);
  std::vector<http::SessionGroup*> groups;
  for (const auto& thread : threads_) groups.push_back(&thread->sessions);
  if (role_ == Role::serve) {
    listener_.emplace(first.loop.context, groups, count_);
    const auto port = open_at(*listener_, config_.listen, config_.listen_mode);
    if (!port) return Unexpected{port.error()};
    port_ = *port;
  }
  admin_listener_.emplace(first.loop.context, std::vector{&*admin_sessions_}, admin_count_);
  const auto admin_port =
      open_at(*admin_listener_, config_.admin.listen, config_.admin.listen_mode);
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
