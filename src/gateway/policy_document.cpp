#include "src/gateway/documents.hpp"

#include "src/core/json_writer.hpp"

namespace pawl::gateway {
namespace {

std::int64_t seconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

std::string texts(const std::vector<std::string>& list) {
  std::string out = "[";
  for (const std::string& text : list) out += (out.size() > 1 ? "," : "") + json::quote(text);
  return out + "]";
}

std::string key_rules(const config::RoutePolicy& policy) {
  const KeyRules& rules = policy.key_rules;
  JsonObject out;
  // The first of the places, for readers of old.
  if (const auto header = config::header_in(policy.key_from.front())) out.text("header", *header);
  return out.raw("from", texts(policy.key_from))
      .text("syntax", to_text(rules.syntax))
      .number("min_length", static_cast<std::int64_t>(rules.length_min))
      .number("max_length", static_cast<std::int64_t>(key_bytes_max))
      .text("characters", "printable ASCII")
      .flag("refuses_pii", rules.refuse_pii)
      .done();
}

std::string pointers(const std::vector<json::Pointer>& list) {
  std::string out = "[";
  for (const json::Pointer& pointer : list) {
    if (out.size() > 1) out += ',';
    out += json::quote(json::to_text(pointer));
  }
  return out + "]";
}

// What becomes of a key by its service's answer, in the order in which the rules are tried.
std::string service_answers(const Policy& policy) {
  const char* const refusal = policy.on_refusal == OnRefusal::release
                                  ? "not executed: the next request with the key executes"
                                  : "unknown: held until it is resolved";
  std::string error;
  switch (policy.on_server_error) {
    case OnServerError::hold: error = "unknown: held until it is resolved"; break;
    case OnServerError::store: error = "stored and replayed"; break;
    case OnServerError::retry:
      error = "not executed: the next request with the key executes; 502 and 504: unknown";
      break;
  }
  if (policy.transactional) error = "what the service committed; else not executed";
  JsonObject said;
  said.text("not-executed", "the next request with the key executes")
      .text("executed", "stored and replayed")
      .text("unknown", "held until it is resolved");
  return JsonObject()
      .raw("Pawl-Outcome", said.done())
      .text("401, 408, 421, 425, 429, 503 with Retry-After", refusal)
      .text("5xx", error)
      .text("any other", "stored and replayed")
      .text("none", policy.transactional ? "what the service committed; else not executed"
                                         : "unknown: held until it is resolved")
      .done();
}

std::string answers(const Policy& policy) {
  return JsonObject()
      .number("key_missing", 400)
      .number("key_invalid", 400)
      .number("key_reused", policy.profile == Profile::stripe ? 400 : 422)
      .number("in_flight", policy.in_flight == WhenInFlight::accepted ? 202 : 409)
      .number("outcome_unknown", 409)
      .number("key_expired", 410)
      .text("replay", "the stored status, header fields and bytes, with Idempotent-Replayed: true")
      .done();
}

std::string route_rules(const config::Route& route) {
  const config::RoutePolicy& policy = route.policy;
  JsonObject out;
  out.text("match", route.match).text("name", route.name);
  out.text("profile", to_text(policy.profile)).text("key", to_text(policy.key));
  if (policy.key == KeyRequirement::off) return out.done();
  const std::string fingerprint = JsonObject()
                                      .raw("include", pointers(policy.fingerprint.include))
                                      .raw("exclude", pointers(policy.fingerprint.exclude))
                                      .done();
  if (policy.max_request_age) {
    out.number("max_request_age_seconds", seconds(*policy.max_request_age))
        .text("request_time", policy.request_time);
  }
  return out.raw("methods", texts(policy.methods))
      .raw("key_rules", key_rules(policy))
      .text("key_scope", to_text(policy.key_scope))
      .text("mode", to_text(policy.mode))
      .flag("enforced", policy.mode != Mode::observe)
      .number("retention_seconds", seconds(policy.retention))
      .text("retention_from", to_text(policy.retention_from))
      .text("expired_keys", to_text(policy.expired))
      .text("on_server_error", to_text(policy.on_server_error))
      .text("on_refusal", to_text(policy.on_refusal))
      .text("on_lease_expiry", to_text(policy.on_lease_expiry))
      .number("body_limit_bytes", static_cast<std::int64_t>(policy.body_limit))
      .raw("fingerprint", fingerprint)
      .raw("answers", answers(policy))
      .raw("service_answers", service_answers(policy))
      .done();
}

std::string key_api_rules(const config::RoutePolicy& policy) {
  return JsonObject()
      .number("min_key_length", static_cast<std::int64_t>(policy.key_rules.length_min))
      .flag("refuses_pii", policy.key_rules.refuse_pii)
      .number("lease_seconds", seconds(policy.lease))
      .text("on_lease_expiry", to_text(policy.on_lease_expiry))
      .number("retention_seconds", seconds(policy.retention))
      .text("retention_from", to_text(policy.retention_from))
      .text("expired_keys", to_text(policy.expired))
      .number("body_limit_bytes", static_cast<std::int64_t>(policy.body_limit))
      .text("described_by", "/_pawl/v1/openapi.json")
      .done();
}

}  // namespace

std::string policy_document(const config::Config& config, const config::Routes& routes) {
  std::string all = "[";
  for (const config::Route& route : config.routes) all += route_rules(route) + ",";
  all += route_rules(routes.fallback()) + "]";
  JsonObject out;
  out.text("modelled_on", "draft-ietf-httpapi-idempotency-key-header-07").raw("routes", all);
  if (!config.key_api.callers.empty()) out.raw("key_api", key_api_rules(config.key_api.policy));
  return out.done() + "\n";
}

}  // namespace pawl::gateway
