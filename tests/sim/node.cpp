#include "tests/sim/node.hpp"

#include "tests/mutants/mutant.hpp"
#include "tests/sim/node_workers.hpp"

namespace pawl::sim {
namespace {

using namespace std::chrono_literals;

// From a hiccup to longer than any lease and timeout together.
constexpr std::array<Duration, 9> pauses{200ms, 2s, 5s, 11s, 25s, 45s, 90s, 150s, 400s};

// How often a lazy node looks once the faults are over. Its worker comes well within the shortest
// retention: accepted work that nobody looks at for that long is given up again and again.
constexpr Duration awake = 15s;
constexpr Duration awake_worker = 4s;

}  // namespace

Node::Node(Outside& outside, int number)
    : outside_(outside),
      number_(number),
      name_("node " + std::to_string(number)),
      stream_(outside.seed, "node", static_cast<std::uint64_t>(number)),
      reap_every_(stream_.one_in(2) ? 15s : 60s),
      work_every_(Stream(outside.seed, "workers").one_in(2) ? 3s : 150s),  // on all nodes alike
      reconcile_every_(Stream(outside.seed, "pollers").one_in(2) ? 7s : 100s),
      clock_offset_(stream_.between(0s, 100h)),
      drift_ppm_(stream_.one_in(2) ? 0 : static_cast<std::int64_t>(stream_.below(401)) - 200) {}

Node::~Node() = default;

void Node::note(const std::string& what) const {
  if (outside_.history.wanted()) outside_.history.add(outside_.scheduler.now(), name_, what);
}

// Asked before every wake-up of every coroutine of this node.
Process::Fate Node::fate(const char* place) {
  const bool idle = std::string_view(place) == "tick";
  if (idle && !stream_.one_in(10)) return Process::Fate::lives;
  // Just before the first byte, after it, with the answer in hand, with a finding: it hurts most
  // there.
  const std::string_view where = place;
  const bool delicate = where == "upstream.connect" || where == after_sending ||
                        where == "upstream.answer" || where == "provider.lookup";
  const Duration length = stream_.pick(pauses);
  const auto strikes = [&](Fault fault) {
    return outside_.chaos.strikes(fault, stream_) ||
           (delicate &&
            (outside_.chaos.strikes(fault, stream_) || outside_.chaos.strikes(fault, stream_)));
  };
  const bool stalls =
      (finding_in_hand_ && outside_.chaos.strikes(Fault::stalled_finding, stream_)) ||
      (where == "store.past_retention" && outside_.chaos.strikes(Fault::stalled_reaper, stream_));
  if (stalls || strikes(Fault::pause)) {
    note("stops for " + in_seconds(length) + " s, waiting at " + place);
    run_->process->pause_until(outside_.scheduler.now() + length);
    return Process::Fate::pauses;
  }
  if (strikes(Fault::crash)) {
    note(std::string("CRASHES, waiting at ") + place);
    crash();
    return Process::Fate::dies;
  }
  return Process::Fate::lives;
}

void Node::spawn_pass(Pass pass, Duration every) {
  outside_.scheduler.spawn(repeat(*run_, pass, every));
}

void Node::start() {
  // Nobody can tell a jumped clock from a right one without having seen it before: see
  // docs/proof.md.
  if (outside_.server.jumped()) {
    outside_.scheduler.at(outside_.scheduler.now() + 5s, [this] { start(); });
    return;
  }
  ++runs_;
  finding_in_hand_ = false;
  note("starts");
  run_ = std::make_unique<Run>(
      outside_, Stream(outside_.seed, name_ + ".entropy", static_cast<std::uint64_t>(runs_)),
      [this](const char* place) { return fate(place); }, clock_offset_, drift_ppm_, name_, runs_);
  run_->workers = std::make_shared<Workers>(outside_, *run_, name_);
  run_->engine.set_restored(outside_.restoration);
  spawn_pass(&Node::renew, 1s);
  spawn_pass(&Node::look_after, 2s);
  spawn_pass(&Node::sweep, 2s);
  spawn_pass(&Node::reap, reap_every_);
  spawn_pass(&Node::reconcile, reconcile_every_);
  spawn_pass(&Node::operate, 2s);
  spawn_pass(&Node::work, work_every_);
  spawn_pass(&Node::deliver, 2s);
  spawn_pass(&Node::ask_destination, 6s);
}

void Node::crash() {
  if (!run_ || !run_->process->alive()) return;
  run_->process->die();
  const Duration restart = outside_.scheduler.now() + stream_.between(100ms, 20s);
  // Outside of its own coroutines.
  outside_.scheduler.at(outside_.scheduler.now(), [this] { run_.reset(); });
  outside_.scheduler.at(restart, [this] { start(); });
}

void Node::cut_off(Duration until) {
  if (!run_) return;
  note("is cut off from the store for " + in_seconds(until - outside_.scheduler.now()) + " s");
  run_->store.cut_until(until);
}

void Node::heal() {
  if (!run_) return;
  run_->store.heal();
  run_->process->resume();
}

bool Node::abandoned(const Identity& identity, const Owner& owner) const {
  return run_ && run_->process->alive() && owner.text.starts_with(run_->prefix) &&
         !run_->active.contains(identity) && !run_->works_on(identity);
}

bool Node::knows_time() const { return run_ && run_->store.knows_time(); }

void Node::serve(std::shared_ptr<Exchange> exchange) {
  if (!run_ || !run_->process->alive() || run_->process->paused())
    return;  // the client hears nothing
  outside_.scheduler.spawn(guard(*run_, std::move(exchange)));
}

void Node::hung_up(const std::shared_ptr<Exchange>& exchange) {
  exchange->hung_up = true;
  if (!run_ || !run_->process->alive() || !mutant(Mutant::free_on_hang_up)) return;
  outside_.scheduler.spawn(free_key(*run_, exchange->identity));
}

Task<void> Node::repeat(Run& run, Pass pass, Duration every) {
  for (;;) {
    const Process::Ticket tick = run.process->ticket();
    // Lazy nodes wake up when the faults are over: nothing may be left undone in the end.
    const Duration latest = pass == &Node::work ? awake_worker : awake;
    const Duration time = outside_.chaos.ended() ? std::min(every, latest) : every;
    const bool hears = pass == &Node::reconcile;
    const bool at_once = hears && std::exchange(run.news, false);
    const BootTime next = run.clock.now() + (at_once ? Duration{0} : time);
    if (hears) run.waits_for_news = tick;
    run.process->wake(tick, run.clock.true_time(next), "tick");
    co_await run.process->park(tick);
    co_await (this->*pass)(run);
  }
}

}  // namespace pawl::sim
