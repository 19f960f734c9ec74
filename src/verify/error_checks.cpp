// Errors that a program can read.
#include <algorithm>

#include "src/verify/check.hpp"

namespace pawl::verify {
namespace {

Plan errors_plan(const Target& target) {
  const std::string key = key_of(target, "errors");
  return {settle(with_key(target, "first", key)),
          send({with_body(with_key(target, "other", key), target.other_body)})};
}

bool has_error_member(const json::Value& document) {
  const json::Value* const error = document.find("error");
  return error != nullptr && error->kind == json::Kind::object && error->find("message") != nullptr;
}

Verdict readable_judge(const Target& target, const Facts& /*facts*/, const Run& run) {
  const Exchange& other = last_of(run, "other");
  if (!refused(other)) return not_run("another body under the same key got no error");
  const std::string_view type = find_header(other.answer->headers, "Content-Type").value_or("");
  const bool problem = type.starts_with("application/problem+json");
  const Expected<json::Value, json::Error> document = json::read(other.answer->body);
  if (!document) return failed("the error is not JSON: " + brief(other));
  const bool error = has_error_member(*document);
  switch (target.profile) {
    case Profile::ietf:
      if (problem) return passed();
      return failed("the error is '" + std::string(type) + "', not application/problem+json");
    case Profile::stripe:
      if (error) return passed();
      return failed("the error has no member `error` with a `message`: " + brief(other));
    case Profile::automatic:
      if (problem || error) return passed();
      return failed(
          "the error is neither a problem document nor has it a member `error` with a "
          "`message`: " +
          brief(other));
  }
  return passed();
}

Plan cors_plan(const Target& target) {
  Request request = with_key(target, "sent", "");
  request.headers.push_back({"Origin", target.origin});
  return {send({std::move(request)})};
}

Verdict cors_judge(const Target& target, const Facts& /*facts*/, const Run& run) {
  const Exchange& sent = last_of(run, "sent");
  if (!refused(sent)) return not_run("an empty key got no error: " + brief(sent));
  const auto allowed = find_header(sent.answer->headers, "Access-Control-Allow-Origin");
  if (allowed && (*allowed == "*" || *allowed == target.origin)) return passed();
  return failed("a browser at " + target.origin + " cannot read the error: Access-Control-Allow-" +
                "Origin is '" + std::string(allowed.value_or("(absent)")) + "'");
}

}  // namespace

std::vector<Check> error_checks() {
  using enum Severity;
  return {
      {"errors-readable",
       "An error is a problem document, or has a member `error`, as SDKs expect.",
       "RFC 9457; Stripe API, errors",
       minor,
       {Need::other_body},
       errors_plan,
       readable_judge},
      {"errors-cors",
       "A browser can read an error.",
       "Fetch Standard, CORS protocol",
       minor,
       {Need::origin},
       cors_plan,
       cors_judge},
  };
}

}  // namespace pawl::verify
