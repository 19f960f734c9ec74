// Virtual time: a heap of events, one after the other, on one thread.
//
// Coroutines run on an io_context that is only a run queue; nothing ever waits in it. Whatever they
// wait for is an event of this heap, so that the order of everything follows from the seed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "src/ports/task.hpp"
#include "tests/sim/chance.hpp"

namespace pawl::sim {

class Scheduler {
 public:
  Scheduler();

  // True time since the world began. No clock in the simulation shows it.
  [[nodiscard]] Duration now() const { return now_; }

  void at(Duration when, std::function<void()> what);
  // Starts a coroutine within this step. What it throws ends the run.
  void spawn(Task<void> task);
  // For groups of tasks: they run within the step that wakes them.
  boost::asio::any_io_executor executor() { return context_.get_executor(); }
  // The next event, and all that follows from it at once. False: nothing is left.
  bool step();
  // Destroys what dead processes left behind: Asio unwinds coroutines through their executor.
  void settle() { context_.poll(); }

 private:
  struct Event {
    Duration when;
    std::uint64_t sequence;
    std::function<void()> what;
  };

  Duration now_{0};
  std::uint64_t sequence_ = 0;
  std::vector<Event> heap_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
};

// One run of a program: what it waits for dies with it. While it is stopped (SIGSTOP, a suspended
// machine, a long page fault) whatever arrives for it waits, and then comes all at once.
class Process : public std::enable_shared_from_this<Process> {
 public:
  enum class Fate { lives, pauses, dies };
  // Asked at every wake-up: the place is named for the history, and for how likely trouble is
  // there.
  using Oracle = std::function<Fate(const char* place)>;

  Process(Scheduler& scheduler, Oracle oracle);
  ~Process();

  using Ticket = std::uint64_t;
  Ticket ticket() { return ++tickets_; }
  // Wakes the ticket's holder at `when`, unless it was woken before.
  void wake(Ticket ticket, Duration when, const char* place);
  // Suspends until woken. Schedule the wake-up first; it cannot come before the next event.
  Task<void> park(Ticket ticket);

  void resume();
  // Something befalls it now or never, whatever it waits for.
  void tempt(const char* place) {
    if (alive_ && !paused()) oracle_(place);
  }
  void pause_until(Duration when) { paused_until_ = std::max(paused_until_, when); }
  [[nodiscard]] bool paused() const { return paused_until_ > scheduler_.now(); }
  // Nothing is delivered any more. Destroy the waiting coroutines with `clear` outside all of them.
  void die() { alive_ = false; }
  [[nodiscard]] bool alive() const { return alive_; }
  void clear();

 private:
  struct Parked {
    virtual ~Parked() = default;
    virtual void resume() = 0;
  };
  template <class Handler>
  struct ParkedHandler;

  void arrive(Ticket ticket, const char* place);

  Scheduler& scheduler_;
  Oracle oracle_;
  bool alive_ = true;
  Duration paused_until_{0};
  std::vector<std::pair<Ticket, const char*>> deferred_;
  Ticket tickets_ = 0;
  std::map<Ticket, std::unique_ptr<Parked>> parked_;
};

}  // namespace pawl::sim
