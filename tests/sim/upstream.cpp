#include "tests/sim/upstream.hpp"

#include "tests/mutants/mutant.hpp"
#include "tests/sim/outbox.hpp"

namespace pawl::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::array<int, 4> errors{500, 502, 503, 504};

Response response_of(int status, std::string body) {
  Response response;
  response.status = status;
  response.headers = {{"Content-Type", "application/json"}, {"Date", "whenever"}};
  response.body = std::move(body);
  return response;
}

}  // namespace

std::string text_of(Body body) {
  return "{\"amount\":" + std::to_string(body.amount) + ",\"nonce\":" + std::to_string(body.nonce) +
         "}";
}

const Ledger::Entry* Ledger::find(const Checker& checker, const Identity& identity, Fence fence,
                                  Duration when) const {
  const auto found = entries_.find(identity);
  if (found == entries_.end()) return nullptr;
  const Entry* best = nullptr;
  for (const Entry& entry : found->second) {
    if (!checker.is_about(identity, entry.life, fence) || entry.when > when) continue;
    const bool paid = entry.response.status < 300;
    // Bob's bank shows payments alone: of what it refused it tells by events, if at all.
    if (!paid && identity.first.text == "bob") continue;
    if (best == nullptr || paid || best->response.status >= 300) best = &entry;
  }
  return best;
}

// What this upstream will do with this request, drawn before anything happens.
struct Call::Script {
  Duration connect_after{0};
  Duration act_after{0};  // from the first byte; never later than upstream_timeout
  Duration answer_after{0};
  bool unreachable = false;
  bool dies = false;  // gets the bytes and never acts
  bool acts = true;
  int status = 201;
  bool retry_after = false;
  bool mute = false;  // no answer, the connection is reset
  bool half = false;
  bool twice = false;
};

// A request that has left. It goes on without its sender.
struct Call::Arrival {
  Identity identity;
  Body body;
  Fence fence;
  StoredPolicy policy;
  std::optional<Outcome> outcome;
  Duration answer_at{0};
};

Call::Call(Outside& outside, Process& process, const NodeClock& clock, Identity identity, Body body,
           std::string who)
    : outside_(outside),
      process_(process),
      clock_(clock),
      identity_(std::move(identity)),
      body_(body),
      who_(std::move(who)),
      stream_(outside.seed, "upstream", ++outside.sends) {}

void Call::note(const std::string& what) const {
  if (outside_.history.wanted()) outside_.history.add(outside_.scheduler.now(), who_, what);
}

Call::Script Call::draw(const StoredPolicy& policy) {
  Chaos& chaos = outside_.chaos;
  Script script;
  const Duration timeout = policy.upstream_timeout;
  script.connect_after = stream_.between(milliseconds(0), milliseconds(30));
  script.act_after = stream_.between(milliseconds(1), milliseconds(200));
  script.answer_after = script.act_after + stream_.between(milliseconds(0), milliseconds(50));
  const int error = stream_.pick(errors);
  const bool says_when = stream_.one_in(2);
  const Duration slow = stream_.between(timeout / 2, timeout);
  const Duration slower = stream_.between(timeout / 4, timeout * 2);
  if (chaos.strikes(Fault::upstream_slow, stream_)) {
    script.act_after = slow;
    script.answer_after = stream_.one_in(3) ? slow : std::max(slow, slower);
  }
  script.unreachable = chaos.strikes(Fault::upstream_unreachable, stream_);
  script.dies = chaos.strikes(Fault::upstream_dies, stream_);
  script.mute = chaos.strikes(Fault::upstream_mute, stream_);
  script.half = chaos.strikes(Fault::upstream_half, stream_);
  script.twice = chaos.strikes(Fault::upstream_twice, stream_);
  if (chaos.strikes(Fault::upstream_lies, stream_)) {
    script.status = error;
  } else if (chaos.strikes(Fault::upstream_error, stream_)) {
    script.status = error;
    script.acts = false;
  } else if (chaos.strikes(Fault::upstream_refuses, stream_)) {
    script.status = says_when ? 503 : 429;
    script.retry_after = says_when;
    script.acts = false;
  } else if (chaos.strikes(Fault::upstream_declines, stream_)) {
    script.status = 402;
    script.acts = false;
  } else if (chaos.strikes(Fault::upstream_unasked, stream_)) {
    script.status = 408;  // of the connection, before it saw the request
    script.acts = false;
  }
  return script;
}

// At the service, at the moment when it acts.
void Call::serve(Outside& outside, Arrival& arrival, const Script& script) {
  const Identity& identity = arrival.identity;
  const Fence fence = arrival.fence;
  const std::string sign = text_of(identity) + "#" + std::to_string(fence.number % 1'000'000'000);
  const auto text = [&](std::string_view what) {
    return "{\"" + std::string(what) + "\":\"" + sign + "\",\"for\":" + text_of(arrival.body) + "}";
  };
  const Response paid = response_of(201, text("paid"));
  Response answer = paid;
  if (script.status != 201) {
    answer = response_of(script.status, text("status " + std::to_string(script.status)));
  }
  if (script.retry_after) answer.headers.push_back({"Retry-After", "4"});
  const Ledger::Entry entry{outside.checker.life_of(identity, fence), fence,
                            outside.scheduler.now(),
                            storable(script.status == 402 ? answer : paid, {})};
  outside.checker.answer_given(identity, fence, answer, arrival.body);

  const auto act = [&] {
    outside.checker.answer_given(identity, fence, paid, arrival.body);
    outside.ledger.add(identity, entry);
    outside.checker.effect(identity, fence);
    if (outside.history.wanted()) {
      outside.history.add(outside.scheduler.now(), "upstream", text_of(identity) + " MONEY MOVES");
    }
  };
  if (script.acts && arrival.policy.transactional) {
    const auto promise = [&](const Record& held) {  // pawl.enqueue, in the same transaction
      act();
      outside.outbox.enqueue(held, text_of(arrival.body));
    };
    const bool committed =
        !outside.server.down() && outside.server.complete(identity, fence, entry.response, promise);
    if (!committed) {
      answer = response_of(500, text("rolled back"));
      outside.checker.answer_given(identity, fence, answer, arrival.body);
    }
  } else if (script.acts) {
    act();
    const bool gateway_error = script.status == 502 || script.status == 504;
    if (script.status >= 500 && !gateway_error &&
        arrival.policy.on_server_error == OnServerError::retry) {
      outside.checker.forgive(identity, fence);
    }
  } else if (script.status == 402) {
    outside.ledger.add(identity, entry);  // a refusal is on the books too: it is an answer
  }
  if (script.mute) {
    arrival.outcome = Lost{Lost::How::reset, "connection reset"};
  } else if (script.half) {
    answer.body.resize(answer.body.size() / 2);
    arrival.outcome = Lost{Lost::How::bad_response, "half a response"};
    if (mutant(Mutant::half_is_an_answer)) arrival.outcome = Answered{answer};
  } else {
    arrival.outcome = Answered{std::move(answer)};
  }
  arrival.answer_at = outside.scheduler.now() + script.answer_after - script.act_after;
}

Task<Outcome> Call::send(const Record& attempt, SendGate& gate, BootTime deadline) {
  Scheduler& scheduler = outside_.scheduler;
  fence_ = attempt.fence;
  outside_.checker.asked_to_send(identity_, attempt.fence);
  const Script script = draw(attempt.policy);
  const Process::Ticket connected = process_.ticket();
  process_.wake(connected, scheduler.now() + script.connect_after, "upstream.connect");
  co_await process_.park(connected);
  if (script.unreachable) co_return NotSent{"connection refused"};
  if (!co_await gate.may_send()) {
    note(text_of(identity_) + " is not sent: too little of the lease is left");
    co_return NotSent{"the lease was nearly over"};
  }
  // No await since the gate: the first byte leaves at this very moment.
  note(text_of(identity_) + " first byte to the upstream");
  outside_.checker.first_byte(identity_, attempt.fence, body_, outside_.server.honest());
  const auto arrival = std::make_shared<Arrival>();
  arrival->identity = identity_;
  arrival->body = body_;
  arrival->fence = attempt.fence;
  arrival->policy = attempt.policy;
  const Process::Ticket answered = process_.ticket();
  const auto process = process_.weak_from_this();
  const int times = script.mute && mutant(Mutant::resend_after_reset) ? 2 : 1;
  for (int time = 0; time < times && !script.dies; ++time) {
    // The service works on whether or not this node, and this call, still exist.
    scheduler.at(scheduler.now() + script.act_after,
                 [&outside = outside_, arrival, script, process, answered] {
                   serve(outside, *arrival, script);
                   const auto node = process.lock();
                   if (!node) return;
                   node->wake(answered, arrival->answer_at, "upstream.answer");
                   if (script.twice) node->wake(answered, arrival->answer_at, "upstream.answer");
                 });
  }
  const Duration soon = stream_.between(milliseconds(0), std::chrono::seconds(2));
  scheduler.at(scheduler.now() + soon, [process] {
    if (const auto node = process.lock()) node->tempt(after_sending);
  });
  process_.wake(answered, clock_.true_time(deadline), "upstream.timeout");
  co_await process_.park(answered);
  // Woken by the answer or by the deadline: an answer still on its way does not count.
  if (!arrival->outcome || scheduler.now() < arrival->answer_at) {
    co_return Lost{Lost::How::timeout, "no answer in time"};
  }
  co_return *arrival->outcome;
}

}  // namespace pawl::sim
