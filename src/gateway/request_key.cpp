#include "src/gateway/request_key.hpp"

#include <algorithm>
#include <array>

#include "pawl/types/fingerprint.hpp"
#include "pawl/types/json.hpp"
#include "src/adapters/http/syntax.hpp"

namespace pawl::gateway {
namespace {

// What a field's value says, in whatever form: `k` and `"k"` are one key.
std::string key_said(std::string_view value, KeyRules rules) {
  rules.syntax = KeySyntax::either;
  const std::array<std::string_view, 1> lines{value};
  Expected<Key, KeyRefusal> key = parse_key(lines, rules);
  return key ? std::move(key->text) : std::string(value);
}

}  // namespace

ProblemDetails two_keys() {
  return {Problem::key_invalid, "The request names two different keys. Send one.", {}, {}};
}

ProblemDetails key_missing(const config::RoutePolicy& policy) {
  ProblemDetails missing{Problem::key_missing, "", {}, {}};
  if (policy.key_from == config::RoutePolicy{}.key_from) return missing;
  missing.detail = "This operation needs a key, in one of these places: ";
  for (const std::string& place : policy.key_from) {
    if (&place != &policy.key_from.front()) missing.detail += ", ";
    const std::optional<std::string_view> header = config::header_in(place);
    missing.detail.append(header ? "the header " : "the body's ").append(header.value_or(place));
  }
  missing.detail += ". Send a random one, such as a UUID, and repeat it on every retry.";
  return missing;
}

bool is_key_header(std::string_view name, const config::RoutePolicy& policy) {
  return std::ranges::any_of(policy.key_from, [&](const std::string& place) {
    const std::optional<std::string_view> header = config::header_in(place);
    return header && http::same_word(*header, name);
  });
}

bool has_key_header(const http::RequestHead& head, const config::RoutePolicy& policy) {
  return std::ranges::any_of(
      head.fields, [&](const http::Field& field) { return is_key_header(field.name, policy); });
}

Expected<std::optional<std::string_view>, ProblemDetails> key_in_head(
    const http::RequestHead& head, const config::RoutePolicy& policy) {
  std::optional<std::string_view> first;
  for (const std::string& place : policy.key_from) {
    const std::optional<std::string_view> name = config::header_in(place);
    if (!name) continue;
    if (http::is_doubtful(head, *name)) {
      std::string detail(*name);
      detail += " is there more than once, or may be read in two ways.";
      return Unexpected{ProblemDetails{Problem::key_invalid, std::move(detail), {}, {}}};
    }
    const std::optional<std::string_view> found = http::find(head.fields, *name);
    if (!found) continue;
    const bool differs =
        first && key_said(*first, policy.key_rules) != key_said(*found, policy.key_rules);
    if (differs) return Unexpected{two_keys()};
    if (!first) first = found;
  }
  return first;
}

Expected<std::optional<std::string>, ProblemDetails> key_in_body(
    std::string_view content_type, std::string_view body, const config::RoutePolicy& policy) {
  std::optional<std::string> first;
  if (!is_json(content_type)) return first;
  const Expected<json::Value, json::Error> document = json::read(body);
  if (!document) return first;
  for (const std::string& place : policy.key_from) {
    if (config::header_in(place)) continue;
    const Expected<json::Pointer, json::Error> pointer = json::parse_pointer(place);
    const json::Value* const found = pointer ? json::resolve(*document, *pointer) : nullptr;
    if (found == nullptr) continue;
    if (found->kind != json::Kind::string) {
      return Unexpected{
          ProblemDetails{Problem::key_invalid, "The key at " + place + " must be a text.", {}, {}}};
    }
    if (first && *first != found->text) return Unexpected{two_keys()};
    first = found->text;
  }
  return first;
}

}  // namespace pawl::gateway
