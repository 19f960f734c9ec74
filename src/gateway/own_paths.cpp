// What the gateway itself answers on the public listener: everything below /_pawl/.
#include <algorithm>

#include "src/adapters/http/syntax.hpp"
#include "src/gateway/json_object.hpp"
#include "src/gateway/passage.hpp"
#include "src/gateway/policy_document.hpp"

namespace pawl::gateway {
namespace {

constexpr std::string_view policy_path = "/_pawl/v1/policy";
constexpr std::string_view keys_path = "/_pawl/v1/keys/";

Response plain_problem(int status, std::string_view title) {
  Response response;
  response.status = status;
  response.headers = {{"Content-Type", "application/problem+json"}};
  response.body =
      JsonObject().text("type", "about:blank").text("title", title).number("status", status).done();
  return response;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(http::hex_value(text[i + 1]) * 16 + http::hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

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

std::string timestamp(Instant instant) {
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(instant - day);
  char text[40];
  std::snprintf(text, sizeof text, "\"%04d-%02u-%02uT%02d:%02d:%02d.%06dZ\"",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()),
                static_cast<int>(time.subseconds().count()));
  return text;
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 |
              (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : std::uint32_t{0});
    }
    for (std::size_t j = 0; j < 4; ++j) {
      out += i + j <= bytes.size() ? digits[group >> (18 - 6 * j) & 63U] : '=';
    }
  }
  return out;
}

std::string stored_response(const StoredResponse& response) {
  std::string headers = "[";
  for (const Header& header : response.headers) {
    if (headers.size() > 1) headers += ',';
    headers += "[" + json::quote(header.name) + "," + json::quote(header.value) + "]";
  }
  JsonObject out;
  out.number("status", response.status).raw("headers", headers + "]");
  if (!response.body) return out.flag("body_withheld", true).done();
  // Any bytes may be an answer; JSON text may not be any bytes.
  const bool is_text = json::read(json::quote(*response.body)).has_value();
  if (is_text) return out.text("body", *response.body).done();
  return out.text("body_base64", base64(*response.body)).done();
}

std::string key_document(const Record& record) {
  const Status status = status_of(record);
  const auto* completed = std::get_if<Completed>(&record.state);
  const bool expires = status != Status::in_progress && status != Status::unknown;
  JsonObject out;
  out.text("key", record.key.text).text("status", to_text(status));
  out.number("attempt", record.attempt).raw("created_at", timestamp(record.created_at));
  out.raw("completed_at", completed == nullptr ? "null" : timestamp(completed->completed_at));
  out.raw("expires_at", expires ? timestamp(record.expires_at) : "null");
  if (completed != nullptr) out.raw("response", stored_response(completed->response));
  return out.done() + "\n";
}

}  // namespace

Task<void> Gateway::answer_own(Passage& passage) {
  http::ClientRequest& request = passage.request;
  const std::string_view path = request.head.path;
  passage.line.route = "pawl";
  Response response;
  if (request.head.method != "GET" && request.head.method != "HEAD") {
    response = plain_problem(405, "Method Not Allowed");
    response.headers.push_back({"Allow", "GET, HEAD"});
  } else if (path == policy_path) {
    response.status = 200;
    response.headers = {{"Content-Type", "application/json"}};
    response.body = policy_document(shared_.config, shared_.routes);
  } else if (path.starts_with(keys_path) && path.size() > keys_path.size()) {
    response = co_await key_state(passage, path.substr(keys_path.size()));
  } else {
    response = plain_problem(404, "Not Found");
  }
  passage.line.status = response.status;
  co_await request.answer(response);
}

Task<Response> Gateway::key_state(Passage& passage, std::string_view escaped_key) {
  passage.line.path = keys_path;  // the rest of it is a key
  const http::RequestHead& head = passage.request.head;
  const Callers& callers = shared_.callers;
  std::optional<std::string_view> credential;
  if (!callers.header().empty()) credential = http::find(head.fields, callers.header());
  const std::optional<std::string> caller = callers.caller_of(credential);
  if (!caller) {
    ProblemDetails unknown_caller{Problem::unauthenticated, "", {}, {}};
    co_return problem(passage, std::move(unknown_caller));
  }
  const std::optional<std::string> route_name = query_value(head.query, "route");
  const config::Route* route = &shared_.routes.fallback();
  if (route_name) route = shared_.routes.named(*route_name);
  if (route == nullptr) co_return plain_problem(404, "No such route");
  const Scope scope = scope_of(*caller, *route);
  const Key key{unescaped(escaped_key)};
  if (!could_be_key(key)) co_return plain_problem(404, "No such key");
  passage.line.key = log_name(scope, key);
  if (!shared_.limits.may_look_up(scope, route->policy, clock_.now())) {
    ProblemDetails limited{Problem::rate_limited, "", {}, std::chrono::seconds(1)};
    co_return problem(passage, std::move(limited));
  }
  const StoreResult<std::optional<Record>> found = co_await store_.find(scope, key);
  if (!found) {
    ProblemDetails away{Problem::store_unavailable, "", {}, Breaker::retry_after};
    co_return problem(passage, std::move(away));
  }
  if (!*found) co_return plain_problem(404, "No such key");
  const Record& record = **found;
  const Status status = status_of(record);
  const bool finished = status == Status::completed || status == Status::failed_retryable;
  const bool over =
      finished && engine_.time().known() && engine_.time().at(clock_.now()) >= record.expires_at;
  if (status == Status::expired || (over && record.policy.expired == WhenExpired::tombstone)) {
    ProblemDetails expired{Problem::key_expired, "", {}, {}};
    co_return problem(passage, std::move(expired));
  }
  if (over) co_return plain_problem(404, "No such key");
  Response response;
  response.status = 200;
  response.headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
  response.body = key_document(record);
  co_return response;
}

}  // namespace pawl::gateway
