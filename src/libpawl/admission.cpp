#include "src/libpawl/admission.hpp"

#include <algorithm>

#include "pawl/core/body_coding.hpp"
#include "pawl/core/half_done.hpp"

namespace pawl::detail {
namespace {

using namespace std::chrono_literals;

constexpr Duration store_retry_after = 1s;
constexpr Duration unknown_retry_after = 5s;
constexpr Duration foreign_retry_after = 30s;
constexpr Duration wait_pause_first = 20ms;
constexpr Duration wait_pause_max = 500ms;

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

std::string_view query_of(std::string_view target) {
  const std::size_t question = target.find('?');
  return question == std::string_view::npos ? std::string_view() : target.substr(question + 1);
}

std::vector<std::string_view> key_lines(const HttpRequest& request) {
  std::vector<std::string_view> lines;
  for (const Header& header : request.headers) {
    if (same_field_name(header.name, "Idempotency-Key")) lines.emplace_back(header.value);
  }
  return lines;
}

StoredRequest kept_request(const RouteRules& rules, const HttpRequest& request) {
  StoredRequest kept{.target = request.target, .headers = {}, .body = request.body};
  for (const Header& header : request.headers) {
    const bool listed = std::ranges::any_of(rules.kept_headers, [&](const std::string& name) {
      return same_field_name(name, header.name);
    });
    if (listed) kept.headers.push_back(header);
  }
  return kept;
}

RequestContent content_of(const HttpRequest& request) {
  return RequestContent{.method = request.method,
                        .path = path_of(request.target),
                        .query = query_of(request.target),
                        .content_type = find_header(request.headers, "Content-Type").value_or(""),
                        .body = request.body};
}

// Loudly: somebody has two things at work on the same requests.
Response refuse_foreign(NodeCore& node, const RouteRules& rules, const Dialect& dialect,
                        const Record& record) {
  std::string why = "\"" + rules.name + "\": " + log_name(record.scope, record.key);
  why.append(" was begun by the flow \"" + record.route +
             "\", which alone can go on with it (at \"");
  why.append(record.recovery_point.substr(0, record.recovery_point.find('?')));
  why.append("\"). Nothing was done");
  node.say(LogLevel::error, why);
  ProblemDetails details{Problem::outcome_unknown,
                         "The request was begun by another part or version of this service, which "
                         "must finish it. Retry later with the same key and body.",
                         503, foreign_retry_after};
  return problem(node, dialect, std::move(details));
}

struct Identified {
  Request request;
  Dialect dialect;
};

// Everything that can be said without the store.
std::variant<Response, Identified> identify(NodeCore& node, const RouteRules& rules,
                                            std::string_view caller, const HttpRequest& request) {
  Identified found;
  Dialect& dialect = found.dialect;
  dialect.profile = rules.policy.profile;
  dialect.in_flight = rules.policy.in_flight;
  dialect.source_is_asked = node.has_reconciler(rules.name);
  if (caller.empty()) return problem(node, dialect, {Problem::unauthenticated, "", {}, {}});
  const std::vector<std::string_view> lines = key_lines(request);
  if (lines.empty()) return problem(node, dialect, {Problem::key_missing, "", {}, {}});
  Expected<Key, KeyRefusal> key = parse_key(lines, rules.policy.key_rules);
  if (!key) {
    std::string why = explain(key.error(), rules.policy.key_rules);
    return problem(node, dialect, {Problem::key_invalid, std::move(why), {}, {}});
  }
  dialect.key_as_sent = lines.front();
  const auto coding = find_header(request.headers, "Content-Encoding").value_or("");
  const auto type = find_header(request.headers, "Content-Type").value_or("");
  if (auto trouble = check_coding(coding, type)) return problem(node, dialect, std::move(*trouble));
  Expected<Fingerprinted, json::Error> made =
      fingerprint(content_of(request), rules.policy.fingerprint, rules.secrets);
  if (!made) {
    std::string why = "The body is not valid JSON: ";
    why.append(made.error().what).append(" at byte ");
    why.append(std::to_string(made.error().at_byte)).append(".");
    return problem(node, dialect, {Problem::body_invalid, std::move(why), {}, {}});
  }
  Request& wanted = found.request;
  wanted.scope = scope_of(caller);
  wanted.key = std::move(*key);
  wanted.fingerprint = std::move(made->fingerprint);
  wanted.meant_then = [&rules, &request](const Fingerprint& stored, const FingerprintRules& then) {
    return matches(stored, content_of(request), then, rules.secrets);
  };
  wanted.method = request.method;
  wanted.path = path_of(request.target);
  wanted.route = rules.name;
  if (rules.keeps_request) wanted.stored = kept_request(rules, request);
  return found;
}

}  // namespace

Scope scope_of(std::string_view caller) { return Scope{std::string("lib:").append(caller)}; }

std::string name_trouble(std::string_view route) {
  const bool sound = !route.empty() && route.size() <= 64 && std::ranges::all_of(route, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  if (sound) return {};
  return "the name \"" + std::string(route) + "\" must be 1 to 64 letters, digits, '-', '_' or '.'";
}

bool has_key(const HttpRequest& request) {
  return find_header(request.headers, "Idempotency-Key").has_value();
}

Response problem(NodeCore& node, const Dialect& dialect, ProblemDetails details) {
  Dialect ours = dialect;
  ours.request_id = node.new_request_id();
  return render_problem(details, ours);
}

Task<Admission> admit(NodeCore& node, const RouteRules& rules, std::string_view caller,
                      const HttpRequest& request) {
  std::variant<Response, Identified> identified = identify(node, rules, caller, request);
  if (auto* refused = std::get_if<Response>(&identified)) co_return std::move(*refused);
  Identified& wanted = std::get<Identified>(identified);
  const BootTime give_up = node.clock().now() + rules.wait_limit;
  Duration pause = wait_pause_first;
  for (;;) {
    StoreResult<Reservation> reserved =
        co_await node.engine().reserve(wanted.request, rules.policy);
    if (!reserved) {
      ProblemDetails away{Problem::store_unavailable, "", {}, store_retry_after};
      co_return problem(node, wanted.dialect, std::move(away));
    }
    const DecisionKind kind = kind_of(reserved->decision);
    if (kind == DecisionKind::execute) {
      Granted granted;
      granted.record = *reserved->record;
      granted.lease = node.engine().hold(reserved->record);
      granted.lease->settle = {rules.policy.response_bytes_max, rules.policy.resource_type,
                               rules.policy.resource_id};
      granted.dialect = wanted.dialect;
      granted.dialect.request_id = request_id(*reserved->record);
      co_return granted;
    }
    const bool foreign = kind == DecisionKind::undetermined &&
                         status_of(*reserved->record) != Status::unknown &&
                         belongs_elsewhere(*reserved->record, wanted.request);
    if (foreign) co_return refuse_foreign(node, rules, wanted.dialect, *reserved->record);
    const bool waits = kind == DecisionKind::in_flight &&
                       rules.policy.in_flight == WhenInFlight::wait &&
                       node.clock().now() + pause < give_up;
    if (!waits) {
      Dialect dialect = wanted.dialect;
      dialect.request_id =
          kind == DecisionKind::replay ? request_id(*reserved->record) : node.new_request_id();
      co_return render(reserved->decision, *reserved->record, dialect);
    }
    co_await node.clock().sleep_until(node.clock().now() + pause);
    pause = std::min(pause * 2, wait_pause_max);
  }
}

Response render_settlement(NodeCore& node, const Granted& granted, const Outcome& outcome,
                           const StoreResult<Settlement>& settlement) {
  if (!settlement) {
    // Durable before answered: what could not be written down is not told.
    ProblemDetails unknown{Problem::outcome_unknown,
                           "The operation may have happened, and its outcome could not be recorded "
                           "yet. Retry with the same key and body, and do not use a new key.",
                           503, unknown_retry_after};
    return problem(node, granted.dialect, std::move(unknown));
  }
  const Record& stored = *settlement->record;
  const auto* completed = std::get_if<Completed>(&stored.state);
  if (completed != nullptr && !settlement->recorded) {
    // Somebody else settled it, or took it over and finished it: what is stored is the answer.
    Dialect dialect = granted.dialect;
    dialect.request_id = request_id(stored);
    return render_stored(completed->response, stored.expires_at, Delivery::original, dialect);
  }
  if (settlement->superseded) {
    ProblemDetails unknown{Problem::outcome_unknown,
                           "The operation may have happened, and another attempt at it has begun "
                           "since. Retry with the same key and body, and do not use a new key.",
                           409, unknown_retry_after};
    return problem(node, granted.dialect, std::move(unknown));
  }
  return render_outcome(outcome, stored, granted.dialect);
}

}  // namespace pawl::detail
