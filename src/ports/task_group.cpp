#include "src/ports/task_group.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "pawl/types/check.hpp"

namespace pawl {
namespace {

namespace net = boost::asio;

// A coroutine that waits. Where it is destroyed unwoken, the coroutine goes with it.
struct Waiting {
  virtual ~Waiting() = default;
  virtual void resume() = 0;
};

template <class Handler>
struct WaitingHandler final : Waiting {
  explicit WaitingHandler(Handler wakes) : handler(std::move(wakes)) {}
  void resume() override {
    Handler wakes = std::move(handler);
    net::post(std::move(wakes));
  }
  Handler handler;
};

}  // namespace

struct TaskGroup::State {
  std::size_t count = 0;
  std::unique_ptr<Waiting> waiting;
  Failed failed;
};

TaskGroup::TaskGroup(net::any_io_executor executor, Failed failed)
    : executor_(std::move(executor)), state_(std::make_shared<State>()) {
  state_->failed = std::move(failed);
}

// Whoever waits holds the state that it is held by.
TaskGroup::~TaskGroup() { state_->waiting.reset(); }

std::size_t TaskGroup::size() const { return state_->count; }

void TaskGroup::one_is_over(State& state) {
  --state.count;
  if (state.count == 0 && state.waiting) std::exchange(state.waiting, nullptr)->resume();
}

void TaskGroup::spawn(Task<void> task) {
  const auto ended = [state = state_](std::exception_ptr failure) {
    one_is_over(*state);
    if (!failure) return;
    if (!state->failed) std::rethrow_exception(failure);
    state->failed(failure);
  };
  ++state_->count;
  try {
    net::co_spawn(executor_, std::move(task), ended);
  } catch (...) {  // no memory for it: it never began
    one_is_over(*state_);
    throw;
  }
}

// The initiation is a named value, and of plain pointers: GCC 12 destroys what a temporary of a
// co_await expression has captured twice.
Task<void> TaskGroup::wait() {
  const std::shared_ptr<State> state = state_;
  State* const waited_for = state.get();
  const auto start = [waited_for]<class Handler>(Handler handler) {
    waited_for->waiting = std::make_unique<WaitingHandler<Handler>>(std::move(handler));
  };
  while (state->count > 0) {
    PAWL_CHECK(!state->waiting);
    co_await net::async_initiate<const net::use_awaitable_t<>&, void()>(start, net::use_awaitable);
  }
}

}  // namespace pawl
