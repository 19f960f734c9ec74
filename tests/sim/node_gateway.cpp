// The request path of a node: what `pawl serve` will do around the engine, in a few lines.
#include "pawl/core/mutant.hpp"
#include "pawl/core/overloaded.hpp"
#include "tests/sim/node_run.hpp"

namespace pawl::sim {
namespace {

constexpr const char* path = "/v1/payments";

RequestContent content_of(const std::string& body) {
  return {.method = "POST",
          .path = path,
          .query = "",
          .content_type = "application/json",
          .body = body};
}

Request request_of(const Exchange& exchange, Judge& judge) {
  Request request;
  request.scope = exchange.identity.first;
  request.key = exchange.identity.second;
  request.method = "POST";
  request.path = path;
  request.route = "payments";
  const auto hashed =
      fingerprint(content_of(exchange.body_text), exchange.policy.fingerprint, *exchange.secrets);
  request.fingerprint = hashed->fingerprint;
  judge.knows(request.fingerprint, exchange.body);
  request.meant_then = [text = exchange.body_text, secrets = exchange.secrets](
                           const Fingerprint& stored, const FingerprintRules& rules_then) {
    return matches(stored, content_of(text), rules_then, *secrets);
  };
  if (exchange.policy.mode == Mode::async) {
    request.stored = StoredRequest{path, {}, text_of(exchange.body)};
  }
  return request;
}

Answer stored_answer(const Record& record) {
  Answer answer;
  answer.fence = record.fence;
  answer.said = Said::final_answer;
  answer.response = std::get<Completed>(record.state).response;
  return answer;
}

Answer answer_of_execution(const Executed& executed) {
  Answer answer;
  if (!executed.settlement) {  // it could not be made durable: the answer must not leave
    answer.said = Said::unknown;
    return answer;
  }
  const Settlement& settlement = *executed.settlement;
  answer.fence = settlement.record->fence;
  const bool is_completed = status_of(*settlement.record) == Status::completed;
  if (is_completed && !settlement.recorded) return stored_answer(*settlement.record);
  if (settlement.superseded) {
    answer.said = Said::in_flight;
    return answer;
  }
  const auto* answered = std::get_if<Answered>(&executed.outcome);
  if (answered == nullptr) {
    answer.said = Said::trouble;
    return answer;
  }
  answer.said = is_completed ? Said::final_answer : Said::passing;
  answer.response = storable(answered->response, {});
  return answer;
}

}  // namespace

Task<Answer> Node::execute(Run& run, const Exchange& exchange, const Request& request) {
  const Identity identity = exchange.identity;
  const std::optional<Record> before = outside_.judge.row(identity);
  const bool given_up = before && abandoned(identity, before->owner);
  run.active.insert(identity);
  Call call(outside_, *run.process, run.clock, identity, exchange.body, name_);
  const std::int64_t purge_epoch = run.cache.epoch();
  const Guarded guarded = co_await run.engine.guard(request, exchange.policy, call);
  run.active.erase(run.active.find(identity));
  if (const auto* refused = std::get_if<Refused>(&guarded); refused != nullptr && given_up) {
    const Reservation& found = refused->reservation;
    const bool doubted = kind_of(found.decision) == DecisionKind::undetermined;
    if (doubted && found.record->owner == before->owner) check_doubt(run, *found.record);
  }
  if (const auto* executed = std::get_if<Executed>(&guarded)) {
    if (executed->settlement && executed->settlement->superseded) {
      outside_.judge.superseded(identity, call.fence(), executed->outcome);
    }
  }
  co_return answer_of(run, guarded, purge_epoch);
}

Task<void> Node::guard(Run& run, std::shared_ptr<Exchange> exchange) {
  const Identity identity = exchange->identity;
  const Request request = request_of(*exchange, outside_.judge);
  note(text_of(identity) + " request for " + exchange->body_text);
  Answer answer;
  if (const std::optional<Answer> remembered = from_memory(run, request)) {
    answer = *remembered;
  } else if (exchange->policy.in_flight == WhenInFlight::wait) {
    answer = co_await take_turns(run, *exchange, request);
  } else {
    answer = co_await execute(run, *exchange, request);
  }
  note(text_of(identity) + " answers: " + std::string(name_of(answer.said)) +
       (answer.response ? " " + answer.response->body.value_or("") : ""));
  outside_.judge.told(identity, exchange->body, answer);
  exchange->reply(answer);
}

Answer Node::answer_of(Run& run, const Guarded& guarded, std::int64_t purge_epoch) {
  Answer answer;
  if (std::holds_alternative<Unreserved>(guarded)) {
    answer.said = Said::unavailable;
    return answer;
  }
  const auto remember = [&](const Record& record) {
    run.cache.keep(record, std::to_string(record.fence.number), purge_epoch);
  };
  if (const auto* executed = std::get_if<Executed>(&guarded)) {
    if (executed->settlement) remember(*executed->settlement->record);
    return answer_of_execution(*executed);
  }
  const Reservation& found = std::get<Refused>(guarded).reservation;
  answer.fence = found.record->fence;
  std::visit(Overloaded{[&](const Execute&) {},
                        [&](const Replay&) {
                          answer = stored_answer(*found.record);
                          remember(*found.record);
                        },
                        [&](const InFlight& busy) {
                          answer.said = Said::in_flight;
                          answer.retry_after = busy.lease_left;
                          // Nothing lapses by a clock that is not trusted, and that may be over by
                          // now.
                          answer.lease_over = !busy.pending && !outside_.server.ever_jumped() &&
                                              busy.lease_left <= Duration{0};
                        },
                        [&](const Misuse&) { answer.said = Said::misuse; },
                        [&](const Undetermined&) { answer.said = Said::unknown; },
                        [&](const Gone&) { answer.said = Said::gone; },
                        [&](const Spent&) { PAWL_CHECK(false); },
                        [&](const Unproven&) { PAWL_CHECK(false); },
                        [&](const Restored&) { answer.said = Said::restored; }},
             found.decision);
  return answer;
}

// Of a reservation of this very run that it had given up before it was asked, with nothing sent, it
// must know better. By a clock that it does not trust it could not say so.
void Node::check_doubt(Run& run, const Record& record) {
  const Identity identity{record.scope, record.key};
  const std::optional<Record>& row = outside_.judge.row(identity);
  const bool still = row && row->fence == record.fence && status_of(*row) == Status::unknown;
  const bool knows = still && record.last_error == "lease-expired" && run.engine.time().trusted() &&
                     abandoned(identity, record.owner) &&
                     !outside_.judge.asked(identity, record.fence);
  if (knows) {
    outside_.judge.violated("what was surely not sent is not called unknown", identity,
                            "by the node that reserved it for " + record.owner.text);
  }
}

// As src/gateway/guarded.cpp asks it, before the store.
std::optional<Answer> Node::from_memory(Run& run, const Request& request) {
  const std::shared_ptr<const gateway::Cached> cached = run.cache.find(request.scope, request.key);
  if (!cached || !run.engine.time().known()) return std::nullopt;
  if (run.engine.time().at_latest(run.clock.now()) >= cached->expires_at) return std::nullopt;
  const bool same = cached->fingerprint == request.fingerprint ||
                    request.meant_then(cached->fingerprint, cached->rules);
  Answer answer;
  answer.fence = Fence{std::stoll(cached->request_id)};
  answer.said = same ? Said::final_answer : Said::misuse;
  if (same) {
    answer.response = cached->response;
    if (answer.response->body) answer.response->body = cached->body;  // shared by all who replay it
  }
  answer.memory_epoch = run.store.heard_epoch();
  return answer;
}

// Only a mutant does this: a client that goes away proves nothing about what the upstream did.
Task<void> Node::free_key(Run& run, Identity identity) {
  const StoreResult<std::optional<Record>> found =
      co_await run.store.find(identity.first, identity.second);
  if (!found || !*found || status_of(**found) != Status::in_progress) co_return;
  Replacement change{**found, guard_of(**found), std::nullopt};
  change.next.state = FailedRetryable{};
  static_cast<void>(co_await run.store.replace_one(std::move(change)));
}

}  // namespace pawl::sim
