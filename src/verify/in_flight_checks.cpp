// Duplicates while the first request is under way.
#include <algorithm>
#include <array>

#include "src/verify/check.hpp"

namespace pawl::verify {
namespace {

constexpr int retry_after_max_s = 3600;

Plan together_plan(const Target& target) {
  const std::string key = key_of(target, "together");
  const Request duplicate = with_key(target, "duplicate", key);
  Step all{Step::Kind::together, {}, {}};
  all.requests.assign(static_cast<std::size_t>(target.concurrency), duplicate);
  return counted(target, {std::move(all), settle(with_key(target, "last", key))});
}

bool is_conflict(const Exchange& exchange) {
  constexpr std::array conflicts{202, 409, 425};
  return exchange.answer &&
         std::ranges::find(conflicts, exchange.answer->status) != conflicts.end();
}

Verdict one_effect_judge(const Target& target, const Facts& facts, const Run& run) {
  const std::string number = std::to_string(target.concurrency);
  if (const std::optional<std::int64_t> effects = effects_in(run)) {
    if (*effects == 1) return passed();
    return failed(number + " requests at once had " + std::to_string(*effects) + " effects");
  }
  if (!facts.answers_differ) {
    return cannot_tell();
  }
  const Exchange& last = last_of(run, "last");
  for (const Exchange* each : all_of(run, "duplicate")) {
    if (!succeeded(*each) || is_conflict(*each) || same_result(*each, last)) continue;
    return failed(number + " requests at once had more than one result: " + brief(*each) + " and " +
                  brief(last));
  }
  return passed();
}

// Whatever a duplicate gets, a client can act on it: the result, or "it is under way".
Verdict consistent_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  const Exchange& last = last_of(run, "last");
  if (!succeeded(last)) return failed("in the end the key got " + brief(last));
  for (const Exchange* each : all_of(run, "duplicate")) {
    if (is_conflict(*each) || asks_to_come_back(*each) || succeeded(*each)) continue;
    return failed("a duplicate got " + brief(*each));
  }
  return passed();
}

// Which of the two the endpoint takes first is left to it: the judgements hold either way.
Plan overlap_plan(const Target& target) {
  const std::string key = key_of(target, "overlap");
  Plan plan;
  Request one = with_key(target, "one", key);
  Request two = with_key(target, "two", key);
  provoke(plan, one, target.slow);
  if (target.slow.header) set_header(two, *target.slow.header);
  plan.push_back({Step::Kind::together, {std::move(one), std::move(two)}, {}});
  plan.push_back(settle(with_key(target, "last", key)));
  return plan;
}

// The one of the two that was told to come back; nullptr: neither was.
const Exchange* told_later(const Run& run) {
  for (const char* label : {"one", "two"}) {
    const Exchange& each = last_of(run, label);
    if (is_conflict(each) || asks_to_come_back(each)) return &each;
  }
  return nullptr;
}

Verdict at_once_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  const Exchange& one = last_of(run, "one");
  const Exchange& two = last_of(run, "two");
  const Exchange* const later = told_later(run);
  if (later == nullptr) {
    if (same_result(one, two)) return passed();  // it waited, and shares the result
    return not_run("neither was told so: " + brief(one) + " and " + brief(two));
  }
  const Exchange& worked = later == &one ? two : one;
  if (later->ended <= worked.ended) return passed();
  return failed("'" + brief(*later) + "' came only after the first request was answered");
}

Verdict retry_after_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  const Exchange* const later = told_later(run);
  if (later == nullptr) return not_run("no duplicate was told to come back: it waits");
  const auto value = find_header(later->answer->headers, "Retry-After");
  if (!value) return failed(brief(*later) + " has no Retry-After");
  const std::optional<Duration> wait = retry_after(later->answer->headers, Instant{});
  const bool is_number = value->find_first_not_of("0123456789") == std::string_view::npos;
  if (!wait) return failed("Retry-After: " + std::string(*value) + " cannot be read");
  if (is_number && *wait > std::chrono::seconds(retry_after_max_s)) {
    return failed("Retry-After: " + std::string(*value) + " is longer than an hour");
  }
  return passed();
}

}  // namespace

std::vector<Check> in_flight_checks() {
  using enum Severity;
  constexpr const char* duplicate = "draft-ietf-httpapi-idempotency-key-header, 2.6";
  return {
      {"concurrent-one-effect",
       "Duplicates that come at the same time have one effect.",
       duplicate,
       critical,
       {},
       together_plan,
       one_effect_judge},
      {"concurrent-consistent",
       "Each of them gets the result, or is told that it is under way.",
       duplicate,
       major,
       {},
       together_plan,
       consistent_judge},
      {"in-flight-at-once",
       "\"Under way\" is answered at once, not when the handler has finished.",
       "draft-ietf-httpapi-idempotency-key-header, 2.7",
       minor,
       {Need::slow},
       overlap_plan,
       at_once_judge},
      {"in-flight-retry-after",
       "\"Under way\" comes with a Retry-After of an hour at most.",
       "RFC 9110, 10.2.3",
       minor,
       {Need::slow},
       overlap_plan,
       retry_after_judge},
  };
}

}  // namespace pawl::verify
