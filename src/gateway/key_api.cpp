// The key API's calls on the wire: path, caller, media type and body. What they mean is
// src/boundary/key_api.
#include <algorithm>

#include "src/adapters/http/head.hpp"
#include "src/adapters/http/syntax.hpp"
#include "src/config/scope_rule.hpp"
#include "src/core/body_coding.hpp"
#include "src/core/documents.hpp"
#include "src/core/scope.hpp"
#include "src/gateway/client_context.hpp"
#include "src/gateway/key_path.hpp"

namespace pawl::gateway {
namespace {

static_assert(http::HeadLimits{}.field_count_max == handed_fields_max &&
                  http::HeadLimits{}.head_bytes_max == handed_field_bytes_max,
              "an answer that is handed in may have what one from the wire may have");

// As the log has it: never with the key.
std::string_view path_of(KeyVerb verb) {
  switch (verb) {
    case KeyVerb::reserve: return "/_pawl/v1/keys/*/reserve";
    case KeyVerb::advance: return "/_pawl/v1/keys/*/advance";
    case KeyVerb::complete: return "/_pawl/v1/keys/*/complete";
    case KeyVerb::release: return "/_pawl/v1/keys/*/release";
    case KeyVerb::renew: return "/_pawl/v1/keys/*/renew";
  }
  return keys_path;
}

// The rules for keys are those of the header, whose quoted form can say any key.
Expected<Key, KeyRefusal> checked_key(std::string_view key, KeyRules rules) {
  std::string quoted = "\"";
  for (const char c : key) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  quoted += '"';
  rules.syntax = KeySyntax::ietf;
  const std::array<std::string_view, 1> lines{quoted};
  return parse_key(lines, rules);
}

}  // namespace

// Off for everybody, or not for this caller.
std::optional<Response> Gateway::refuse_caller(ClientContext& context, const std::string& caller) {
  const std::vector<std::string>& listed = context.served->config.key_api.callers;
  if (listed.empty()) {
    return boundary_.plain_problem(
        context, {404, "Not Found", "The key API is off: no caller is listed for it."});
  }
  if (std::ranges::find(listed, caller) != listed.end()) return std::nullopt;
  return boundary_.plain_problem(context,
                                 {403, "Forbidden", "This caller is not listed for the key API."});
}

// Everything that can be said before the body is there.
std::optional<ProblemDetails> Gateway::identify_call(ClientContext& context,
                                                     const std::string& caller,
                                                     std::string_view escaped_key) {
  context.scope = key_api_scope(caller);
  const KeyRules& rules = context.policy.key_rules;
  Expected<Key, KeyRefusal> key = checked_key(unescaped(escaped_key), rules);
  if (!key) return ProblemDetails{Problem::key_invalid, explain(key.error(), rules), {}, {}};
  context.key = std::move(*key);
  context.line.key = log_name(context.scope, context.key);
  note_credentials(context);
  const http::Fields& fields = context.request.head.fields;
  // Also what keeps a page in a browser from calling: it may not send this type without a
  // preflight.
  if (!is_json(http::find(fields, "Content-Type").value_or(""))) {
    return ProblemDetails{
        Problem::body_invalid, "Send JSON, with Content-Type: application/json.", 415, {}};
  }
  return check_coding(http::find(fields, "Content-Encoding").value_or(""),
                      http::find(fields, "Content-Type").value_or(""));
}

Task<void> Gateway::answer_key_call(ClientContext& context) {
  const KeyCallPath path = *key_call_in(context.request.head.method, context.request.head.path);
  const std::optional<KeyVerb> verb = from_text<KeyVerb>(path.verb);
  context.line.path = verb ? path_of(*verb) : keys_path;
  const bool offered = !context.served->config.key_api.callers.empty();
  std::optional<callers::Identified> caller = known_caller(context);
  if (!caller && offered) caller = co_await ask_for_caller(context);
  std::optional<Response> refusal;
  if (!offered) {
    refusal = refuse_caller(context, {});
  } else if (!*caller) {
    refusal = boundary_.problem(context, caller->error());
  } else if (!verb) {
    refusal = boundary_.plain_problem(
        context,
        {404, "Not Found", "Below a key there are reserve, advance, complete, release and renew."});
  } else {
    refusal = refuse_caller(context, (*caller)->name);
  }
  if (refusal) {
    name_answer(context, *refusal);
    context.line.status = refusal->status;
    co_await context.request.answer(*refusal);
    co_return;
  }
  std::optional<ProblemDetails> trouble = identify_call(context, (*caller)->name, path.key);
  if (!co_await read_body(context, std::move(trouble))) co_return;
  KeyAnswer answer = co_await key_api_.call(context, *verb);
  name_answer(context, answer.response);
  co_await deliver(context, std::move(answer.response));
}

}  // namespace pawl::gateway
