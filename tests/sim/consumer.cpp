#include "tests/sim/consumer.hpp"

namespace pawl::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::array<Duration, 7> pauses{500ms, 2s, 5s, 11s, 25s, 60s, 150s};

}  // namespace

// What one run of the program holds in memory.
struct Consumer::Run {
  Run(Outside& outside, Process::Oracle oracle, Duration offset, std::int64_t drift_ppm)
      : process(std::make_shared<Process>(outside.scheduler, std::move(oracle))),
        clock(outside.scheduler, *process, offset, drift_ppm) {}
  ~Run() { process->clear(); }  // coroutines first: they hold references to all the rest

  std::shared_ptr<Process> process;
  NodeClock clock;
};

// One delivery, from the first call to the last.
struct Consumer::Job {
  std::shared_ptr<Delivery> delivery;
  Stream stream;
  Owner token;
  std::optional<Record> record;  // as granted
  BootTime lease_ends;           // by the consumer's clock, counted from when it asked
  std::string recovery_point;
  bool over = false;  // done with, or no longer its own
  bool lost = false;  // somebody said that the key is not its own any more
};

// Asked when everything is ready and not a byte is sent.
class Consumer::Gate final : public SendGate {
 public:
  Gate(Consumer& consumer, Run& run, Job& job) : consumer_(consumer), run_(run), job_(job) {}

  Task<bool> may_send() override {
    const Delivery& delivery = *job_.delivery;
    if (delivery.careless) {
      Outside& outside = consumer_.outside_;
      outside.judge.acts_unchecked(delivery.identity, job_.record->fence, outside.server.honest());
      co_return true;
    }
    for (int tries = 0; tries < 3 && !job_.lost; ++tries) {
      if (run_.clock.now() < job_.lease_ends) co_return true;
      const bool renewed = co_await consumer_.renew(run_, job_);
      if (!renewed) break;
    }
    co_return false;
  }

 private:
  Consumer& consumer_;
  Run& run_;
  Job& job_;
};

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
  ++runs_;
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

Task<void> Consumer::handle(Run& run, std::shared_ptr<Delivery> delivery) {
  const auto job =
      std::make_shared<Job>(Job{.delivery = delivery,
                                .stream = Stream(outside_.seed, "delivery", delivery->number),
                                .token = Owner{"delivery " + std::to_string(delivery->number)},
                                .record = {},
                                .lease_ends = {},
                                .recovery_point = {}});
  bool finished = false;
  const bool granted = co_await obtain(run, *job, finished);
  if (granted) {
    const bool renews = job->stream.one_in(2);
    if (renews) outside_.scheduler.spawn(keep_alive(run, job));
    finished = co_await act(run, *job);
    job->over = true;
  }
  delivery->acknowledge(finished);
}

// Repeated under the same token, as long as nobody says anything.
Task<bool> Consumer::obtain(Run& run, Job& job, bool& finished) {
  for (int tries = 0; tries < 4; ++tries) {
    KeyCall call = call_of(job, KeyCall::Verb::reserve);
    call.body = job.delivery->body;
    call.body_text = spelled(call.body, job.stream.below(3));
    call.policy = job.delivery->policy;
    call.secrets = &secrets_;
    call.over_limit = !outside_.chaos.calm() && job.stream.one_in(8);
    const BootTime asked = run.clock.now();
    const std::optional<KeyAnswer> heard = co_await ask(run, job, std::move(call));
    if (!heard || heard->failed) {
      const Duration pause = job.stream.between(0ms, 2s);
      co_await rest(run, pause);
      continue;
    }
    ++counts_.decisions[static_cast<std::size_t>(heard->decision)];
    finished = heard->decision == DecisionKind::replay || heard->decision == DecisionKind::gone ||
               heard->decision == DecisionKind::misuse;
    if (heard->decision != DecisionKind::execute) co_return false;
    job.record = heard->record;
    job.recovery_point = heard->record->recovery_point;
    job.lease_ends = asked + heard->lease_left;
    co_return true;
  }
  co_return false;
}

// The work, from where the last owner left it. True once it is settled as completed.
Task<bool> Consumer::act(Run& run, Job& job) {
  const Delivery& delivery = *job.delivery;
  if (outside_.chaos.strikes(Fault::call_forged, job.stream)) co_await forge(run, job);
  if (job.recovery_point == job_steps.back()) {  // paid for: the bank knows the answer
    const Ledger::Entry* entry = outside_.ledger.find(
        delivery.identity, outside_.judge.life_of(delivery.identity, job.record->fence),
        outside_.scheduler.now());
    PAWL_CHECK(entry != nullptr);
    Response answer{entry->response.status, entry->response.headers, *entry->response.body};
    const Outcome known = Answered{std::move(answer), true};
    co_return co_await settle(run, job, known);
  }
  if (delivery.in_steps && job.recovery_point.empty()) {
    const bool advanced = co_await advance(run, job, job_steps[1]);
    if (!advanced) co_return false;
  }
  Call call(outside_, *run.process, run.clock, delivery.identity, delivery.body, name_);
  Gate gate(*this, run, job);
  const BootTime deadline = run.clock.now() + job.record->policy.upstream_timeout;
  const Outcome outcome = co_await call.send(*job.record, gate, deadline);
  co_return co_await settle(run, job, outcome);
}

Task<bool> Consumer::settle(Run& run, Job& job, const Outcome& outcome) {
  if (std::holds_alternative<Lost>(outcome)) {  // nobody knows: silence is how one says so
    note(text_of(job.delivery->identity) + " does not know what became of it");
    co_return false;
  }
  const auto* answer = std::get_if<Answered>(&outcome);
  const int status = answer == nullptr ? 0 : answer->response.status;
  const bool refused =
      status == 429 || (status == 503 && find_header(answer->response.headers, "Retry-After"));
  if (answer == nullptr || refused) {
    const KeyCall release = call_of(job, KeyCall::Verb::release);
    static_cast<void>(co_await write(run, job, release));
    co_return false;
  }
  const bool undecided = status >= 500 && job.stream.one_in(2);
  if (undecided) co_return false;
  const bool says_so = job.delivery->in_steps && status < 300 &&
                       job.recovery_point == job_steps[1] && job.stream.one_in(2);
  if (says_so) static_cast<void>(co_await advance(run, job, job_steps[2]));
  KeyCall complete = call_of(job, KeyCall::Verb::complete);
  complete.response = answer->response;
  co_return co_await write(run, job, complete);
}

Task<void> Consumer::keep_alive(Run& run, std::shared_ptr<Job> job) {
  const Duration third = job->record->policy.lease / 3;
  co_await rest(run, third);
  while (!job->over && !job->lost) {
    static_cast<void>(co_await renew(run, *job));
    co_await rest(run, third);
  }
}

Task<bool> Consumer::renew(Run& run, Job& job) {
  const KeyCall call = call_of(job, KeyCall::Verb::renew);
  co_return co_await write(run, job, call);
}

Task<bool> Consumer::advance(Run& run, Job& job, std::string_view to) {
  KeyCall call = call_of(job, KeyCall::Verb::advance);
  call.step = Step{job.recovery_point, std::string(to)};
  const bool done = co_await write(run, job, call);
  if (done) job.recovery_point = to;
  co_return done;
}

Task<bool> Consumer::write(Run& run, Job& job, const KeyCall& call) {
  for (int tries = 0; tries < 5; ++tries) {
    const BootTime asked = run.clock.now();
    const std::optional<KeyAnswer> heard = co_await ask(run, job, call);
    if (!heard || heard->failed) {
      const Duration pause = job.stream.between(0ms, 2s);
      co_await rest(run, pause);
      continue;
    }
    ++(heard->done ? counts_.written : counts_.refused)[static_cast<std::size_t>(call.verb)];
    if (!heard->done) job.lost = true;
    if (heard->done) job.lease_ends = std::max(job.lease_ends, asked + heard->lease_left);
    co_return heard->done;
  }
  co_return false;
}

KeyCall Consumer::call_of(const Job& job, KeyCall::Verb verb) {
  KeyCall call;
  call.verb = verb;
  call.identity = job.delivery->identity;
  call.owner = job.token;
  if (job.record) call.fence = job.record->fence;
  return call;
}

// Somebody who has no business with this key, or who has mixed up its fences. It must be refused.
Task<void> Consumer::forge(Run& run, Job& job) {
  constexpr std::array verbs{KeyCall::Verb::renew, KeyCall::Verb::complete, KeyCall::Verb::release};
  KeyCall call = call_of(job, job.stream.pick(verbs));
  call.response = Response{200, {}, "forged by " + job.token.text};
  switch (job.stream.below(3)) {
    case 0: call.owner = Owner{"stranger " + job.token.text}; break;
    case 1: --call.fence.number; break;
    default: ++call.fence.number; break;
  }
  static_cast<void>(co_await ask(run, job, std::move(call)));
}

// One call to one node, until its answer comes or the consumer has had enough.
Task<std::optional<KeyAnswer>> Consumer::ask(Run& run, Job& job, KeyCall call) {
  Node& node = *nodes_[job.stream.below(nodes_.size())];
  const bool late = outside_.chaos.strikes(Fault::call_late, job.stream);
  const bool unheard = outside_.chaos.strikes(Fault::call_answer_lost, job.stream);
  const Duration hangs = job.stream.between(1s, 30s);
  const Duration travels = job.stream.between(0ms, job.stream.one_in(2) ? 0ms : 20ms);
  const Duration patience = job.stream.between(2s, 12s);
  const auto heard = std::make_shared<std::optional<KeyAnswer>>();
  const Process::Ticket answered = run.process->ticket();
  const auto process = run.process->weak_from_this();
  call.reply = [heard, answered, unheard, process,
                &scheduler = outside_.scheduler](KeyAnswer said) {
    const auto alive = process.lock();
    if (unheard || !alive) return;
    *heard = std::move(said);
    alive->wake(answered, scheduler.now(), "key.answer");
  };
  const auto sent = std::make_shared<KeyCall>(std::move(call));
  outside_.scheduler.at(outside_.scheduler.now() + (late ? hangs : travels),
                        [&node, sent] { node.serve(sent); });
  run.process->wake(answered, outside_.scheduler.now() + patience, "key.patience");
  co_await run.process->park(answered);
  ++counts_.calls;
  if (*heard) ++counts_.answered;
  co_return *heard;
}

}  // namespace pawl::sim
