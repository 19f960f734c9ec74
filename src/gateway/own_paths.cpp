// What the gateway itself answers on the public listener: everything below /_pawl/.
#include <algorithm>

#include "src/config/scope_rule.hpp"
#include "src/core/recovery_point.hpp"
#include "src/core/scope.hpp"
#include "src/gateway/client_context.hpp"
#include "src/gateway/documents.hpp"
#include "src/gateway/key_path.hpp"
#include "src/operator/key_document.hpp"

namespace pawl::gateway {
namespace {

// Stores are asked only for what they can hold: some fail on text that is not UTF-8.
bool could_be_key(const Key& key) {
  return !key.text.empty() && key.text.size() <= key_bytes_max &&
         std::ranges::all_of(key.text, [](char c) { return c >= 0x20 && c <= 0x7E; });
}

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t equals = pair.find('=');
    if (pair.substr(0, equals) != name || equals == std::string_view::npos) continue;
    std::string value(pair.substr(equals + 1));
    for (char& c : value) {
      if (c == '+') c = ' ';
    }
    return unescaped(value);
  }
  return std::nullopt;
}

}  // namespace

Task<void> Gateway::answer_own(ClientContext& context) {
  http::ClientRequest& request = context.request;
  const std::string_view path = request.head.path;
  context.line.route = "pawl";
  Response response;
  if (request.head.method != "GET" && request.head.method != "HEAD") {
    response = boundary_.plain_problem(context, {405, "Method Not Allowed"});
    response.headers.push_back({"Allow", "GET, HEAD"});
  } else if (path == policy_path) {
    response.status = 200;
    response.headers = {{"Content-Type", "application/json"}};
    response.body = policy_document(context.served->config, context.served->routes);
  } else if (path == openapi_path) {
    response.status = 200;
    response.headers = {{"Content-Type", "application/json"}};
    response.body = openapi_document;
  } else if (path.starts_with(keys_path) && path.size() > keys_path.size()) {
    response = co_await key_state(context, path.substr(keys_path.size()));
  } else {
    response = boundary_.plain_problem(context, {404, "Not Found"});
  }
  name_answer(context, response);
  co_await deliver(context, std::move(response));
}

// Never "no such key" of one that the store may have forgotten: the caller may be about to pay.
Response Gateway::no_such_key(ClientContext& context) {
  const bool forgotten =
      engine_.time().known() && engine_.is_forgotten(context.key, engine_.time().at(clock_.now()));
  if (!forgotten) return boundary_.plain_problem(context, {404, "No such key"});
  return boundary_.plain_problem(
      context, {404, "No record of this key",
                "The store was restored from a backup and may have forgotten this key: this "
                "does not say that it was never used. Look the operation up."});
}

Task<Response> Gateway::key_state(ClientContext& context, std::string_view escaped_key) {
  const http::RequestHead& head = context.request.head;
  std::optional<callers::Identified> known = known_caller(context);
  if (!known) known = co_await ask_for_caller(context);
  if (!*known) co_return boundary_.problem(context, known->error());
  const std::string& caller = (*known)->name;
  const std::optional<std::string> route_name = query_value(head.query, "route");
  const config::Route* route = &context.served->routes.fallback();
  if (route_name) route = context.served->routes.named(*route_name);
  if (route == nullptr) co_return boundary_.plain_problem(context, {404, "No such route"});
  Scope scope = config::scope_of(caller, *route);
  std::optional<double> per_second = context.served->routes.lookups_per_second(*route);
  const std::optional<std::string> api = query_value(head.query, "api");
  if (api && *api != "true") {
    ProblemDetails wrong{Problem::bad_request, "api must be true, or left out.", {}, {}};
    co_return boundary_.problem(context, std::move(wrong));
  }
  if (api) {
    if (std::optional<Response> refusal = refuse_caller(context, caller)) {
      co_return std::move(*refusal);
    }
    scope = key_api_scope(caller);
    per_second = context.served->key_api.policy.lookups_per_second;
  }
  const Key key{unescaped(escaped_key)};
  if (!could_be_key(key)) co_return boundary_.plain_problem(context, {404, "No such key"});
  context.scope = scope;
  context.line.key = log_name(scope, key);
  context.scope = scope;
  context.key = key;
  note_credentials(context);
  const ScopeLimits::Lookup lookup = shared_.limits.may_look_up(scope, per_second, clock_.now());
  if (!lookup.granted) {
    ProblemDetails limited{Problem::rate_limited, "", {}, limit_retry_after(*lookup.standing)};
    Response refused = boundary_.problem(context, std::move(limited));
    for (Header& header : rate_limit_headers(*lookup.standing)) {
      refused.headers.push_back(std::move(header));
    }
    co_return refused;
  }
  const bool has_room = co_await boundary_.make_room(context, 0);
  if (!has_room) co_return boundary_.overloaded(context);
  const StoreResult<std::optional<Record>> found = co_await store_.find(scope, key);
  if (!found) {
    ProblemDetails away{Problem::store_unavailable, "", {}, Breaker::retry_after};
    co_return boundary_.problem(context, std::move(away));
  }
  if (!*found) co_return no_such_key(context);
  const Record& record = **found;
  const Status status = status_of(record);
  const bool kept = is_dead_letter(record) || is_half_done(record);  // however old
  const bool finished =
      !kept && (status == Status::completed || status == Status::failed_retryable);
  const bool over =
      finished && engine_.time().known() && engine_.time().at(clock_.now()) >= record.expires_at;
  if (status == Status::expired || (over && record.policy.expired == WhenExpired::tombstone)) {
    ProblemDetails expired{Problem::key_expired, "", {}, {}};
    co_return boundary_.problem(context, std::move(expired));
  }
  if (over) co_return no_such_key(context);
  Response response;
  response.status = 200;
  response.headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
  const bool proven =
      context.credentials.empty() || record.policy.credentials == context.credentials;
  response.body = key_document(record, proven ? Tell::everything : Tell::status);
  co_return response;
}

}  // namespace pawl::gateway
