#include "src/boundary/key_api.hpp"

namespace pawl {
namespace {

// Part of every fingerprint: never to be changed, or honest retries would turn into misuse.
constexpr std::string_view fingerprint_method = "RESERVE";

constexpr std::string_view ask_again =
    "Repeat the call as it is, with the same owner: what is done already is not done again.";

constexpr Duration call_limit_retry_after = std::chrono::seconds(1);

Grant grant_of(const RequestContext& context, const KeyCall& call) {
  return {context.scope, context.key, call.owner, call.fence};
}

SettleOptions options_of(const RequestContext& context) {
  return {context.policy.response_bytes_max, context.policy.resource_type,
          context.policy.resource_id};
}

// By reference: `context` and `call` outlive it.
Request request_of(const RequestContext& context, const KeyCall& call) {
  Expected<Fingerprinted, json::Error> made =
      fingerprint(content_of(call), context.policy.fingerprint, context.secrets);
  PAWL_CHECK(made.has_value());  // it was read as JSON, or is none
  Request request;
  request.scope = context.scope;
  request.key = context.key;
  request.fingerprint = std::move(made->fingerprint);
  request.meant_then = [&context, &call](const Fingerprint& stored, const FingerprintRules& rules) {
    return matches(stored, content_of(call), rules, context.secrets);
  };
  request.route = context.route_name;
  request.credentials = context.credentials;
  return request;
}

}  // namespace

RequestContent content_of(const KeyCall& call) {
  return {.method = fingerprint_method,
          .path = {},
          .query = {},
          .content_type = call.meaning_type,
          .body = call.meaning};
}

Task<KeyAnswer> KeyApi::call(RequestContext& context, KeyVerb verb) {
  const Expected<KeyCall, std::string> call = read_key_call(verb, context.body);
  KeyAnswer refused;
  if (!call) {
    context.trace.trouble = slug_of(Problem::body_invalid);
    ProblemDetails invalid{Problem::body_invalid, call.error(), {}, {}};
    refused.response = boundary_.problem(context, std::move(invalid));
    co_return refused;
  }
  if (!state_.breaker.lets_through(ports_.clock.now())) {
    context.trace.trouble = "the store is known to be unavailable";
    ProblemDetails unavailable{Problem::store_unavailable, "", {}, Breaker::retry_after};
    unavailable.detail = ask_again;
    refused.response = boundary_.problem(context, std::move(unavailable));
    co_return refused;
  }
  if (verb == KeyVerb::reserve) co_return co_await reserve(context, *call);
  co_return co_await write(context, verb, *call);
}

Task<KeyAnswer> KeyApi::reserve(RequestContext& context, const KeyCall& call) {
  const Request request = request_of(context, call);
  // The key API has no active_keys: nothing is counted.
  const ScopeLimits::Start start =
      state_.limits.start(context.scope, context.policy, ports_.clock.now());
  if (start.verdict != ScopeLimits::Verdict::granted) {
    co_return co_await look_up(context, call, request);
  }
  LimitGrant place(state_.limits, context.scope, context.policy);
  StoreResult<Reservation> found =
      co_await ports_.engine.reserve_for(call.owner, request, context.policy);
  const bool granted = found && kind_of(found->decision) == DecisionKind::execute;
  if (!granted) place.how = ScopeLimits::Ended::nothing_new;
  if (found) co_return answer(context, std::move(*found));
  KeyAnswer unknown;
  unknown.response = failed(context, found.error());
  co_return unknown;
}

Task<KeyAnswer> KeyApi::look_up(RequestContext& context, const KeyCall& call,
                                const Request& request) {
  StoreResult<std::optional<Reservation>> seen =
      co_await ports_.engine.peek_for(call.owner, request, context.policy);
  if (seen && *seen) co_return answer(context, std::move(**seen));
  KeyAnswer refused;
  refused.response = seen ? limited(context) : failed(context, seen.error());
  co_return refused;
}

Task<KeyAnswer> KeyApi::write(RequestContext& context, KeyVerb verb, const KeyCall& call) {
  KeyAnswer instead;
  StoreResult<GrantWrite> written = co_await apply(context, verb, call);
  if (!written) {
    instead.response = failed(context, written.error());
    co_return instead;
  }
  if (verb == KeyVerb::complete && !written->done) {
    std::optional<Response> not_kept = co_await keep_refused(context, call, *written);
    if (not_kept) {
      instead.response = std::move(*not_kept);
      co_return instead;
    }
  }
  co_return answer(context, call, std::move(*written));
}

Task<StoreResult<GrantWrite>> KeyApi::apply(RequestContext& context, KeyVerb verb,
                                            const KeyCall& call) {
  const Grant grant = grant_of(context, call);
  const SettleOptions options = options_of(context);
  switch (verb) {
    case KeyVerb::complete: {
      const Outcome answered = Answered{call.response, true};
      co_return co_await ports_.engine.settle_for(grant, answered, options);
    }
    case KeyVerb::release: {
      const Outcome nothing = NotSent{call.reason};
      co_return co_await ports_.engine.settle_for(grant, nothing, options);
    }
    case KeyVerb::advance: {
      const Step step{call.after, call.recovery_point};
      co_return co_await ports_.engine.advance_for(grant, step);
    }
    case KeyVerb::renew: co_return co_await ports_.engine.renew_for(grant);
    case KeyVerb::reserve: break;
  }
  PAWL_CHECK(false);
}

Task<std::optional<Response>> KeyApi::keep_refused(RequestContext& context, const KeyCall& call,
                                                   const GrantWrite& refused) {
  const Grant grant = grant_of(context, call);
  if (!is_evidence(grant, refused.current)) co_return std::nullopt;
  if (!state_.limits.may_leave_evidence(context.scope, ports_.clock.now())) {
    co_return limited(context,
                      "Too many answers under fences that are not, or no longer, granted.");
  }
  const Outcome answered = Answered{call.response, true};
  const SettleOptions options = options_of(context);
  const StoreResult<Done> kept =
      co_await ports_.engine.keep_refused(grant, refused.current, answered, options);
  if (!kept) co_return failed(context, kept.error());
  co_return std::nullopt;
}

Response KeyApi::failed(RequestContext& context, StoreError error) {
  return boundary_.store_failed(context, error, std::string(ask_again));
}

Response KeyApi::limited(RequestContext& context, std::string_view detail) {
  context.trace.trouble = slug_of(Problem::rate_limited);
  ProblemDetails limited{Problem::rate_limited, std::string(detail), {}, call_limit_retry_after};
  return boundary_.problem(context, std::move(limited));
}

}  // namespace pawl
