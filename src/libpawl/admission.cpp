#include "src/libpawl/admission.hpp"

#include <algorithm>

#include "src/core/recovery_point.hpp"
#include "src/core/scope.hpp"

namespace pawl::detail {
namespace {

using namespace std::chrono_literals;

constexpr Duration foreign_retry_after = 30s;

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

// Loudly: somebody has two things at work on the same requests.
Response refuse_foreign(NodeCore& node, const RouteRules& rules, ServiceContext& context) {
  const Record& record = *context.record;
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
  return node.boundary().problem(context, std::move(details));
}

bool is_foreign(const ServiceContext& context, const RouteRules& rules) {
  if (context.decided != DecisionKind::undetermined) return false;
  if (status_of(*context.record) == Status::unknown) return false;
  Request asked;
  asked.route = rules.name;
  if (context.is_stored()) asked.stored.emplace();  // that it is, not a copy of it
  return belongs_elsewhere(*context.record, asked);
}

// Everything that can be said without the store.
std::optional<Response> identify(NodeCore& node, std::string_view caller, ServiceContext& context) {
  Boundary& boundary = node.boundary();
  if (caller.empty()) return boundary.problem(context, {Problem::unauthenticated, "", {}, {}});
  // Records of the library are not the gateway's: both may guard the same request in one store.
  context.scope = library_scope(caller);
  const Headers& headers = context.request().headers;
  std::optional<ProblemDetails> trouble = boundary.identify(
      context, key_lines(context.request()), find_header(headers, "Content-Encoding").value_or(""));
  if (trouble) return boundary.problem(context, std::move(*trouble));
  return boundary.take_fingerprint(context);
}

}  // namespace

ServiceContext::ServiceContext(const RouteRules& rules, HttpRequest request)
    : RequestContext(rules.policy, rules.secrets, nullptr),
      rules_(rules),
      request_(std::move(request)) {
  route_name = rules.name;
  method = request_.method;
  path = path_of(request_.target);
  query = query_of(request_.target);
  content_type = find_header(request_.headers, "Content-Type").value_or("");
  body = request_.body;
}

std::optional<StoredRequest> ServiceContext::to_store() const {
  if (!is_stored()) return std::nullopt;
  StoredRequest kept{.target = request_.target, .headers = {}, .body = request_.body};
  for (const Header& header : request_.headers) {
    const bool listed = std::ranges::any_of(rules_.kept_headers, [&](const std::string& name) {
      return same_field_name(name, header.name);
    });
    if (listed) kept.headers.push_back(header);
  }
  return kept;
}

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

Task<Admission> admit(NodeCore& node, const RouteRules& rules, std::string caller,
                      HttpRequest request) {
  auto context = std::make_unique<ServiceContext>(rules, std::move(request));
  context->source_is_asked = node.has_reconciler(rules.name);
  std::optional<Response> refused = identify(node, caller, *context);
  if (refused) co_return std::move(*refused);
  Boundary::Admission admission = co_await node.boundary().admit(*context);
  if (auto* answer = std::get_if<Response>(&admission)) {
    if (is_foreign(*context, rules)) co_return refuse_foreign(node, rules, *context);
    co_return std::move(*answer);
  }
  Granted granted;
  granted.right = std::move(std::get<Boundary::Granted>(admission));
  // A service may hold on to its right for longer than the node lives: of all that it holds only
  // the lease is its own. Whoever waits for the answer finds it in the store.
  granted.right.place.reset();
  granted.right.flight.reset();
  granted.record = *granted.lease()->record;
  context->id = context->request_id = request_id(granted.record);
  granted.context = std::move(context);
  co_return granted;
}

}  // namespace pawl::detail
