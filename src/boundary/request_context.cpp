#include "src/boundary/request_context.hpp"

namespace pawl {

RequestContent RequestContext::content() const {
  return RequestContent{.method = method,
                        .path = path_at_host.empty() ? path : std::string_view(path_at_host),
                        .query = query,
                        .content_type = content_type,
                        .body = body};
}

bool RequestContext::is_what_was_meant(const Fingerprint& stored,
                                       const FingerprintRules& rules) const {
  RequestContent now = content();
  if (matches(stored, now, rules, secrets)) return true;
  if (path_at_host.empty()) return false;
  now.path = path;  // stored before the hosts were told apart
  return matches(stored, now, rules, secrets);
}

Dialect RequestContext::dialect() const {
  Dialect dialect;
  dialect.profile = policy.profile;
  dialect.in_flight = policy.in_flight;
  dialect.key_as_sent = std::string(key_as_sent);
  dialect.request_id = request_id;
  dialect.status_url = status_url;
  dialect.source_is_asked = source_is_asked;
  dialect.usually_left = usually_left;
  dialect.keyless = method == "GET" || method == "HEAD" || method == "OPTIONS";
  return dialect;
}

}  // namespace pawl
