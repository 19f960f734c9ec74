// A retry gets what the first request got.
#include <algorithm>

#include "src/verify/check.hpp"

namespace pawl::verify {
namespace {

constexpr std::size_t large_bytes_min = 16'384;
// End-to-end fields that say what the answer is; others may change from hop to hop.
constexpr std::array compared_headers{
    "Content-Type", "Content-Language", "Content-Encoding", "Location", "Link", "ETag"};

Plan twice(const Target& target, const std::string& use, const std::string& body) {
  const std::string key = key_of(target, use);
  return {settle(with_body(with_key(target, "first", key), body)),
          settle(with_body(with_key(target, "again", key), body))};
}
Plan replay_plan(const Target& target) { return twice(target, "replay", target.body); }
Plan large_plan(const Target& target) { return twice(target, "large", target.large_body); }
Plan invalid_plan(const Target& target) { return twice(target, "invalid", target.invalid_body); }

Verdict no_success(const Exchange& first) {
  return not_run("the first request was not answered with success: " + brief(first));
}

Verdict status_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  const Exchange& first = last_of(run, "first");
  const Exchange& again = last_of(run, "again");
  if (!succeeded(first)) return no_success(first);
  if (again.answer && again.answer->status == first.answer->status) return passed();
  return failed("the first answer was " + brief(first) + ", the replay " + brief(again));
}

Verdict body_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  const Exchange& first = last_of(run, "first");
  const Exchange& again = last_of(run, "again");
  if (!succeeded(first)) return no_success(first);
  if (!again.answer) return failed("the retry got " + brief(again));
  if (again.answer->body == first.answer->body) return passed();
  return failed("the replayed body is not the first one, byte for byte: " + brief(first) +
                " became " + brief(again));
}

Verdict headers_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  const Exchange& first = last_of(run, "first");
  const Exchange& again = last_of(run, "again");
  if (!succeeded(first)) return no_success(first);
  if (!again.answer) return failed("the retry got " + brief(again));
  for (const char* name : compared_headers) {
    const auto had = find_header(first.answer->headers, name);
    const auto has_now = find_header(again.answer->headers, name);
    if (had == has_now) continue;
    return failed(std::string(name) + " was '" + std::string(had.value_or("(absent)")) +
                  "' and is '" + std::string(has_now.value_or("(absent)")) + "' in the replay");
  }
  return passed();
}

bool names_all(std::string name, std::initializer_list<const char*> parts) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::all_of(
      parts, [&](const char* part) { return name.find(part) != std::string::npos; });
}

// Idempotent-Replayed is Stripe's and ours; others spell it otherwise.
bool is_marked(const Exchange& exchange) {
  return exchange.answer && std::ranges::any_of(exchange.answer->headers, [](const Header& header) {
           return names_all(header.name, {"idempoten", "replay"}) && header.value != "false";
         });
}

Verdict marked_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  const Exchange& first = last_of(run, "first");
  if (!succeeded(first)) return no_success(first);
  if (is_marked(first)) return failed("the first answer already says that it is a replay");
  if (is_marked(last_of(run, "again"))) return passed();
  return failed("no header such as Idempotent-Replayed tells the retry from the first request");
}

Verdict expiry_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  const Exchange& first = last_of(run, "first");
  if (!succeeded(first)) return no_success(first);
  const bool told = std::ranges::any_of(first.answer->headers, [](const Header& header) {
    return names_all(header.name, {"idempoten", "expir"});
  });
  if (told) return passed();
  return failed("no header such as Idempotency-Expires says how long the key is good for");
}

Verdict large_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  const Exchange& first = last_of(run, "first");
  const Exchange& again = last_of(run, "again");
  if (!succeeded(first)) return no_success(first);
  if (first.answer->body.size() < large_bytes_min) {
    return not_run("--large-body got " + std::to_string(first.answer->body.size()) +
                   " bytes; give one that is answered with " + std::to_string(large_bytes_min));
  }
  if (same_result(first, again)) return passed();
  return failed("an answer of " + std::to_string(first.answer->body.size()) +
                " bytes was not replayed: " + brief(again));
}

Verdict validation_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  const Exchange& first = last_of(run, "first");
  const Exchange& again = last_of(run, "again");
  if (!refused(first)) return not_run("--invalid-body was not refused: " + brief(first));
  if (again.answer && again.answer->status == first.answer->status) return passed();
  return failed("a request that was refused with " + brief(first) + " got " + brief(again) +
                " when it was retried");
}

Plan rate_limit_plan(const Target& target) {
  const std::string key = key_of(target, "limited");
  Plan plan{settle(with_key(target, "first", key))};
  Step flood{Step::Kind::together, {}, {}};
  for (int i = 0; i < target.rate_limit; ++i) {
    const std::string use = "limited-" + std::to_string(i);
    flood.requests.push_back(with_key(target, "flood", key_of(target, use)));
  }
  plan.push_back(std::move(flood));
  plan.push_back(send({with_key(target, "again", key)}));
  return plan;
}

Verdict rate_limit_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  const Exchange& first = last_of(run, "first");
  if (!succeeded(first)) return no_success(first);
  const bool limited = std::ranges::any_of(all_of(run, "flood"), [](const Exchange* each) {
    return each->answer && each->answer->status == 429;
  });
  if (!limited) return not_run("no request was answered with 429; give a higher --rate-limit");
  const Exchange& again = last_of(run, "again");
  if (same_result(first, again)) return passed();
  return failed("under the rate limit the retry got " + brief(again));
}

}  // namespace

std::vector<Check> replay_checks() {
  using enum Severity;
  constexpr const char* duplicate = "draft-ietf-httpapi-idempotency-key-header, 2.6";
  constexpr const char* stripe = "Stripe API, idempotent requests";
  return {
      {"replay-status",
       "A retry gets the status of the first answer.",
       duplicate,
       major,
       {},
       replay_plan,
       status_judge},
      {"replay-body",
       "A retry gets the first answer's body, byte for byte.",
       duplicate,
       major,
       {},
       replay_plan,
       body_judge},
      {"replay-headers",
       "A retry gets the headers that describe the first answer.",
       duplicate,
       major,
       {},
       replay_plan,
       headers_judge},
      {"replay-marked",
       "A replay can be told from a first answer by a header.",
       stripe,
       minor,
       {},
       replay_plan,
       marked_judge},
      {"expiry-told",
       "An answer says until when its key is kept.",
       "draft-ietf-httpapi-idempotency-key-header, 2.3",
       minor,
       {},
       replay_plan,
       expiry_judge},
      {"replay-large",
       "A large answer is replayed like a small one.",
       duplicate,
       major,
       {Need::large_body},
       large_plan,
       large_judge},
      {"replay-validation-error",
       "A request that was refused as invalid is refused again.",
       stripe,
       minor,
       {Need::invalid_body},
       invalid_plan,
       validation_judge},
      {"replay-under-rate-limit",
       "A retry is answered although new requests are limited.",
       "RFC 6585, 4",
       minor,
       {Need::rate_limit},
       rate_limit_plan,
       rate_limit_judge},
  };
}

}  // namespace pawl::verify
