// One caller's keys are not another's.
#include <algorithm>

#include "src/verify/check.hpp"

namespace pawl::verify {
namespace {

constexpr std::size_t telling_bytes_min = 8;

Plan callers_plan(const Target& target) {
  const std::string key = key_of(target, "callers");
  Plan plan{settle(with_key(target, "first", key)),
            settle(from_second_caller(target, with_key(target, "second", key)))};
  if (!target.other_body.empty()) {
    const Request other = with_body(with_key(target, "second-other", key), target.other_body);
    plan.push_back(send({from_second_caller(target, other)}));
  }
  return counted(target, std::move(plan));
}

Verdict apart_judge(const Target& /*target*/, const Facts& facts, const Run& run) {
  const Exchange& first = last_of(run, "first");
  const Exchange& second = last_of(run, "second");
  if (!succeeded(first)) return not_run("the first caller got " + brief(first));
  if (second.answer && second.answer->status == 401) {
    return not_run("the second caller is not let in: " + brief(second));
  }
  if (!same_result(first, second)) return passed();
  const std::optional<std::int64_t> effects = effects_in(run);
  if (effects && *effects >= 2) return passed();  // answers are alike, and both happened
  if (!effects && !facts.answers_differ) {
    return cannot_tell();
  }
  return failed("the second caller got the first one's answer: " + brief(second));
}

// Strings of the first caller's answer which the second could not know: they are not in what it
// has sent itself.
void collect(const json::Value& value, const std::string& known, std::vector<std::string>& into) {
  const bool telling = value.kind == json::Kind::string && value.text.size() >= telling_bytes_min &&
                       known.find(value.text) == std::string::npos;
  if (telling) into.push_back(value.text);
  for (const json::Value& item : value.items) collect(item, known, into);
  for (const json::Member& member : value.members) collect(member.value, known, into);
}

std::string sent_text(const Request& request) {
  std::string text = request.to.target + "\n" + request.body;
  for (const Header& header : request.headers) text += "\n" + header.value;
  return text;
}

std::string received_text(const Exchange& exchange) {
  std::string text = exchange.answer->body;
  for (const Header& header : exchange.answer->headers) text += "\n" + header.value;
  return text;
}

Verdict leak_judge(const Target& /*target*/, const Facts& facts, const Run& run) {
  const Exchange& first = last_of(run, "first");
  if (!succeeded(first)) return not_run("the first caller got " + brief(first));
  const Expected<json::Value, json::Error> document = json::read(first.answer->body);
  if (!document || !facts.answers_differ) {
    return not_run("the answer holds nothing by which it could be recognised");
  }
  for (const Exchange& each : run.exchanges) {
    if (!each.sent.label.starts_with("second") || !refused(each)) continue;
    std::vector<std::string> telling;
    collect(*document, sent_text(each.sent), telling);
    const std::string received = received_text(each);
    for (const std::string& text : telling) {
      if (received.find(text) == std::string::npos) continue;
      return failed("the error that the second caller got holds '" + text +
                    "' of the first caller's answer: " + brief(each));
    }
  }
  return passed();
}

}  // namespace

std::vector<Check> caller_checks() {
  using enum Severity;
  constexpr const char* security = "draft-ietf-httpapi-idempotency-key-header, 5";
  return {
      {"callers-apart",
       "Two callers that use the same key never share an answer.",
       security,
       critical,
       {Need::second_caller},
       callers_plan,
       apart_judge},
      {"callers-no-leak",
       "An error tells a caller nothing about another one's request.",
       security,
       critical,
       {Need::second_caller},
       callers_plan,
       leak_judge},
  };
}

}  // namespace pawl::verify
