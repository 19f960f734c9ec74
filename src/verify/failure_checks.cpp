// What goes wrong on the way: hang-ups, errors, kills.
#include <algorithm>

#include "src/verify/check.hpp"

namespace pawl::verify {
namespace {

// Once, or not at all where the client is told so. `what`: "hanging up ..., and retrying".
Verdict at_most_once(const Run& run, const Exchange& last, const std::string& what) {
  const std::int64_t effects = effects_in(run).value_or(0);
  if (effects > 1) {
    return failed(what + " had " + std::to_string(effects) + " effects; the last answer was " +
                  brief(last));
  }
  if (succeeded(last) && !asks_to_come_back(last) && effects == 0) {
    return failed(what + " got " + brief(last) + " but had no effect");
  }
  return passed();
}

// The same, and the client gets the result.
Verdict exactly_once(const Run& run, const std::string& what) {
  const Exchange& last = last_of(run, "last");
  const Verdict verdict = at_most_once(run, last, what);
  if (verdict.result != Result::passed || succeeded(last)) return verdict;
  return failed(what + " was answered " + brief(last));
}

Plan hang_up_plan(const Target& target, Step::Kind kind, const std::string& use) {
  const std::string key = key_of(target, use);
  Plan plan;
  Request request = with_key(target, "cut", key);
  if (kind == Step::Kind::hang_up) provoke(plan, request, target.slow);
  plan.push_back({kind, {std::move(request)}, {}});
  plan.push_back(settle(with_key(target, "last", key)));
  return counted(target, std::move(plan));
}

Plan in_body_plan(const Target& target) {
  return hang_up_plan(target, Step::Kind::cut_in_body, "in-body");
}
Verdict in_body_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  return exactly_once(run, "half a request, and the whole one afterwards,");
}

Plan waiting_plan(const Target& target) {
  return hang_up_plan(target, Step::Kind::hang_up, "waiting");
}
Verdict waiting_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  return at_most_once(run, last_of(run, "last"), "hanging up and retrying");
}

// The retry comes without what made the first one fail.
Plan provoked_plan(const Target& target, const std::string& use, const Provocation& provocation) {
  const std::string key = key_of(target, use);
  Plan plan;
  Request request = with_key(target, "first", key);
  provoke(plan, request, provocation);
  plan.push_back(send({std::move(request)}));
  plan.push_back(settle(with_key(target, "last", key)));
  return counted(target, std::move(plan));
}

Plan fail_plan(const Target& target) { return provoked_plan(target, "fail", target.fail); }
Verdict fail_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  const Exchange& first = last_of(run, "first");
  const bool errored = !first.answer || first.answer->status >= 500;
  if (!errored) return not_run("what --fail provokes was no 5xx: " + brief(first));
  return at_most_once(run, last_of(run, "last"), "a " + brief(first).substr(0, 3) + " and a retry");
}

Plan refuse_plan(const Target& target) { return provoked_plan(target, "refuse", target.refuse); }
Verdict refuse_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  const Exchange& first = last_of(run, "first");
  if (!asks_to_come_back(first)) {
    return not_run("what --refuse provokes was no 503 with Retry-After: " + brief(first));
  }
  const Exchange& last = last_of(run, "last");
  const std::int64_t effects = effects_in(run).value_or(1);
  if (succeeded(last) && effects == 1) return passed();
  return failed("after a refusal the retry got " + brief(last) + " and there were " +
                std::to_string(effects) + " effects");
}

Plan killed_after_plan(const Target& target) {
  const std::string key = key_of(target, "killed-after");
  return counted(target, {settle(with_key(target, "first", key)),
                          {Step::Kind::kill, {}, {}},
                          settle(with_key(target, "last", key))});
}
Verdict killed_after_judge(const Target& /*target*/, const Facts& facts, const Run& run) {
  const Exchange& first = last_of(run, "first");
  const Exchange& last = last_of(run, "last");
  if (!succeeded(first)) return not_run("the first request got " + brief(first));
  if (!same_result(first, last)) {
    return failed("it answered " + brief(first) + ", was killed, and now says " + brief(last));
  }
  const std::optional<std::int64_t> effects = effects_in(run);
  if (effects && *effects != 1) {
    return failed("a retry after the kill was executed: " + std::to_string(*effects) + " effects");
  }
  if (!effects && !facts.answers_differ) {
    return cannot_tell();
  }
  return passed();
}

Plan killed_in_plan(const Target& target, Step::Kind kind, const std::string& use) {
  const std::string key = key_of(target, use);
  Plan plan;
  Request request = with_key(target, "killed", key);
  provoke(plan, request, target.slow);
  plan.push_back({kind, {std::move(request)}, {}});
  plan.push_back(settle(with_key(target, "last", key)));
  return counted(target, std::move(plan));
}
Plan killed_before_plan(const Target& target) {
  return killed_in_plan(target, Step::Kind::kill_after_send, "killed-before");
}
Plan killed_within_plan(const Target& target) {
  return killed_in_plan(target, Step::Kind::kill_at_effect, "killed-within");
}
Verdict killed_in_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  return at_most_once(run, last_of(run, "last"), "a kill and a retry");
}

}  // namespace

std::vector<Check> failure_checks() {
  using enum Severity;
  constexpr const char* once = "draft-ietf-httpapi-idempotency-key-header, 1";
  constexpr const char* unknown = "RFC 9110, 9.2.2";
  constexpr const char* stripe = "Stripe API, idempotent requests";
  return {
      {"hang-up-in-body",
       "Half a request does nothing, and the whole one is executed once.",
       once,
       critical,
       {Need::counter},
       in_body_plan,
       in_body_judge},
      {"hang-up-waiting",
       "A client that hangs up and retries causes one effect.",
       once,
       critical,
       {Need::counter},
       waiting_plan,
       waiting_judge},
      {"error-after-effect",
       "A 5xx after the effect and a retry: one effect.",
       stripe,
       critical,
       {Need::fail, Need::counter},
       fail_plan,
       fail_judge},
      {"refusal-not-final",
       "After a 503 with Retry-After the retry is executed.",
       "RFC 9110, 15.6.4",
       major,
       {Need::refuse},
       refuse_plan,
       refuse_judge},
      {"killed-after-answer",
       "An answer that was given is still known after kill -9.",
       unknown,
       critical,
       {Need::kill},
       killed_after_plan,
       killed_after_judge},
      {"killed-at-start",
       "Killed when the request has come, then retried: one effect at most.",
       unknown,
       critical,
       {Need::kill, Need::counter},
       killed_before_plan,
       killed_in_judge},
      {"killed-at-effect",
       "Killed between effect and answer, then retried: one effect, or an honest \"unknown\".",
       unknown,
       critical,
       {Need::kill, Need::counter},
       killed_within_plan,
       killed_in_judge},
  };
}

}  // namespace pawl::verify
