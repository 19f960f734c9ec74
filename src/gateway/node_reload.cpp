// Reading the configuration again while requests are served.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <future>

#include "src/config/fixed_settings.hpp"
#include "src/config/serving.hpp"
#include "src/gateway/config_facts.hpp"
#include "src/gateway/node.hpp"
#include "src/node/run_here.hpp"
#include "src/operator/age_agreement.hpp"
#include "src/operator/scope_agreement.hpp"

namespace pawl::gateway {
namespace {

namespace net = boost::asio;

template <class Each, class ToText>
std::string joined(const std::vector<Each>& parts, ToText to_text, std::string_view between) {
  std::string all;
  for (const Each& part : parts) {
    if (!all.empty()) all += between;
    all += to_text(part);
  }
  return all;
}

Expected<std::shared_ptr<http::ServerTls>, std::string> tls_of(const config::ListenerTls& files,
                                                               const config::Caller* caller) {
  if (files.certificate_file.empty()) return std::shared_ptr<http::ServerTls>();
  http::ServerTlsFiles read{files.certificate_file, files.key_file, files.client_ca_file,
                            !files.client_ca_file.empty()};
  // Without one it is a caller that is not known, and is told so.
  if (caller != nullptr && caller->from == config::CallerFrom::mtls) {
    read.client_ca_file = caller->client_ca_file;
  }
  return http::ServerTls::read(read);
}

}  // namespace

Expected<Node::Certificates, std::string> Node::read_certificates(const config::Config& config) {
  const auto listener = tls_of(config.tls, &config.caller);
  if (!listener) return Unexpected{"[tls] " + listener.error()};
  const auto admin = tls_of(config.admin.tls, nullptr);
  if (!admin) return Unexpected{"[admin.tls] " + admin.error()};
  return Certificates{*listener, *admin};
}

void Node::show_certificates(const Certificates& certificates) {
  for (const auto& thread : threads_) {
    boost::asio::post(
        thread->loop.context,
        [&sessions = thread->sessions, tls = certificates.listener] { sessions.set_tls(tls); });
  }
  boost::asio::post(threads_.front()->loop.context,
                    [this, tls = certificates.admin] { admin_sessions_->set_tls(tls); });
}

Expected<config::EarlierAges, std::string> Node::agree_on_request_ages(
    const config::Config& config) {
  if (role_ != Role::serve || !config::needs_store(config)) return config::EarlierAges{};
  return run_here(agree_on_ages(config, *store_.store, *store_.upkeep));
}

Expected<Done, std::string> Node::reload() {
  Expected<Done, std::string> reloaded = try_to_reload();
  {
    const std::lock_guard lock(reload_mutex_);
    reload_trouble_ = reloaded ? std::string() : reloaded.error();
    if (reloaded) reloaded_at_ = std::chrono::system_clock::now();
  }
  if (!reloaded) {
    log_.say("error", "the configuration was not reloaded, the one before stays in force: " +
                          reloaded.error());
  }
  return reloaded;
}

// Everything that can fail comes before the first thing that changes.
Expected<Done, std::string> Node::try_to_reload() {
  if (!read_again_) {
    return Unexpected{std::string("this program reads its configuration at the start alone")};
  }
  Expected<config::Read, config::Troubles> read = read_again_();
  if (!read) {
    const auto text = [](const config::Diagnostic& trouble) { return to_text(trouble); };
    return Unexpected{joined(read.error(), text, "; ")};
  }
  config::Config& next = read->config;
  const SharedConfig running = shared_.in_force.now();
  if (next.memory_budget == 0) next.memory_budget = running->config.memory_budget;
  const std::vector<std::string> fixed = config::changed_fixed_settings(running->config, next);
  if (!fixed.empty()) {
    const auto same = [](const std::string& name) { return name; };
    return Unexpected{joined(fixed, same, ", ") + (fixed.size() == 1 ? " has" : " have") +
                      " changed, which needs a restart; nothing of the file was taken over"};
  }
  const Expected<Certificates, std::string> certificates = read_certificates(next);
  if (!certificates) return Unexpected{certificates.error()};
  if (role_ == Role::serve && config::needs_store(next)) {  // the last: it is written down
    const Expected<Done, std::string> agreed =
        run_here(agree_on_reload(next, *store_.store, *store_.upkeep));
    if (!agreed) return agreed;
  }
  const Expected<config::EarlierAges, std::string> earlier = agree_on_request_ages(next);
  if (!earlier) return Unexpected{earlier.error()};
  for (const config::Diagnostic& warning : read->warnings) {
    log_.say("warning", to_text(warning));
  }
  const std::string routes = std::to_string(next.routes.size());
  for (const config::Route& route : next.routes) {
    log_.say("debug", "in force from now on", {{"route", route.name}});
  }
  shared_.earlier_ages.replace(*earlier);
  put_in_force(std::move(next));
  show_certificates(*certificates);
  log_.say("info", "the configuration was reloaded", {{"routes", routes}});
  return Done{};
}

void Node::put_in_force(config::Config next) {
  const bool outbound_changes = outbound_differs(shared_.in_force.now()->config, next);
  metrics_.will_serve(route_names(next));
  for (const std::string& route : observed_routes(next)) {
    metrics_.will_observe(route, observe::all_words());
  }
  recorder_.set_watching(!observed_routes(next).empty());
  log_.set_format(next.log);
  log_.set_level(next.log_level);
  count_.limit(next.limits.connections, next.limits.connections_per_address);
  for (const auto& thread : threads_) {
    // Before the first lease by the new rules: it may be shorter than all before.
    thread->renew_at_least_every(renew_interval(next));
    thread->set_limits(next.limits);
    thread->set_trusted_proxies(next.trusted_proxies);
  }
  const SharedConfig before = shared_.in_force.now();
  shared_.in_force.replace(
      std::make_shared<const ServedConfig>(std::move(next), log_, before.get()));
  if (outbound_changes) replace_outbound();
}

void Node::replace_outbound() {
  NodeThread& first = *threads_.front();
  // On its own thread, which runs: connections and sources belong to it.
  std::packaged_task<void()> replace([this, &first] {
    first.outbound = open_outbound();
    outbound_.back()->stop();
    outbound_.push_back(first.outbound);
    outbound_.back()->start();
    // The last one that knows it lets go of its connections here, too.
    outbound_.remove_if([&](const auto& work) { return work != first.outbound && work->ended(); });
  });
  std::future<void> replaced = replace.get_future();
  net::post(first.loop.context, [&replace] { replace(); });
  replaced.get();
}

// An operator's order comes on another thread than the one that reloads: one reload at a time.
Task<Expected<Done, std::string>> Node::reload_from_afar() {
  if (draining_) co_return Unexpected{std::string("the node is draining")};
  using Result = std::optional<Expected<Done, std::string>>;
  const auto there = [this]() -> Task<Result> { co_return reload(); };
  Result result = co_await net::co_spawn(signals_->context(), there, net::use_awaitable);
  co_return std::move(*result);
}

}  // namespace pawl::gateway
