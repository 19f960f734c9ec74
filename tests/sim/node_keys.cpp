// The key API of a node, as src/gateway/key_api.cpp does it: reserve, advance, complete, release
// and renew for owners outside of the process.
#include "src/core/overloaded.hpp"
#include "tests/mutants/mutant.hpp"
#include "tests/sim/node_run.hpp"

namespace pawl::sim {
namespace {

RequestContent content_of(const std::string& body) {
  return {.method = "RESERVE",
          .path = {},
          .query = {},
          .content_type = "application/json",
          .body = body};
}

Request request_of(const KeyCall& call, Checker& checker) {
  Request request;
  request.scope = call.identity.first;
  request.key = call.identity.second;
  request.route = "key_api";
  const auto hashed =
      fingerprint(content_of(call.body_text), call.policy.fingerprint, *call.secrets);
  request.fingerprint = hashed->fingerprint;
  checker.knows(request.fingerprint, call.body);
  request.meant_then = [text = call.body_text, secrets = call.secrets](
                           const Fingerprint& stored, const FingerprintRules& rules_then) {
    return matches(stored, content_of(text), rules_then, *secrets);
  };
  return request;
}

// What everybody may be told of a key, in the words that the checker knows.
Answer told_of(const Reservation& found, bool clock_ever_jumped) {
  Answer answer;
  answer.fence = found.record->fence;
  std::visit(
      Overloaded{[](const Execute&) {},
                 [&](const Replay& replay) {
                   answer.said = Said::final_answer;
                   answer.response = Response{replay.response.status, replay.response.headers,
                                              replay.response.body.value_or("")};
                 },
                 [&](const InFlight& busy) {
                   answer.said = Said::in_flight;
                   answer.retry_after = busy.lease_left;
                   answer.lease_over = !clock_ever_jumped && busy.lease_left <= Duration{0};
                 },
                 [&](const Misuse&) { answer.said = Said::misuse; },
                 [&](const Undetermined&) { answer.said = Said::unknown; },
                 [&](const Gone&) { answer.said = Said::gone; }, [](const Spent&) {},
                 [](const Unproven&) {}, [&](const Restored&) { answer.said = Said::restored; }},
      found.decision);
  return answer;
}

}  // namespace

std::string_view name_of(KeyCall::Verb verb) {
  switch (verb) {
    case KeyCall::Verb::reserve: return "reserve";
    case KeyCall::Verb::advance: return "advance";
    case KeyCall::Verb::complete: return "complete";
    case KeyCall::Verb::release: return "release";
    case KeyCall::Verb::renew: return "renew";
  }
  return "?";
}

void Node::serve(std::shared_ptr<KeyCall> call) {
  if (!run_ || !run_->process->alive() || run_->process->paused()) return;
  outside_.scheduler.spawn(answer_key_call(*run_, std::move(call)));
}

Task<void> Node::answer_key_call(Run& run, std::shared_ptr<KeyCall> call) {
  note(text_of(call->identity) + " " + std::string(name_of(call->verb)) + " for " +
       call->owner.text);
  KeyAnswer answer;
  if (call->verb == KeyCall::Verb::reserve) {
    answer = co_await reserve_key(run, *call);
  } else {
    answer = co_await write_key(run, *call);
  }
  call->reply(std::move(answer));
}

Task<KeyAnswer> Node::reserve_key(Run& run, const KeyCall& call) {
  const Request request = request_of(call, outside_.checker);
  std::optional<Reservation> found;
  if (call.over_limit) {
    StoreResult<std::optional<Reservation>> seen =
        co_await run.engine.peek_for(call.owner, request, call.policy);
    if (seen) found = std::move(*seen);
  } else {
    StoreResult<Reservation> made =
        co_await run.engine.reserve_for(call.owner, request, call.policy);
    if (made) found = std::move(*made);
  }
  KeyAnswer answer;
  if (!found) co_return answer;
  answer.failed = false;
  answer.decision = kind_of(found->decision);
  answer.record = *found->record;
  Checker& checker = outside_.checker;
  switch (answer.decision) {
    case DecisionKind::execute:
      describe_lease(run, answer);
      checker.granted({call.identity, call.owner, found->record->fence}, call.body);
      break;
    case DecisionKind::spent: checker.called_spent(call.identity, call.owner); break;
    case DecisionKind::replay:
    case DecisionKind::in_flight:
    case DecisionKind::misuse:
    case DecisionKind::undetermined:
    case DecisionKind::gone:
    case DecisionKind::unproven:
    case DecisionKind::restored:
      checker.told(call.identity, call.body, told_of(*found, outside_.server.ever_jumped()));
      break;
  }
  co_return answer;
}

Task<KeyAnswer> Node::write_key(Run& run, const KeyCall& call) {
  const Grant grant{call.identity.first, call.identity.second, call.owner, call.fence};
  const Outcome answered = Answered{call.response, true};
  const Outcome nothing = NotSent{"the consumer let go of it"};
  const SettleOptions options;
  StoreResult<GrantWrite> written = Unexpected{StoreError::unavailable};
  bool evidence = false;
  switch (call.verb) {
    case KeyCall::Verb::complete: {
      written = co_await run.engine.settle_for(grant, answered, options);
      evidence = written && !written->done && is_evidence(grant, written->current);
      if (!evidence || mutant(Mutant::refused_answer_dropped)) break;
      const StoreResult<Done> kept =
          co_await run.engine.keep_refused(grant, written->current, answered, options);
      if (!kept) written = Unexpected{kept.error()};
      break;
    }
    case KeyCall::Verb::release:
      written = co_await run.engine.settle_for(grant, nothing, options);
      break;
    case KeyCall::Verb::advance: written = co_await run.engine.advance_for(grant, call.step); break;
    case KeyCall::Verb::renew: written = co_await run.engine.renew_for(grant); break;
    case KeyCall::Verb::reserve: PAWL_CHECK(false);
  }
  KeyAnswer answer;
  if (!written) co_return answer;
  answer.failed = false;
  answer.done = written->done;
  answer.record = written->current;
  Checker& checker = outside_.checker;
  const Held held{call.identity, call.owner, call.fence};
  if (evidence) checker.superseded(call.identity, call.fence, answered);
  if (!answer.done) co_return answer;
  describe_lease(run, answer);
  switch (call.verb) {
    case KeyCall::Verb::complete:
      checker.completed_by(held, storable(call.response, options));
      break;
    case KeyCall::Verb::release: checker.released_by(held); break;
    case KeyCall::Verb::advance:
      checker.advanced_by(held, call.step.to);
      checker.renewed_by(held, *answer.record);
      break;
    case KeyCall::Verb::renew: checker.renewed_by(held, *answer.record); break;
    case KeyCall::Verb::reserve: break;
  }
  co_return answer;
}

// `lease_seconds`, and whether it is true.
void Node::describe_lease(Run& run, KeyAnswer& answer) {
  answer.lease_left = run.engine.lease_left(*answer.record);
  if (mutant(Mutant::lease_told_in_full)) answer.lease_left = answer.record->policy.lease;
  outside_.checker.told_lease({answer.record->scope, answer.record->key}, answer.record->fence,
                              answer.lease_left, outside_.server.honest());
}

}  // namespace pawl::sim
