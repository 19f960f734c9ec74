// From a request with a key to its one answer.
#include <algorithm>
#include <array>

#include "src/boundary/boundary.hpp"
#include "src/core/body_coding.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;

constexpr Duration refused_retry_after = 1s;
// A scope may have more open than its limit, which was higher once: how many more is not important.
constexpr std::size_t counted_above = 1000;
// What a lookup may bring is not known before; answers of more than this are rare.
constexpr std::size_t found_bytes_max = std::size_t{1} << 20;
constexpr Duration room_pause_first = 5ms;
constexpr Duration room_pause_max = 640ms;

// Memory for an answer that might have been stored already: not so, if it is sent.
class Admitted final : public Upstream {
 public:
  Admitted(Upstream& upstream, Charge& memory, std::size_t needed)
      : upstream_(upstream), memory_(memory), needed_(needed) {}

  Task<Outcome> send(const Record& attempt, SendGate& gate, BootTime deadline) override {
    memory_.resize(needed_, MemoryUse::admitted);
    return upstream_.send(attempt, gate, deadline);
  }

 private:
  Upstream& upstream_;
  Charge& memory_;
  const std::size_t needed_;
};

ScopeLimits::Ended ended(const Executed& executed) {
  const bool over = executed.settlement && !is_open(*executed.settlement->record);
  return over ? ScopeLimits::Ended::over : ScopeLimits::Ended::still_open;
}

void mark_near_duplicate(const RequestContext& context, Response& response) {
  if (context.is_near_duplicate) response.headers.push_back({"Pawl-Near-Duplicate", "true"});
}

// An upstream that has limits of its own has said how they stand.
void tell_limit(const RequestContext& context, Response& response) {
  if (!context.limit || find_header(response.headers, "RateLimit")) return;
  for (Header& header : rate_limit_headers(*context.limit)) {
    response.headers.push_back(std::move(header));
  }
}

// What is asked about a key: of what would be stored only that it would be. By reference: `context`
// outlives it.
Request question_of(const RequestContext& context) {
  Request request;
  request.scope = context.scope;
  request.key = context.key;
  request.fingerprint = context.fingerprint;
  request.credentials = context.credentials;
  request.meant_then = [&context](const Fingerprint& stored, const FingerprintRules& rules) {
    return context.is_what_was_meant(stored, rules);
  };
  request.method = context.method;
  request.path = context.path;
  request.route = context.route_name;
  if (context.is_stored()) request.stored.emplace();
  return request;
}

Request request_of(const RequestContext& context) {
  Request request = question_of(context);
  request.stored = context.to_store();
  return request;
}

std::optional<ProblemDetails> take_key(RequestContext& context,
                                       std::span<const std::string_view> lines,
                                       const KeyRules& rules) {
  Expected<Key, KeyRefusal> key = parse_key(lines, rules);
  if (!key) return ProblemDetails{Problem::key_invalid, explain(key.error(), rules), {}, {}};
  if (context.policy.transactional && (key->text.front() == ' ' || key->text.back() == ' ')) {
    return ProblemDetails{Problem::key_invalid,
                          "On this route an Idempotency-Key must not start or end with a blank.",
                          {},
                          {}};
  }
  context.key = std::move(*key);
  context.key_as_sent = lines.front();
  return std::nullopt;
}

}  // namespace

std::optional<ProblemDetails> Boundary::identify(RequestContext& context,
                                                 std::span<const std::string_view> lines,
                                                 std::string_view content_encoding) {
  if (lines.empty()) return ProblemDetails{Problem::key_missing, "", {}, {}};
  if (std::optional<ProblemDetails> trouble = take_key(context, lines, context.policy.key_rules)) {
    return trouble;
  }
  return check_coding(content_encoding, context.content_type);
}

std::optional<ProblemDetails> Boundary::identify_text(RequestContext& context,
                                                      std::string_view text) {
  KeyRules rules = context.policy.key_rules;
  rules.syntax = KeySyntax::bare;
  const std::array<std::string_view, 1> lines{text};
  return take_key(context, lines, rules);
}

std::optional<Response> Boundary::take_fingerprint(RequestContext& context) {
  Expected<Fingerprinted, json::Error> made =
      fingerprint(context.content(), context.policy.fingerprint, context.secrets);
  if (made) {
    context.fingerprint = std::move(made->fingerprint);
    return std::nullopt;
  }
  context.trace.trouble = slug_of(Problem::body_invalid);
  std::string detail = "The body is not valid JSON: " + made.error().what + " at byte " +
                       std::to_string(made.error().at_byte) + ".";
  ProblemDetails invalid{Problem::body_invalid, std::move(detail), {}, {}};
  return problem(context, std::move(invalid));
}

Task<Response> Boundary::handle(RequestContext& context, Execution& execution) {
  Admission admission = co_await admit(context);
  if (auto* answer = std::get_if<Response>(&admission)) co_return std::move(*answer);
  co_return co_await execute(context, std::move(std::get<Granted>(admission)), execution);
}

Task<Boundary::Admission> Boundary::admit(RequestContext& context) {
  context.purge_epoch = state_.cache.epoch();
  if (std::optional<Response> replay = from_memory(context)) co_return std::move(*replay);
  if (!context.stale.empty()) co_return co_await look_up(context, Problem::stale_request);
  context.is_near_duplicate = is_near_duplicate(context);
  if (context.is_near_duplicate) ports_.metrics.near_duplicate(context.route_name);
  Admission admission = co_await admit_unknown(context);
  if (auto* answer = std::get_if<Response>(&admission)) mark_near_duplicate(context, *answer);
  co_return admission;
}

// A replay, or misuse of a key whose answer is known, without asking the store.
std::optional<Response> Boundary::from_memory(RequestContext& context) {
  const std::shared_ptr<const Cached> cached = state_.cache.find(context.scope, context.key);
  const StoreTime& time = ports_.engine.time();
  if (!cached || !time.known()) return std::nullopt;
  const bool expired = time.at_latest(ports_.clock.now()) >= cached->expires_at;
  if (expired) return std::nullopt;
  GatewayMetrics& metrics = ports_.metrics;
  metrics.duplicate(context.scope.text);
  const auto decide = [&](DecisionKind kind) {
    context.decided = kind;
    context.record.reset();
    context.refused_as.reset();
    context.trace.decision = to_text(kind);
    metrics.decided_in_memory(to_text(kind));
  };
  if (!context.credentials.empty() && cached->credentials != context.credentials) {
    decide(DecisionKind::unproven);
    ProblemDetails unproven{Problem::caller_unproven, "", {}, {}};
    return problem(context, std::move(unproven));
  }
  context.trace.execution = cached->request_id;
  const bool same = cached->fingerprint == context.fingerprint ||
                    context.is_what_was_meant(cached->fingerprint, cached->rules);
  if (!same) {
    metrics.misuse(context.scope.text);
    decide(DecisionKind::misuse);
    ProblemDetails reused{Problem::key_reused, "", {}, {}};
    return problem(context, std::move(reused));
  }
  metrics.replayed(/*from_memory=*/true);
  decide(DecisionKind::replay);
  context.request_id = cached->request_id;
  return render_replay(context, cached);
}

// Asked only where no answer is known for the key: what is done already is replayed.
bool Boundary::is_near_duplicate(const RequestContext& context) {
  if (context.policy.near_duplicates == WhenNearDuplicate::off) return false;
  const Scope whose{context.scope.text + context.client};  // two clients tap twice together
  return state_.near_duplicates.seen_under_another_key(whose, context.fingerprint, context.key,
                                                       ports_.clock.now(),
                                                       context.policy.near_duplicate_window);
}

// What memory does not know.
Task<Boundary::Admission> Boundary::admit_unknown(RequestContext& context) {
  const bool refused = context.policy.near_duplicates == WhenNearDuplicate::refuse;
  if (context.is_near_duplicate && refused) {
    co_return co_await look_up(context, Problem::near_duplicate);
  }
  if (context.policy.in_flight == WhenInFlight::wait) co_return co_await take_turns(context);
  co_return co_await reserve(context);
}

Task<Boundary::Admission> Boundary::reserve(RequestContext& context) {
  if (!state_.breaker.lets_through(ports_.clock.now())) {
    context.trace.trouble = "the store is known to be unavailable";
    ProblemDetails unavailable{Problem::store_unavailable, "", {}, Breaker::retry_after};
    co_return problem(context, std::move(unavailable));
  }
  // Once it is sent there is no way back: so its answer has room set aside before. A request that
  // is stored has its body twice.
  const std::size_t bodies = context.is_stored() ? 2 : 1;
  const std::size_t needed = bodies * context.body.size() + answer_share;
  const bool has_room = co_await make_room(context, needed);
  if (!has_room) co_return overloaded(context);
  std::optional<Response> refused = co_await refuse_new_work(context);
  if (refused) co_return std::move(*refused);
  const bool is_limited = context.policy.new_keys_per_second || context.policy.active_keys;
  std::optional<LimitGrant> place;
  if (is_limited) place.emplace(state_.limits, context.scope, context.policy);
  const Request request = request_of(context);
  StoreResult<Reservation> found = co_await ports_.engine.reserve(request, context.policy);
  if (request.stored) state_.accepted();
  if (place && (!found || !found->begun)) place->how = ScopeLimits::Ended::nothing_new;
  if (!found) co_return store_failed(context, found.error());
  if (kind_of(found->decision) != DecisionKind::execute) {
    co_return render_refused(context, *found);
  }
  state_.breaker.succeeded();
  if (place) place->how = ScopeLimits::Ended::still_open;
  std::shared_ptr<Lease> lease = ports_.engine.hold(std::move(found->record));
  lease->settle = {context.policy.response_bytes_max, context.policy.resource_type,
                   context.policy.resource_id};
  Granted granted;
  granted.lease = std::move(lease);
  granted.place = std::move(place);
  granted.memory = needed;
  granted.since = ports_.clock.now();
  co_return granted;
}

// A burst of lookups takes turns; what holds the memory for longer is a flood.
Task<bool> Boundary::make_room(RequestContext& context, std::size_t bytes) {
  const std::size_t found =
      std::min({context.policy.response_bytes_max, found_bytes_max, state_.memory.bytes() / 16});
  for (Duration pause = room_pause_first;; pause *= 2) {
    if (context.memory.cover(bytes + found, MemoryUse::new_work)) co_return true;
    if (pause > room_pause_max) co_return false;
    co_await ports_.clock.sleep_until(ports_.clock.now() + pause);
  }
}

Task<std::optional<Response>> Boundary::refuse_new_work(RequestContext& context) {
  ScopeLimits& limits = state_.limits;
  ScopeLimits::Start start = limits.start(context.scope, context.policy, ports_.clock.now());
  if (start.verdict == ScopeLimits::Verdict::count_first) {
    const StoreResult<std::size_t> active = co_await ports_.store.count_active(
        context.scope, *context.policy.active_keys + counted_above);
    if (!active) {
      limits.not_counted(context.scope);
      co_return store_failed(context, active.error());
    }
    limits.counted(context.scope, *active, start.mark, ports_.clock.now());
    start = limits.start_counted(context.scope, context.policy, ports_.clock.now());
  }
  context.limit = start.standing;
  switch (start.verdict) {
    case ScopeLimits::Verdict::granted: break;
    case ScopeLimits::Verdict::too_fast: co_return co_await look_up(context, Problem::rate_limited);
    case ScopeLimits::Verdict::count_first:
    case ScopeLimits::Verdict::too_many:
      co_return co_await look_up(context, Problem::too_many_keys);
  }
  co_return std::nullopt;
}

// In place of a reservation for a scope that is over its limit: a replay is served, new work is
// not, and nothing is written. What may be found has its room before it is asked for.
Task<Response> Boundary::look_up(RequestContext& context, std::optional<Problem> instead) {
  const bool has_room = co_await make_room(context, context.body.size());
  if (!has_room) co_return overloaded(context);
  const Request request = question_of(context);
  StoreResult<std::optional<Reservation>> seen =
      co_await ports_.engine.peek(request, context.policy);
  if (!seen) co_return store_failed(context, seen.error());
  if (*seen) co_return render_refused(context, **seen);
  if (!instead) co_return Response{};
  context.trace.trouble = slug_of(*instead);
  const Duration retry_after =
      context.limit ? limit_retry_after(*context.limit) : refused_retry_after;
  ProblemDetails details{*instead, "", {}, retry_after};
  if (*instead == Problem::stale_request) {  // it does not get younger
    details.detail = context.stale;
    details.retry_after.reset();
  }
  Response refused = problem(context, std::move(details));
  tell_limit(context, refused);
  co_return refused;
}

Task<Response> Boundary::execute(RequestContext& context, Granted granted, Execution& execution) {
  Admitted admitted(execution, context.memory, granted.memory);
  Executed executed = co_await ports_.engine.execute(granted.lease, admitted);
  context.memory.absorb(execution.take_memory());
  co_return conclude(context, granted, executed, &execution);
}

Task<Response> Boundary::settle(RequestContext& context, Granted granted, Outcome outcome) {
  StoreResult<Settlement> settlement = co_await ports_.engine.settle(*granted.lease, outcome);
  Executed executed{std::move(outcome), std::move(settlement), granted.lease};
  co_return conclude(context, granted, executed, nullptr);
}

Response Boundary::conclude(RequestContext& context, Granted& granted, Executed& executed,
                            const Execution* execution) {
  if (granted.place) granted.place->how = ended(executed);
  if (std::holds_alternative<Answered>(executed.outcome)) {
    state_.run_times.ran(context.route_name, ports_.clock.now() - granted.since);
  }
  if (!executed.settlement) late_.remember(executed, context.memory);
  Response response = render_executed(context, executed, execution);
  mark_near_duplicate(context, response);
  tell_limit(context, response);
  // On other nodes too requests may wait for it.
  if (granted.flight) state_.notices.say(SettledNotices::name_of(context.scope, context.key));
  return response;
}

}  // namespace pawl
