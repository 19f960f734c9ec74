// What counts as the same request.
#include <algorithm>
#include <array>

#include "src/verify/check.hpp"
#include "src/verify/spelling.hpp"

namespace pawl::verify {
namespace {

constexpr std::size_t padding_bytes = 8192;

json::Value body_of(const Target& target) { return *json::read(target.body); }

// A replay before and one after, so that only what the misuse changed is seen.
Plan other_plan(const Target& target) {
  const std::string key = key_of(target, "other-body");
  return counted(target,
                 {settle(with_key(target, "first", key)), settle(with_key(target, "before", key)),
                  send({with_body(with_key(target, "other", key), target.other_body)}),
                  settle(with_key(target, "after", key))});
}

bool is_reuse_status(const Target& target, int status) {
  switch (target.profile) {
    case Profile::ietf: return status == 422;
    case Profile::stripe: return status == 400;
    case Profile::automatic: break;
  }
  // Any refusal will do, but not one that has other reasons.
  constexpr std::array others{401, 403, 404, 408, 429};
  return status / 100 == 4 && std::ranges::find(others, status) == others.end();
}

// The second of two requests that mean different things.
Verdict must_be_told_apart(const Target& target, const Exchange& first, const Exchange& other) {
  if (!first.answer) return not_run("the first request got " + brief(first));
  // An endpoint that refuses both for what is in them says nothing about keys.
  const bool both_refused = refused(first) && refused(other) &&
                            other.answer->status == first.answer->status &&
                            other.answer->body == first.answer->body;
  if (both_refused) return not_run("both bodies were refused: " + brief(first));
  if (other.answer && is_reuse_status(target, other.answer->status)) return passed();
  if (refused(first)) return not_run("the first body was refused: " + brief(first));
  const char* const what = same_result(first, other) ? "the first request's answer" : "this";
  return failed(std::string("a different request under the same key got ") + what + ": " +
                brief(other));
}

Verdict other_judge(const Target& target, const Facts& /*facts*/, const Run& run) {
  return must_be_told_apart(target, last_of(run, "first"), last_of(run, "other"));
}

Verdict unharmed_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  const Exchange& before = last_of(run, "before");
  const Exchange& after = last_of(run, "after");
  if (!before.answer) return not_run("the retry before it got " + brief(before));
  const bool same = after.answer && after.answer->status == before.answer->status &&
                    after.answer->body == before.answer->body;
  if (same) return passed();
  return failed("before the other body a retry got " + brief(before) + ", afterwards " +
                brief(after));
}

Plan pair_plan(const Target& target, const std::string& use, const std::string& member,
               const std::array<std::string, 2>& values) {
  const std::string key = key_of(target, use);
  const json::Value body = body_of(target);
  return {settle(with_body(with_key(target, "first", key), with_member(body, member, values[0]))),
          send({with_body(with_key(target, "other", key), with_member(body, member, values[1]))})};
}

Plan at_end_plan(const Target& target) {
  const std::string padding(padding_bytes, 'p');
  return pair_plan(target, "at-end", "pawl_verify_padding",
                   {json::quote(padding + "1"), json::quote(padding + "2")});
}

Plan exact_plan(const Target& target) {
  return pair_plan(target, "exact", "pawl_verify_number", {"9007199254740992", "9007199254740993"});
}

Plan same_plan(const Target& target, const std::string& use, const std::string& spelled) {
  const std::string key = key_of(target, use);
  return counted(target, {settle(with_key(target, "first", key)),
                          settle(with_body(with_key(target, "spelled", key), spelled))});
}

Plan order_plan(const Target& target) {
  return same_plan(target, "order", reordered(body_of(target)));
}
Plan escapes_plan(const Target& target) {
  return same_plan(target, "escapes", escaped(body_of(target)));
}
Plan numbers_plan(const Target& target) {
  return same_plan(target, "numbers", with_other_numbers(body_of(target)).value_or(target.body));
}

Verdict same_judge(const Target& /*target*/, const Facts& facts, const Run& run) {
  const Exchange& first = last_of(run, "first");
  const Exchange& spelled = last_of(run, "spelled");
  if (!succeeded(first)) return not_run("the first request got " + brief(first));
  if (!same_result(first, spelled)) {
    return failed("the same request in another spelling got " + brief(spelled));
  }
  const std::optional<std::int64_t> effects = effects_in(run);
  if (effects && *effects != 1) {
    return failed("it was executed " + std::to_string(*effects) + " times");
  }
  if (!effects && !facts.answers_differ) {
    return cannot_tell();
  }
  return passed();
}

Verdict numbers_judge(const Target& target, const Facts& facts, const Run& run) {
  if (!with_other_numbers(body_of(target))) return not_run("the body has no number in it");
  return same_judge(target, facts, run);
}

Request multipart(const Target& target, const std::string& label, const std::string& boundary) {
  Request request = with_key(target, label, key_of(target, "multipart"));
  set_header(request, {"Content-Type", "multipart/form-data; boundary=" + boundary});
  request.body.clear();
  for (const auto& [name, value] : target.form) {
    request.body += "--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + name +
                    "\"\r\n\r\n" + value + "\r\n";
  }
  request.body += "--" + boundary + "--\r\n";
  return request;
}

Plan multipart_plan(const Target& target) {
  return counted(target, {settle(multipart(target, "first", "pawl-verify-one")),
                          settle(multipart(target, "spelled", "pawl-verify-two"))});
}

}  // namespace

std::vector<Check> body_checks() {
  using enum Severity;
  constexpr const char* errors = "draft-ietf-httpapi-idempotency-key-header, 2.7";
  constexpr const char* fingerprint = "draft-ietf-httpapi-idempotency-key-header, 2.4";
  constexpr const char* jcs = "RFC 8785";
  return {
      {"body-other-refused",
       "A key that is used again with another body is refused.",
       errors,
       critical,
       {Need::other_body},
       other_plan,
       other_judge},
      {"body-other-unharmed",
       "Refusing another body leaves the stored answer as it was.",
       errors,
       major,
       {Need::other_body},
       other_plan,
       unharmed_judge},
      {"body-difference-at-end",
       "Bodies that differ after 8 KiB are different requests.",
       fingerprint,
       critical,
       {Need::json_body},
       at_end_plan,
       other_judge},
      {"body-exact-numbers",
       "Numbers that differ beyond a double's precision are different.",
       "RFC 8259, 6",
       major,
       {Need::json_body},
       exact_plan,
       other_judge},
      {"body-json-order",
       "JSON in another order and spacing is the same request.",
       jcs,
       minor,
       {Need::json_body},
       order_plan,
       same_judge},
      {"body-json-escapes",
       "JSON with other escapes is the same request.",
       jcs,
       minor,
       {Need::json_body},
       escapes_plan,
       same_judge},
      {"body-json-numbers",
       "1200 and 1200e0 are the same request.",
       jcs,
       minor,
       {Need::json_body},
       numbers_plan,
       numbers_judge},
      {"body-multipart-boundary",
       "The same form with another boundary is the same request.",
       "RFC 7578, 4.1",
       minor,
       {Need::form},
       multipart_plan,
       same_judge},
  };
}

}  // namespace pawl::verify
