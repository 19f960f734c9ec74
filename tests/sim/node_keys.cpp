// The key API of a node: the product's, with a simulated caller in front of it. What it answers is
// told to the checker, as values and as the document that the caller reads.
#include <charconv>

#include "src/core/documents.hpp"
#include "src/core/json_writer.hpp"
#include "src/core/overloaded.hpp"
#include "tests/sim/node_run.hpp"

namespace pawl::sim {
namespace {

std::string text_of(KeyVerb verb, const KeyCall& call) {
  JsonObject out;
  out.text("owner", call.owner.text);
  if (verb != KeyVerb::reserve) out.number("fence", call.fence.number);
  switch (verb) {
    case KeyVerb::reserve: out.raw("request", call.meaning); break;
    case KeyVerb::advance:
      out.text("after", call.after).text("recovery_point", call.recovery_point);
      break;
    case KeyVerb::complete: {
      const Response& given = call.response;
      const StoredResponse answer{given.status, given.headers, given.body};
      out.raw("response", stored_response(answer));
      break;
    }
    case KeyVerb::release: out.text("reason", call.reason); break;
    case KeyVerb::renew: break;
  }
  return out.done();
}

class Calling final : public RequestContext {
 public:
  Calling(const KeyExchange& exchange, MemoryBudget* budget)
      : RequestContext(exchange.policy, *exchange.secrets, budget) {
    route_name = "key_api";
    method = "POST";
    path = "/_pawl/v1/keys/*";
    content_type = "application/json";
    body = text_of(exchange.verb, exchange.call);
    scope = exchange.identity.first;
    key = exchange.identity.second;
  }
};

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

// As other jobs of the same caller would, a moment before.
void use_up(ScopeLimits& limits, const Scope& scope, BoundaryPolicy& policy, BootTime now) {
  policy.new_keys_per_second = 1;
  while (limits.start(scope, policy, now).verdict == ScopeLimits::Verdict::granted) {
    limits.finished(scope, policy, ScopeLimits::Ended::still_open);
  }
}

std::string member(const json::Value& document, std::string_view name) {
  const json::Value* found = document.find(name);
  return found == nullptr ? "" : found->text;
}

// `lease_seconds`: seconds, a point and three digits.
Duration lease_told(const json::Value& document) {
  std::string digits = member(document, "lease_seconds");
  std::erase(digits, '.');
  std::int64_t milliseconds = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), milliseconds);
  return std::chrono::milliseconds(milliseconds);
}

}  // namespace

void Node::serve(std::shared_ptr<KeyExchange> exchange) {
  if (!run_ || !run_->process->alive() || run_->process->paused()) return;
  outside_.scheduler.spawn(answer_key_call(*run_, std::move(exchange)));
}

Task<void> Node::answer_key_call(Run& run, std::shared_ptr<KeyExchange> exchange) {
  const KeyCall& call = exchange->call;
  note(text_of(exchange->identity) + " " + std::string(to_text(exchange->verb)) + " for " +
       call.owner.text);
  if (exchange->verb == KeyVerb::reserve) {
    const auto hashed =
        fingerprint(content_of(call), exchange->policy.fingerprint, *exchange->secrets);
    outside_.checker.knows(hashed->fingerprint, exchange->body);
  }
  if (exchange->over_limit) {
    use_up(run.state.limits, exchange->identity.first, exchange->policy, run.clock.now());
  }
  Calling context(*exchange, &run.state.memory);
  const KeyAnswer answer = co_await run.key_api.call(context, exchange->verb);
  KeyHeard heard;
  if (std::holds_alternative<std::monostate>(answer.result)) {
    PAWL_CHECK(context.refused_as == Problem::store_unavailable ||
               context.refused_as == Problem::rate_limited);
  } else {
    heard = heard_of(*exchange, answer);
  }
  exchange->reply(std::move(heard));
}

KeyHeard Node::heard_of(const KeyExchange& exchange, const KeyAnswer& answer) {
  KeyHeard heard;
  heard.failed = false;
  bool holds = false;
  if (const auto* found = std::get_if<Reservation>(&answer.result)) {
    heard.decision = kind_of(found->decision);
    heard.record = found->record;
    holds = heard.decision == DecisionKind::execute;
    check_reservation(exchange, *found);
  } else {
    const GrantWrite& written = std::get<GrantWrite>(answer.result);
    heard.done = holds = written.done;
    if (written.current) heard.record = share(*written.current);
    check_write(exchange, written);
  }
  if (holds) heard.lease_left = check_document(exchange, answer, *heard.record);
  return heard;
}

void Node::check_reservation(const KeyExchange& exchange, const Reservation& found) {
  Checker& checker = outside_.checker;
  switch (kind_of(found.decision)) {
    case DecisionKind::execute:
      checker.granted({exchange.identity, exchange.call.owner, found.record->fence}, exchange.body);
      break;
    case DecisionKind::spent: checker.called_spent(exchange.identity, exchange.call.owner); break;
    case DecisionKind::replay:
    case DecisionKind::in_flight:
    case DecisionKind::misuse:
    case DecisionKind::undetermined:
    case DecisionKind::gone:
    case DecisionKind::unproven:
    case DecisionKind::restored:
      checker.told(exchange.identity, exchange.body, told_of(found, outside_.server.ever_jumped()));
      break;
  }
}

void Node::check_write(const KeyExchange& exchange, const GrantWrite& written) {
  Checker& checker = outside_.checker;
  const KeyCall& call = exchange.call;
  const Held held{exchange.identity, call.owner, call.fence};
  if (!written.done) {
    const Grant grant{exchange.identity.first, exchange.identity.second, call.owner, call.fence};
    const bool is_kept = exchange.verb == KeyVerb::complete && is_evidence(grant, written.current);
    if (is_kept) checker.superseded(exchange.identity, call.fence, Answered{call.response, true});
    return;
  }
  switch (exchange.verb) {
    case KeyVerb::complete: checker.completed_by(held, storable(call.response, {})); break;
    case KeyVerb::release: checker.released_by(held); break;
    case KeyVerb::advance:
      checker.advanced_by(held, call.recovery_point);
      checker.renewed_by(held, *written.current);
      break;
    case KeyVerb::renew: checker.renewed_by(held, *written.current); break;
    case KeyVerb::reserve: break;
  }
}

// What the caller reads of what it holds: the lease that it is told of, which must be true.
Duration Node::check_document(const KeyExchange& exchange, const KeyAnswer& answer,
                              const Record& record) {
  Checker& checker = outside_.checker;
  const Expected<json::Value, json::Error> document = json::read(answer.response.body);
  PAWL_CHECK(document.has_value());
  const Duration told = lease_told(*document);
  const bool same = member(*document, "fence") == std::to_string(record.fence.number) &&
                    member(*document, "status") == to_text(status_of(record)) &&
                    member(*document, "recovery_point") == record.recovery_point &&
                    told == std::chrono::floor<std::chrono::milliseconds>(answer.lease_left) &&
                    answer.response.status == (exchange.verb == KeyVerb::reserve ? 201 : 200);
  if (!same) {
    checker.violated("the key API answers what was decided", exchange.identity,
                     answer.response.body);
  }
  checker.told_lease(exchange.identity, record.fence, told, outside_.server.honest());
  return told;
}

}  // namespace pawl::sim
