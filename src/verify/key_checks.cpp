// What a key may be, and where it must be.
#include <algorithm>
#include <array>

#include "src/verify/check.hpp"

namespace pawl::verify {
namespace {

constexpr std::size_t long_key_bytes = 4096;

// Refused, and without effect where that can be told.
Verdict must_be_refused(const Run& run, const std::string& what) {
  const Exchange& sent = last_of(run, "sent");
  const std::int64_t effects = effects_in(run).value_or(0);
  if (effects > 0) {
    return failed(what + " was executed " + std::to_string(effects) + " times and got " +
                  brief(sent));
  }
  if (refused(sent)) return passed();
  return failed(what + " got " + brief(sent) + " instead of a 4xx");
}

Plan missing_plan(const Target& target) {
  return counted(target, {send({without_key(target, "sent")})});
}
Verdict missing_judge(const Target& target, const Facts& /*facts*/, const Run& run) {
  const Verdict verdict = must_be_refused(run, "a request without a key");
  const Exchange& sent = last_of(run, "sent");
  if (verdict.result == Result::passed && target.profile == Profile::ietf &&
      sent.answer->status != 400) {
    return failed("a request without a key got " + brief(sent) + " instead of 400");
  }
  return verdict;
}

Plan raw_key_plan(const Target& target, const std::string& value) {
  Request request = without_key(target, "sent");
  request.headers.push_back({target.key_header, value});
  return counted(target, {send({std::move(request)})});
}

Plan empty_plan(const Target& target) { return raw_key_plan(target, ""); }
Verdict empty_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  return must_be_refused(run, "an empty key");
}

Plan long_plan(const Target& target) {
  std::string key = key_of(target, "long");
  key.resize(long_key_bytes, 'k');
  return raw_key_plan(target, key);
}
Verdict long_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  return must_be_refused(run, "a key of 4096 characters");
}

Plan twice_plan(const Target& target) {
  Request request = with_key(target, "sent", key_of(target, "twice"));
  request.headers.push_back({target.key_header, key_of(target, "twice-other")});
  return counted(target, {send({std::move(request)})});
}
Verdict twice_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  return must_be_refused(run, "a request with two different keys");
}

Plan not_ascii_plan(const Target& target) {
  return raw_key_plan(target, key_of(target, "not-ascii") + "\xc3\xa4\xf0\x9f\x92\xb6");
}
Verdict not_ascii_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  return must_be_refused(run, "a key with bytes that are not ASCII");
}

Plan unbalanced_plan(const Target& target) {
  return raw_key_plan(target, "\"" + key_of(target, "unbalanced"));
}
Verdict unbalanced_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  return must_be_refused(run, "a key with one quotation mark");
}

Plan quoted_plan(const Target& target) {
  const std::string key = key_of(target, "quoted");
  Request quoted = without_key(target, "quoted");
  quoted.headers.push_back({target.key_header, "\"" + key + "\""});
  Request bare = without_key(target, "bare");
  bare.headers.push_back({target.key_header, key});
  return counted(target, {settle(std::move(bare)), settle(std::move(quoted))});
}
Verdict quoted_judge(const Target& /*target*/, const Facts& facts, const Run& run) {
  const Exchange& bare = last_of(run, "bare");
  const Exchange& quoted = last_of(run, "quoted");
  const std::optional<std::int64_t> effects = effects_in(run);
  const bool one_refused = refused(bare) || refused(quoted);
  if (effects && *effects > 1) {
    return failed("the bare and the quoted form of one key were executed " +
                  std::to_string(*effects) + " times");
  }
  if (one_refused) return passed();
  if (!succeeded(bare) || !succeeded(quoted)) {
    return failed("the bare form got " + brief(bare) + ", the quoted one " + brief(quoted));
  }
  if (!same_result(bare, quoted)) {
    return failed("the bare form got " + brief(bare) +
                  ", the quoted one another result: " + brief(quoted));
  }
  if (!effects && !facts.answers_differ) {
    return cannot_tell();
  }
  return passed();
}

// PUT and DELETE ask for something that does not exist.
Plan other_methods_plan(const Target& target) {
  Plan plan;
  for (const char* method : {"GET", "PUT", "DELETE"}) {
    Request request = without_key(target, method);
    request.method = method;
    if (request.method != "GET") {
      const std::size_t query = std::min(request.to.target.find('?'), request.to.target.size());
      request.to.target.insert(query, "/" + key_of(target, "absent"));
    }
    if (request.method != "PUT") {
      request.body.clear();
      std::erase_if(request.headers, [](const Header& header) {
        return same_field_name(header.name, "Content-Type");
      });
    }
    plan.push_back(send({std::move(request)}));
  }
  return plan;
}

bool speaks_of_key(const Exchange& exchange) {
  if (!exchange.answer) return false;
  const int status = exchange.answer->status;
  if (status != 400 && status != 422 && status != 428) return false;
  std::string text = exchange.answer->body;
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text.find("idempoten") != std::string::npos;
}

Verdict other_methods_judge(const Target& /*target*/, const Facts& /*facts*/, const Run& run) {
  for (const Exchange& each : run.exchanges) {
    if (!each.answer) return failed(each.sent.method + " without a key got " + brief(each));
    if (speaks_of_key(each)) return failed(each.sent.method + " is refused: " + brief(each));
  }
  return passed();
}

Plan other_path_plan(const Target& target) {
  const std::string key = key_of(target, "path");
  Request other = with_key(target, "elsewhere", key);
  other.to.target = target.other_path;
  return {settle(with_key(target, "first", key)), send({std::move(other)})};
}
Verdict other_path_judge(const Target& /*target*/, const Facts& facts, const Run& run) {
  const Exchange& first = last_of(run, "first");
  const Exchange& elsewhere = last_of(run, "elsewhere");
  if (!succeeded(first)) return not_run("the first request got " + brief(first));
  if (!same_result(first, elsewhere)) return passed();
  if (!facts.answers_differ) return cannot_tell();
  return failed("the other path got the first path's answer: " + brief(elsewhere));
}

}  // namespace

std::vector<Check> key_checks() {
  using enum Severity;
  constexpr const char* syntax = "draft-ietf-httpapi-idempotency-key-header, 2.1";
  constexpr const char* unique = "draft-ietf-httpapi-idempotency-key-header, 2.2";
  constexpr const char* errors = "draft-ietf-httpapi-idempotency-key-header, 2.7";
  return {
      {"key-missing",
       "A request without a key is refused where one is required.",
       errors,
       major,
       {Need::required_key},
       missing_plan,
       missing_judge},
      {"key-empty", "An empty key is refused.", syntax, major, {}, empty_plan, empty_judge},
      {"key-too-long",
       "A key of 4096 characters is refused, not cut short.",
       syntax,
       major,
       {},
       long_plan,
       long_judge},
      {"key-twice",
       "Two keys in one request are refused.",
       syntax,
       major,
       {},
       twice_plan,
       twice_judge},
      {"key-not-ascii",
       "A key with bytes that are not ASCII is refused.",
       syntax,
       minor,
       {},
       not_ascii_plan,
       not_ascii_judge},
      {"key-unbalanced-quote",
       "A key with one quotation mark is refused.",
       syntax,
       minor,
       {},
       unbalanced_plan,
       unbalanced_judge},
      {"key-quoted-or-bare",
       "A key in quotes and the bare one are one key, or one is refused.",
       syntax,
       critical,
       {},
       quoted_plan,
       quoted_judge},
      {"key-other-methods",
       "GET, PUT and DELETE need no key.",
       "RFC 9110, 9.2.2",
       minor,
       {},
       other_methods_plan,
       other_methods_judge},
      {"key-on-another-path",
       "A key that is sent to another path does not get this one's answer.",
       unique,
       major,
       {Need::other_path},
       other_path_plan,
       other_path_judge},
  };
}

}  // namespace pawl::verify
