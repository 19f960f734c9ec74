#include "tests/sim/scheduler.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace pawl::sim {
namespace net = boost::asio;

Scheduler::Scheduler() : work_(net::make_work_guard(context_)) {}

void Scheduler::at(Duration when, std::function<void()> what) {
  heap_.push_back({std::max(when, now_), ++sequence_, std::move(what)});
  std::ranges::push_heap(heap_, [](const Event& a, const Event& b) {
    return std::tie(a.when, a.sequence) > std::tie(b.when, b.sequence);
  });
}

void Scheduler::spawn(Task<void> task) {
  net::co_spawn(context_, std::move(task), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
}

bool Scheduler::step() {
  if (heap_.empty()) return false;
  std::ranges::pop_heap(heap_, [](const Event& a, const Event& b) {
    return std::tie(a.when, a.sequence) > std::tie(b.when, b.sequence);
  });
  const Event event = std::move(heap_.back());
  heap_.pop_back();
  now_ = event.when;
  event.what();
  context_.poll();
  return true;
}

template <class Handler>
struct Process::ParkedHandler final : Process::Parked {
  explicit ParkedHandler(Handler moved) : handler(std::move(moved)) {}
  void resume() override { std::move(handler)(); }
  Handler handler;
};

Process::Process(Scheduler& scheduler, Oracle oracle)
    : scheduler_(scheduler), oracle_(std::move(oracle)) {}

Process::~Process() { clear(); }

void Process::clear() {
  parked_.clear();
  scheduler_.settle();
}

Task<void> Process::park(Ticket ticket) {
  auto initiation = [this, ticket](auto handler) {
    using Handler = decltype(handler);
    parked_.emplace(ticket, std::make_unique<ParkedHandler<Handler>>(std::move(handler)));
  };
  return net::async_initiate<const net::use_awaitable_t<>, void()>(std::move(initiation),
                                                                   net::use_awaitable);
}

void Process::wake(Ticket ticket, Duration when, const char* place) {
  scheduler_.at(when, [process = weak_from_this(), ticket, place] {
    if (const auto alive = process.lock()) alive->arrive(ticket, place);
  });
}

void Process::resume() {
  paused_until_ = Duration{0};
  for (const auto& [ticket, place] : deferred_) wake(ticket, scheduler_.now(), place);
  deferred_.clear();
}

void Process::arrive(Ticket ticket, const char* place) {
  if (!alive_ || !parked_.contains(ticket)) return;
  if (!paused()) {
    if (oracle_(place) == Fate::dies || !alive_) return;
  }
  if (paused()) {
    deferred_.emplace_back(ticket, place);
    if (deferred_.size() > 1) return;
    scheduler_.at(paused_until_, [process = weak_from_this()] {
      const auto alive = process.lock();
      if (alive && !alive->paused()) alive->resume();
    });
    return;
  }
  const auto found = parked_.find(ticket);
  const std::unique_ptr<Parked> waiting = std::move(found->second);
  parked_.erase(found);
  waiting->resume();
}

}  // namespace pawl::sim
