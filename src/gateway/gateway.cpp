#include "src/gateway/gateway.hpp"

#include <algorithm>

#include "src/adapters/http/forwarding.hpp"
#include "src/adapters/http/syntax.hpp"
#include "src/gateway/key_path.hpp"
#include "src/gateway/passage.hpp"

namespace pawl::gateway {
namespace {

constexpr std::size_t request_id_bytes = 24;

std::string new_request_id(Entropy& entropy) {
  return "req_" + entropy.new_owner().text.substr(0, request_id_bytes);
}

bool is_safe_to_repeat(std::string_view method) { return method != "POST" && method != "PATCH"; }

bool changes_nothing(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS";
}

// Many servers do not read a body there, and take it for the next request on the connection.
bool has_stray_body(const http::RequestHead& head, const config::RoutePolicy& policy) {
  if (!http::has_body(head)) return false;
  return changes_nothing(head.method) || (head.method == "DELETE" && !policy.delete_body);
}

// "API.example:443" is "api.example".
std::string host_name(std::string_view host) {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string name = http::lowered(host.substr(0, colon));
  if (name.ends_with('.')) name.pop_back();
  return name;
}

// A hop counter that has run out is answered by whoever sees it (RFC 9110 section 7.6.2).
bool ends_here(const http::RequestHead& head) {
  if (head.method != "OPTIONS") return false;
  const std::optional<std::string_view> hops = http::find(head.fields, "Max-Forwards");
  return hops && http::read_decimal(*hops) == std::uint64_t{0};
}

// For a path segment or a query's value: only what stands for itself in both.
void append_escaped(std::string& out, std::string_view text) {
  static constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
    }
  }
}

// Where a caller reads what became of its key.
std::string status_url(const Key& key, const config::Route& route) {
  std::string url = "/_pawl/v1/keys/";
  append_escaped(url, key.text);
  if (route.policy.key_scope == config::KeyScope::caller_route) {
    url += "?route=";
    append_escaped(url, route.name);
  }
  return url;
}

}  // namespace

RequestContent Gateway::Passage::content() const {
  const std::optional<std::string_view> type = http::find(request.head.fields, "Content-Type");
  return RequestContent{.method = request.head.method,
                        .path = path_at_host.empty() ? request.head.path : path_at_host,
                        .query = request.head.query,
                        .content_type = type.value_or(std::string_view{}),
                        .body = body};
}

// As a URL has it: no path looks like that. Hosts that are not listed are one API.
void Gateway::Passage::name_host(const std::vector<std::string>& hosts) {
  if (hosts.empty()) return;
  const std::string name = host_name(request.head.host);
  const bool listed = std::ranges::find(hosts, name) != hosts.end();
  path_at_host = "http://" + (listed ? name : std::string());
  path_at_host += request.head.path;
}

bool Gateway::Passage::is_what_was_meant(const Fingerprint& stored, const FingerprintRules& rules,
                                         const FingerprintSecrets& secrets) const {
  RequestContent now = content();
  if (matches(stored, now, rules, secrets)) return true;
  if (path_at_host.empty()) return false;
  now.path = request.head.path;  // stored before the hosts were told apart
  return matches(stored, now, rules, secrets);
}

Dialect Gateway::Passage::dialect() const {
  Dialect dialect;
  dialect.profile = policy.profile;
  dialect.in_flight = policy.in_flight;
  dialect.key_as_sent = std::string(key_as_sent);
  dialect.request_id = request_id;
  const bool may_accept = policy.in_flight == WhenInFlight::accepted || policy.mode == Mode::async;
  if (may_accept) dialect.status_url = status_url(key, route);
  dialect.source_is_asked = !policy.reconcile.empty();
  return dialect;
}

const std::string& Gateway::id_of(Passage& passage) {
  if (passage.id.empty()) passage.id = new_request_id(entropy_);
  return passage.id;
}

void Gateway::name_answer(Passage& passage, Response& response) {
  if (find_header(response.headers, "Pawl-Request-Id")) return;
  if (passage.request_id.empty()) passage.request_id = id_of(passage);
  response.headers.push_back({"Pawl-Request-Id", passage.request_id});
}

Response Gateway::problem(Passage& passage, ProblemDetails details) {
  shared_.metrics.refused(slug_of(details.problem));
  if (passage.request_id.empty()) passage.request_id = id_of(passage);
  return render_problem(details, passage.dialect());
}

Response Gateway::refused(const http::Refusal& refusal) {
  shared_.metrics.refused(slug_of(refusal.problem));
  Dialect dialect;
  dialect.profile = shared_.config.policy.profile;
  dialect.request_id = new_request_id(entropy_);
  const ProblemDetails details{refusal.problem, refusal.detail, refusal.status, std::nullopt};
  Response response = render_problem(details, dialect);
  LogLine line;
  line.request_id = dialect.request_id;
  line.method = "-";
  line.path = "-";
  line.status = response.status;
  line.trouble = refusal.detail;
  shared_.log.write(line);
  return response;
}

std::optional<ProblemDetails> Gateway::check_message(const Passage& passage, bool disputed) const {
  const http::RequestHead& head = passage.request.head;
  if (http::is_loop(head, shared_.pseudonym)) {
    return ProblemDetails{Problem::bad_request, "The upstream is this gateway itself.", 508, {}};
  }
  if (has_stray_body(head, passage.policy)) {
    const std::string method(head.method);
    return ProblemDetails{
        Problem::bad_request, "A " + method + " request must not have a body here.", {}, {}};
  }
  if (head.path.starts_with(own_prefix)) return std::nullopt;
  const bool reads = changes_nothing(head.method);
  if ((!disputed || reads) && config::is_plainly_canonical(head.path)) return std::nullopt;
  const std::vector<std::string> readings = config::readings_of(head.path);
  const bool is_ours = std::ranges::any_of(
      readings, [](const std::string& reading) { return reading.starts_with(own_prefix); });
  if ((disputed && !reads) || is_ours) {
    return ProblemDetails{Problem::bad_request,
                          "The path is another spelling of one that has rules of its own: send it "
                          "without doubled or final slashes, escapes of them, and parameters.",
                          {},
                          {}};
  }
  return std::nullopt;
}

Task<void> Gateway::handle(http::ClientRequest& request) {
  const http::RequestHead& head = request.head;
  const bool is_key_call = key_call_in(head.method, head.path).has_value();
  const RouteMatch match = shared_.routes.find(head.method, head.path);
  Passage passage(request, is_key_call ? shared_.key_api : match.route, clock_.now());
  passage.line.client = request.client;
  passage.line.method = head.method;
  passage.line.path = loggable_path(head.path);
  passage.line.route = passage.route.name;
  if (std::optional<ProblemDetails> trouble = check_message(passage, match.disputed)) {
    request.close_after();
    passage.line.trouble = trouble->detail;
    const Response response = problem(passage, std::move(*trouble));
    passage.line.status = response.status;
    co_await request.answer(response);
  } else if (is_key_call) {
    co_await answer_key_call(passage);
  } else if (head.path.starts_with(webhooks_path)) {
    co_await answer_webhook(passage);
  } else if (head.path.starts_with(own_prefix)) {
    co_await answer_own(passage);
  } else if (ends_here(head)) {
    Response response;
    response.status = passage.line.status = 204;
    co_await request.answer(response);
  } else if (is_safe_to_repeat(head.method) || passage.policy.key == KeyRequirement::off) {
    if (!is_safe_to_repeat(head.method)) shared_.metrics.unguarded(passage.route.name);
    co_await pass(passage);
  } else if (passage.policy.mode == Mode::observe) {
    co_await observe(passage);
  } else if (passage.policy.key == KeyRequirement::optional &&
             !http::find(head.fields, "Idempotency-Key")) {
    shared_.metrics.unguarded(passage.route.name);
    co_await pass(passage);
  } else {
    co_await guard(passage);
  }
  passage.line.request_id = id_of(passage);
  passage.line.scope = passage.scope.text;
  passage.line.took = clock_.now() - passage.arrived_at;
  passage.line.upstream_took = passage.upstream_took;
  shared_.metrics.request(passage.line.route, passage.line.status);  // ours: no route of theirs
  if (passage.upstream_took.count() > 0) {
    shared_.metrics.upstream_took(passage.route.name, passage.upstream_took);
  }
  shared_.log.write(passage.line);
}

Task<void> Gateway::pass(Passage& passage, http::PassWatch* watch) {
  http::PassOptions options;
  options.watch = watch;
  options.connect_timeout = passage.policy.upstream_connect_timeout;
  options.timeout = passage.policy.upstream_timeout;
  // What cannot be sent again must not be lost with a connection that died while it was idle.
  if (!is_safe_to_repeat(passage.request.head.method)) {
    options.idle_max = passage.policy.upstream_idle;
  }
  options.pseudonym = shared_.pseudonym;
  options.request_id = id_of(passage);
  http::Passed passed = co_await http::pass_through(passage.request, others_, options);
  passage.line.status = passed.status;
  passage.line.evidence = to_text(passed.evidence);
  if (!passed.problem) co_return;
  const Response response = problem(passage, std::move(*passed.problem));
  passage.line.status = response.status;
  co_await passage.request.answer(response);
}

}  // namespace pawl::gateway
