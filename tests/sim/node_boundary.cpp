// The request path of a node: the product's boundary, with a simulated client in front of it and a
// simulated service behind it. What it answers is told to the checker.
#include "tests/mutants/mutant.hpp"
#include "tests/sim/node_run.hpp"

namespace pawl::sim {
namespace {

constexpr const char* path = "/v1/payments";

class Incoming final : public RequestContext {
 public:
  Incoming(const Exchange& exchange, MemoryBudget* budget)
      : RequestContext(exchange.policy, *exchange.secrets, budget), exchange_(exchange) {
    route_name = "payments";
    method = "POST";
    path = sim::path;
    content_type = "application/json";
    body = exchange.body_text;
    scope = exchange.identity.first;
    key = exchange.identity.second;
  }

  [[nodiscard]] bool client_is_gone() override { return exchange_.hung_up; }
  [[nodiscard]] bool is_stored() const override { return policy.mode == Mode::async; }
  [[nodiscard]] std::optional<StoredRequest> to_store() const override {
    if (!is_stored()) return std::nullopt;
    return StoredRequest{sim::path, {}, text_of(exchange_.body)};
  }

 private:
  const Exchange& exchange_;
};

class Executing final : public pawl::Execution {
 public:
  explicit Executing(Call& call) : call_(call) {}
  Task<Outcome> send(const Record& attempt, SendGate& gate, BootTime deadline) override {
    Outcome outcome = co_await call_.send(attempt, gate, deadline);
    last = outcome;
    co_return outcome;
  }

  std::optional<Outcome> last;

 private:
  Call& call_;
};

Said said_of(Problem problem) {
  switch (problem) {
    case Problem::key_reused: return Said::misuse;
    case Problem::in_flight: return Said::in_flight;
    case Problem::outcome_unknown: return Said::unknown;
    case Problem::key_expired: return Said::gone;
    case Problem::store_restored: return Said::restored;
    case Problem::store_unavailable:
    case Problem::overloaded: return Said::unavailable;
    default: return Said::trouble;
  }
}

Said said_of(DecisionKind decided) {
  switch (decided) {
    case DecisionKind::replay: return Said::final_answer;
    case DecisionKind::in_flight: return Said::in_flight;
    case DecisionKind::misuse: return Said::misuse;
    case DecisionKind::undetermined: return Said::unknown;
    case DecisionKind::gone: return Said::gone;
    case DecisionKind::restored: return Said::restored;
    case DecisionKind::execute:
    case DecisionKind::spent:
    case DecisionKind::unproven: break;
  }
  PAWL_CHECK(false);
}

// What the client was told, as far as the checker has to know.
Said said_by(const RequestContext& context, const Executing& execution) {
  if (context.superseded) return Said::in_flight;
  if (context.refused_as) return said_of(*context.refused_as);
  if (context.decided != DecisionKind::execute) return said_of(*context.decided);
  if (status_of(*context.record) == Status::completed) return Said::final_answer;
  return evidence_of(*execution.last) == Evidence::answered ? Said::passing : Said::trouble;
}

}  // namespace

Task<void> Node::guard(Run& run, std::shared_ptr<Exchange> exchange) {
  const Identity identity = exchange->identity;
  Checker& checker = outside_.checker;
  note(text_of(identity) + " request for " + exchange->body_text);
  Incoming context(*exchange, &run.state.memory);
  PAWL_CHECK(!run.boundary.take_fingerprint(context));
  checker.knows(context.fingerprint, exchange->body);

  const std::optional<Record> before = checker.row(identity);
  const bool given_up = before && abandoned(identity, before->owner);
  run.active.insert(identity);
  Call call(outside_, *run.process, run.clock, identity, exchange->body, name_);
  Executing execution(call);
  Response response = co_await run.boundary.handle(context, execution);
  run.active.erase(run.active.find(identity));

  const bool doubted = context.decided == DecisionKind::undetermined;
  if (given_up && doubted && context.record && context.record->owner == before->owner) {
    check_doubt(run, *context.record);
  }
  if (context.superseded) checker.superseded(identity, call.fence(), *execution.last);
  const Answer answer = answer_of(run, context, said_by(context, execution), std::move(response));
  note(text_of(identity) + " answers: " + std::string(name_of(answer.said)) +
       (answer.response ? " " + answer.response->body : ""));
  checker.told(identity, exchange->body, answer);
  exchange->reply(answer);
  const bool gave_up =
      answer.said == Said::in_flight && exchange->policy.in_flight == WhenInFlight::wait;
  if (gave_up && mutant(Mutant::waiter_frees_key)) co_await free_key(run, identity);
}

Answer Node::answer_of(const Run& run, const RequestContext& context, Said said,
                       Response response) const {
  Answer answer;
  answer.said = said;
  if (context.record) answer.fence = context.record->fence;
  const bool from_memory = !context.record && context.replay;
  if (from_memory) {
    answer.fence = outside_.checker.fence_of({context.scope, context.key}, context.request_id);
    answer.memory_epoch = run.store.heard_epoch();
    if (!outside_.server.ever_jumped()) answer.memory_time = outside_.server.honest();
  }
  if (said == Said::final_answer || said == Said::passing) {
    // Shared by all who replay it: whoever delivers it takes it from there.
    if (context.replay && context.replay->response.body) response.body = context.replay->body;
    answer.response = std::move(response);
  }
  if (said == Said::in_flight && context.lease_left) {
    answer.retry_after = *context.lease_left;
    // Nothing lapses by a clock that is not trusted, and that may be over by now.
    const bool pending = context.record && status_of(*context.record) == Status::pending;
    answer.lease_over =
        !pending && !outside_.server.ever_jumped() && *context.lease_left <= Duration{0};
  }
  return answer;
}

// Of a reservation of this very run that it had given up before it was asked, with nothing sent, it
// must know better. By a clock that it does not trust it could not say so.
void Node::check_doubt(Run& run, const Record& record) {
  const Identity identity{record.scope, record.key};
  const std::optional<Record>& row = outside_.checker.row(identity);
  const bool still = row && row->fence == record.fence && status_of(*row) == Status::unknown;
  const bool knows = still && record.last_error == "lease-expired" && run.engine.time().trusted() &&
                     abandoned(identity, record.owner) &&
                     !outside_.checker.asked(identity, record.fence);
  if (knows) {
    outside_.checker.violated("what was surely not sent is not called unknown", identity,
                              "by the node that reserved it for " + record.owner.text);
  }
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
