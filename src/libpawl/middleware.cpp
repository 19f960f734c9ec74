#include "pawl/middleware.hpp"

#include "src/libpawl/admission.hpp"

namespace pawl {
namespace detail {
namespace {

constexpr Duration refused_retry_after = std::chrono::seconds(1);

bool is_guarded(const Policy& policy, const HttpRequest& request) {
  const bool may_have_effects = request.method == "POST" || request.method == "PATCH";
  switch (policy.key) {
    case KeyRequirement::off: return false;
    case KeyRequirement::optional: return may_have_effects && has_key(request);
    case KeyRequirement::required: return may_have_effects;
  }
  return may_have_effects;
}

RouteRules rules_of(Route route) {
  const std::string trouble = name_trouble(route.name);
  if (!trouble.empty()) throw std::invalid_argument("pawl::Middleware: " + trouble);
  const std::string name = "pawl::Middleware \"" + route.name + "\": ";
  if (route.policy.mode != Mode::sync) {
    throw std::invalid_argument(name +
                                "policy.mode must be sync; async and observe are the "
                                "gateway's");
  }
  if (route.policy.transactional || route.policy.on_lease_expiry == OnLeaseExpiry::resume) {
    throw std::invalid_argument(name +
                                "a plain handler cannot be transactional or resumed; use "
                                "pawl::Flow");
  }
  RouteRules rules;
  rules.name = std::move(route.name);
  static_cast<Policy&>(rules.policy) = std::move(route.policy);
  rules.secrets = std::move(route.secrets);
  rules.policy.wait_limit = route.wait_limit;
  return rules;
}

// Reserved, and the lease looked at once more: the process may have been stopped in between.
Task<Admission> admit_to_execute(NodeCore& node, const RouteRules& rules, std::string caller,
                                 HttpRequest request) {
  Admission admission = co_await admit(node, rules, std::move(caller), std::move(request));
  auto* granted = std::get_if<Granted>(&admission);
  if (granted == nullptr) co_return admission;
  const bool may_send = co_await node.engine().may_send(*granted->lease());
  if (may_send) co_return admission;
  const Outcome nothing = NotSent{"too little of the lease was left"};
  static_cast<void>(co_await node.engine().settle(*granted->lease(), nothing));
  ProblemDetails details{Problem::store_unavailable, "", {}, refused_retry_after};
  co_return node.boundary().problem(*granted->context, std::move(details));
}

Task<Response> settle_and_render(NodeCore& node, std::shared_ptr<Granted> granted,
                                 Outcome outcome) {
  const bool nothing_done = std::holds_alternative<NotSent>(outcome);
  ServiceContext& context = *granted->context;
  Response response =
      co_await node.boundary().settle(context, std::move(granted->right), std::move(outcome));
  const bool released = context.record && status_of(*context.record) == Status::failed_retryable;
  if (!nothing_done || !released || context.superseded) co_return response;
  ProblemDetails details{Problem::upstream_unreachable,
                         "Nothing was done. Retry with the same key.", 503, refused_retry_after};
  co_return node.boundary().problem(context, std::move(details));
}

Task<Middleware::Begun> begin_one(NodeCore& node, const RouteRules& rules, std::string caller,
                                  HttpRequest request) {
  Admission admission =
      co_await admit_to_execute(node, rules, std::move(caller), std::move(request));
  if (auto* answer = std::get_if<Response>(&admission)) {
    co_return Middleware::Answer{std::move(*answer)};
  }
  Granted& granted = std::get<Granted>(admission);
  co_return Middleware::Go{std::make_shared<Granted>(std::move(granted))};
}

}  // namespace
}  // namespace detail

Middleware::Middleware(Node node, Route route, Handler handler)
    : node_(std::move(node)),
      rules_(std::make_unique<const detail::RouteRules>(detail::rules_of(std::move(route)))),
      handler_(std::move(handler)) {
  node_.core()->expect_leases_of(rules_->policy.lease);
}

Middleware::~Middleware() = default;

Response Middleware::handle(std::string_view caller, const HttpRequest& request) {
  if (!handler_) throw std::logic_error("pawl::Middleware \"" + rules_->name + "\" has no handler");
  if (!detail::is_guarded(rules_->policy, request)) return handler_(request);
  detail::NodeCore& node = *node_.core();
  detail::Admission admission =
      node.run(detail::admit_to_execute(node, *rules_, std::string(caller), request));
  if (auto* answer = std::get_if<Response>(&admission)) return std::move(*answer);
  auto granted = std::make_shared<detail::Granted>(std::get<detail::Granted>(std::move(admission)));
  Outcome outcome = NotSent{};
  try {
    outcome = Answered{handler_(request)};
  } catch (...) {
    outcome = outcome_of_current_exception();
  }
  return node.run(detail::settle_and_render(node, std::move(granted), std::move(outcome)));
}

void Middleware::begin(std::string caller, HttpRequest request, std::function<void(Begun)> begun) {
  if (!detail::is_guarded(rules_->policy, request)) {
    begun(Unguarded{});
    return;
  }
  detail::NodeCore& node = *node_.core();
  node.start(detail::begin_one(node, *rules_, std::move(caller), std::move(request)),
             std::move(begun));
}

void Middleware::finish(Go attempt, Outcome outcome, std::function<void(Response)> finished) {
  detail::NodeCore& node = *node_.core();
  node.start(detail::settle_and_render(node, std::move(attempt.granted), std::move(outcome)),
             std::move(finished));
}

Outcome Middleware::outcome_of_current_exception() const {
  std::string what = "an exception of no known type";
  try {
    throw;
  } catch (const NotStarted& reason) {
    return NotSent{reason.what()};
  } catch (const std::exception& failure) {
    what = failure.what();
  } catch (...) {
  }
  node_.core()->say(LogLevel::error, "route \"" + rules_->name + "\": the handler threw: " + what);
  // What it said is for the log, not for the client.
  return Answered{Response{
      500,
      {{"Content-Type", "application/problem+json"}},
      R"({"type":"about:blank","title":"Internal Server Error","status":500,"error":)"
      R"({"type":"api_error","code":"internal-error","message":"Internal Server Error"}})"}};
}

}  // namespace pawl
