// The program: it starts, stops, dies, and calls.
#include "tests/sim/consumer_run.hpp"

namespace pawl::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::array<Duration, 7> pauses{500ms, 2s, 5s, 11s, 25s, 60s, 150s};

}  // namespace

Consumer::Consumer(Outside& outside, std::vector<std::unique_ptr<Node>>& nodes,
                   const FingerprintSecrets& secrets, ConsumerCounts& counts, int number)
    : outside_(outside),
      nodes_(nodes),
      secrets_(secrets),
      counts_(counts),
      name_("job " + std::to_string(number)),
      stream_(outside.seed, "consumer", static_cast<std::uint64_t>(number)),
      clock_offset_(stream_.between(0s, 100h)),
      drift_ppm_(static_cast<std::int64_t>(stream_.below(401)) - 200) {}

Consumer::~Consumer() = default;

void Consumer::note(const std::string& what) const {
  if (outside_.history.wanted()) outside_.history.add(outside_.scheduler.now(), name_, what);
}

Process::Fate Consumer::fate(const char* place) {
  const std::string_view where = place;
  const bool delicate = where == "upstream.connect" || where == after_sending ||
                        where == "upstream.answer" || where == "key.answer";
  const Duration length = stream_.pick(pauses);
  if (!delicate) return Process::Fate::lives;
  if (outside_.chaos.strikes(Fault::consumer_pause, stream_)) {
    note("stops for " + in_seconds(length) + " s, waiting at " + place);
    run_->process->pause_until(outside_.scheduler.now() + length);
    return Process::Fate::pauses;
  }
  if (outside_.chaos.strikes(Fault::consumer_crash, stream_)) {
    note(std::string("CRASHES, waiting at ") + place);
    crash();
    return Process::Fate::dies;
  }
  return Process::Fate::lives;
}

void Consumer::start() {
  run_ = std::make_unique<Run>(
      outside_, [this](const char* place) { return fate(place); }, clock_offset_, drift_ppm_);
}

void Consumer::crash() {
  run_->process->die();
  const Duration restart = outside_.scheduler.now() + stream_.between(100ms, 10s);
  // Outside of its own coroutines.
  outside_.scheduler.at(outside_.scheduler.now(), [this] { run_.reset(); });
  outside_.scheduler.at(restart, [this] { start(); });
}

void Consumer::heal() {
  if (run_) run_->process->resume();
}

void Consumer::take(std::shared_ptr<Delivery> delivery) {
  if (!run_ || !run_->process->alive() || run_->process->paused()) return;
  outside_.scheduler.spawn(handle(*run_, std::move(delivery)));
}

Task<void> Consumer::rest(Run& run, Duration time) {
  co_await run.clock.sleep_until(run.clock.now() + time);
}

KeyExchange Consumer::call_of(const Job& job, KeyVerb verb) const {
  KeyExchange exchange;
  exchange.verb = verb;
  exchange.identity = job.delivery->identity;
  exchange.policy = job.delivery->policy;
  exchange.secrets = &secrets_;
  exchange.call.owner = job.token;
  if (job.record) exchange.call.fence = job.record->fence;
  return exchange;
}

// One call to one node, until its answer comes or the consumer has had enough.
Task<std::optional<KeyHeard>> Consumer::ask(Run& run, Job& job, KeyExchange exchange) {
  Node& node = *nodes_[job.stream.below(nodes_.size())];
  const bool late = outside_.chaos.strikes(Fault::call_late, job.stream);
  const bool unheard = outside_.chaos.strikes(Fault::call_answer_lost, job.stream);
  const Duration hangs = job.stream.between(1s, 30s);
  const Duration travels = job.stream.between(0ms, job.stream.one_in(2) ? 0ms : 20ms);
  const Duration patience = job.stream.between(2s, 12s);
  const auto heard = std::make_shared<std::optional<KeyHeard>>();
  const Process::Ticket answered = run.process->ticket();
  const auto process = run.process->weak_from_this();
  exchange.reply = [heard, answered, unheard, process,
                    &scheduler = outside_.scheduler](KeyHeard said) {
    const auto alive = process.lock();
    if (unheard || !alive) return;
    *heard = std::move(said);
    alive->wake(answered, scheduler.now(), "key.answer");
  };
  const auto sent = std::make_shared<KeyExchange>(std::move(exchange));
  outside_.scheduler.at(outside_.scheduler.now() + (late ? hangs : travels),
                        [&node, sent] { node.serve(sent); });
  run.process->wake(answered, outside_.scheduler.now() + patience, "key.patience");
  co_await run.process->park(answered);
  ++counts_.calls;
  if (*heard) ++counts_.answered;
  co_return *heard;
}

Task<bool> Consumer::write(Run& run, Job& job, const KeyExchange& exchange) {
  for (int tries = 0; tries < 5; ++tries) {
    const BootTime asked = run.clock.now();
    const std::optional<KeyHeard> heard = co_await ask(run, job, exchange);
    if (!heard || heard->failed) {
      const Duration pause = job.stream.between(0ms, 2s);
      co_await rest(run, pause);
      continue;
    }
    ++(heard->done ? counts_.written : counts_.refused)[static_cast<std::size_t>(exchange.verb)];
    if (!heard->done) job.lost = true;
    if (heard->done) job.lease_ends = std::max(job.lease_ends, asked + heard->lease_left);
    co_return heard->done;
  }
  co_return false;
}

}  // namespace pawl::sim
