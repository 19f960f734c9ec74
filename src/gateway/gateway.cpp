#include "src/gateway/gateway.hpp"

#include "src/adapters/http/forwarding.hpp"
#include "src/adapters/http/syntax.hpp"
#include "src/gateway/key_path.hpp"
#include "src/gateway/passage.hpp"

namespace pawl::gateway {
namespace {

constexpr std::size_t request_id_bytes = 24;

bool is_safe_to_repeat(std::string_view method) { return method != "POST" && method != "PATCH"; }

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
                        .path = request.head.path,
                        .query = request.head.query,
                        .content_type = type.value_or(std::string_view{}),
                        .body = body};
}

Dialect Gateway::Passage::dialect() const {
  Dialect dialect;
  dialect.profile = policy.profile;
  dialect.in_flight = policy.in_flight;
  dialect.key_as_sent = std::string(key_as_sent);
  dialect.request_id = request_id;
  const bool may_accept = policy.in_flight == WhenInFlight::accepted || policy.mode == Mode::async;
  if (may_accept) dialect.status_url = status_url(key, route);
  return dialect;
}

std::string Gateway::new_request_id() {
  return "req_" + entropy_.new_owner().text.substr(0, request_id_bytes);
}

void Gateway::name_answer(Passage& passage, Response& response) {
  if (find_header(response.headers, "Pawl-Request-Id")) return;
  if (passage.request_id.empty()) passage.request_id = new_request_id();
  response.headers.push_back({"Pawl-Request-Id", passage.request_id});
}

Response Gateway::problem(Passage& passage, ProblemDetails details) {
  shared_.metrics.refused(slug_of(details.problem));
  if (passage.request_id.empty()) passage.request_id = new_request_id();
  return render_problem(details, passage.dialect());
}

Response Gateway::refused(const http::Refusal& refusal) {
  shared_.metrics.refused(slug_of(refusal.problem));
  Dialect dialect;
  dialect.profile = shared_.config.policy.profile;
  dialect.request_id = new_request_id();
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

Task<void> Gateway::handle(http::ClientRequest& request) {
  const http::RequestHead& head = request.head;
  const bool is_key_call = key_call_in(head.method, head.path).has_value();
  const config::Route& route =
      is_key_call ? shared_.key_api : shared_.routes.find(head.method, head.path);
  Passage passage(request, route, clock_.now());
  passage.line.client = request.client;
  passage.line.method = head.method;
  passage.line.path = loggable_path(head.path);
  passage.line.route = passage.route.name;
  if (http::is_loop(head, shared_.pseudonym)) {
    request.close_after();
    ProblemDetails loop{Problem::bad_request, "The upstream is this gateway itself.", 508, {}};
    const Response response = problem(passage, std::move(loop));
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
  passage.line.request_id = passage.request_id;
  passage.line.took = clock_.now() - passage.arrived_at;
  passage.line.upstream_took = passage.upstream_took;
  shared_.metrics.request(passage.route.name, passage.line.status);
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
  http::Passed passed = co_await http::pass_through(passage.request, upstream_, options);
  passage.line.status = passed.status;
  passage.line.evidence = to_text(passed.evidence);
  if (!passed.problem) co_return;
  const Response response = problem(passage, std::move(*passed.problem));
  passage.line.status = response.status;
  co_await passage.request.answer(response);
}

}  // namespace pawl::gateway
