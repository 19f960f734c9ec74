// How a node runs until it is told to end, and how it ends.
#include <algorithm>
#include <boost/asio/post.hpp>

#include "src/gateway/config_facts.hpp"
#include "src/gateway/node.hpp"

namespace pawl::gateway {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;

constexpr auto never = std::chrono::steady_clock::time_point::max();

// Well within the time for which a node counts as serving.
constexpr Duration serves_every = 3s;

}  // namespace

void Node::start() {
  NodeThread& first = *threads_.front();
  EventLoop& loop = first.loop;
  const Duration renewal = renew_interval(config_);
  for (const auto& thread : threads_) thread->keep_leases(renewal);
  first.keep_order(config_.sweep_interval);
  working_.push_back(loop.spawn(first.async.run()));
  outbound_.back()->start();
  const auto count = [&first] { return first.count_outbox(); };
  loop.repeat("counting the outbox", std::min<Duration>(config_.sweep_interval, 10s), count);
  if (role_ == Role::serve) {  // a reload may bring the first limit
    loop.repeat("counting nodes", serves_every, [this] { return keep_shares(); });
  }
  working_.push_back(loop.spawn(first.reconciler.run()));
  if (listener_) accepting_ = loop.spawn(listener_->run());
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
  // Both at one level: a reader who was told of the one is told of the other.
  trouble.empty() ? log_.say("warning", "the store has recovered")
                  : log_.say("warning", "the store cannot be used: " + trouble);
}

// Stops accepting, lets what is under way finish, and ends when it has, or at drain_timeout.
bool Node::drain() {
  const auto deadline =
      std::chrono::steady_clock::now() + shared_.in_force.now()->config.drain_timeout;
  log_.say("info", "draining: " + std::to_string(count_.all()) + " connections");
  NodeThread& first = *threads_.front();
  outbound_.back()->stop_sending();
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
  for (const std::shared_ptr<OutboundWork>& work : outbound_) {
    work->stop();
    for (std::future<void>& each : work->take_running()) working_.push_back(std::move(each));
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

std::size_t Node::under_way() const {
  std::size_t all = count_.all();
  for (const auto& thread : threads_) all += thread->gateway.boundary().late();
  return all;
}

}  // namespace pawl::gateway
