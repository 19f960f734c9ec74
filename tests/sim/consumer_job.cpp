// What a consumer does with one delivery: by leave of the key API, and once.
#include "tests/sim/consumer_run.hpp"

namespace pawl::sim {

using namespace std::chrono_literals;

namespace {

// As long as a token has to be.
Owner token_of(const Delivery& delivery) {
  const std::string number = std::to_string(delivery.number);
  return Owner{"delivery-" + std::string(number.size() < 8 ? 8 - number.size() : 0, '0') + number};
}

}  // namespace

// Asked when everything is ready and not a byte is sent.
class Consumer::Gate final : public SendGate {
 public:
  Gate(Consumer& consumer, Run& run, Job& job) : consumer_(consumer), run_(run), job_(job) {}

  Task<bool> may_send() override {
    const Delivery& delivery = *job_.delivery;
    if (delivery.careless) {
      Outside& outside = consumer_.outside_;
      outside.checker.acts_unchecked(delivery.identity, job_.record->fence,
                                     outside.server.honest());
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

Task<void> Consumer::handle(Run& run, std::shared_ptr<Delivery> delivery) {
  const auto job =
      std::make_shared<Job>(Job{.delivery = delivery,
                                .stream = Stream(outside_.seed, "delivery", delivery->number),
                                .token = token_of(*delivery),
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
    KeyExchange exchange = call_of(job, KeyVerb::reserve);
    exchange.body = job.delivery->body;
    exchange.call.meaning = spelled(exchange.body, job.stream.below(3));
    exchange.call.meaning_type = "application/json";
    exchange.over_limit = !outside_.chaos.calm() && job.stream.one_in(8);
    const BootTime asked = run.clock.now();
    const std::optional<KeyHeard> heard = co_await ask(run, job, std::move(exchange));
    if (!heard || heard->failed) {
      const Duration pause = job.stream.between(0ms, 2s);
      co_await rest(run, pause);
      continue;
    }
    ++counts_.decisions[static_cast<std::size_t>(heard->decision)];
    finished = heard->decision == DecisionKind::replay || heard->decision == DecisionKind::gone ||
               heard->decision == DecisionKind::misuse || heard->decision == DecisionKind::restored;
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
    const Ledger::Entry* entry = outside_.ledger.find(outside_.checker, delivery.identity,
                                                      job.record->fence, outside_.scheduler.now());
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
  const bool refused = status == 408 || status == 429 ||
                       (status == 503 && find_header(answer->response.headers, "Retry-After"));
  if (answer == nullptr || refused) {
    KeyExchange release = call_of(job, KeyVerb::release);
    release.call.reason = "the consumer let go of it";
    static_cast<void>(co_await write(run, job, release));
    co_return false;
  }
  const bool undecided = status >= 500 && job.stream.one_in(2);
  if (undecided) co_return false;
  const bool says_so = job.delivery->in_steps && status < 300 &&
                       job.recovery_point == job_steps[1] && job.stream.one_in(2);
  if (says_so) static_cast<void>(co_await advance(run, job, job_steps[2]));
  KeyExchange complete = call_of(job, KeyVerb::complete);
  complete.call.response = answer->response;
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
  const KeyExchange exchange = call_of(job, KeyVerb::renew);
  co_return co_await write(run, job, exchange);
}

Task<bool> Consumer::advance(Run& run, Job& job, std::string_view to) {
  KeyExchange exchange = call_of(job, KeyVerb::advance);
  exchange.call.after = job.recovery_point;
  exchange.call.recovery_point = to;
  const bool done = co_await write(run, job, exchange);
  if (done) job.recovery_point = to;
  co_return done;
}

// Somebody who has no business with this key, or who has mixed up its fences. It must be refused.
Task<void> Consumer::forge(Run& run, Job& job) {
  constexpr std::array verbs{KeyVerb::renew, KeyVerb::complete, KeyVerb::release};
  KeyExchange exchange = call_of(job, job.stream.pick(verbs));
  exchange.call.response = Response{200, {}, "forged by " + job.token.text};
  switch (job.stream.below(3)) {
    case 0: exchange.call.owner = Owner{"stranger-" + job.token.text}; break;
    case 1: --exchange.call.fence.number; break;
    default: ++exchange.call.fence.number; break;
  }
  static_cast<void>(co_await ask(run, job, std::move(exchange)));
}

}  // namespace pawl::sim
