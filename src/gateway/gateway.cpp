#include "src/gateway/gateway.hpp"

#include <algorithm>
#include <chrono>

#include "src/adapters/http/forwarding.hpp"
#include "src/adapters/http/syntax.hpp"
#include "src/gateway/client_context.hpp"
#include "src/gateway/key_path.hpp"
#include "src/gateway/request_key.hpp"
#include "src/gateway/upstream_attempt.hpp"

namespace pawl::gateway {
namespace {

// A source that has no URL only tells, when it likes.
bool is_asked(const config::Config& config, const std::string& source) {
  const auto found = std::ranges::find(config.sources, source, &config::Source::name);
  return !source.empty() && found != config.sources.end() && !found->url.empty();
}

bool is_safe_to_repeat(std::string_view method) { return method != "POST" && method != "PATCH"; }

bool changes_nothing(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS";
}

// Many servers do not read a body there, and take it for the next request on the connection.
bool has_stray_body(const http::RequestHead& head, const config::RoutePolicy& policy) {
  if (!http::has_body(head)) return false;
  const bool may_have_one = policy.delete_body || config::guards(policy, head.method);
  return changes_nothing(head.method) || (head.method == "DELETE" && !may_have_one);
}

// "API.example:443" is "api.example".
std::string host_name(std::string_view host) {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string name = http::lowered(host.substr(0, colon));
  if (name.ends_with('.')) name.pop_back();
  return name;
}

// As the metric has it.
std::string_view word_of(http::ConnectionLimit limit) {
  return limit == http::ConnectionLimit::all ? "all" : "address";
}

// What passes has no record here: nothing keeps a second try from being executed, so none is
// suggested where that matters, and no key is spoken of.
ProblemDetails told_unguarded(ProblemDetails problem, std::string_view method) {
  const bool not_sent = problem.problem == Problem::upstream_unreachable;
  const bool late = problem.problem == Problem::outcome_unknown;
  if (!not_sent && !late && problem.problem != Problem::bad_upstream_response) return problem;
  problem.should_retry = not_sent || is_safe_to_repeat(method);
  problem.detail = not_sent ? "Nothing was sent on."
                   : late   ? "The service did not answer in time."
                            : "The service's answer did not arrive, or could not be read.";
  problem.detail += *problem.should_retry
                        ? " Retry later."
                        : " The operation may have happened, and nothing here keeps it from "
                          "happening twice: look it up before you send it again.";
  return problem;
}

std::string why_unanswered(const http::Passed& passed) {
  if (const auto* none = std::get_if<NotSent>(&passed.outcome)) return none->why;
  if (const auto* lost = std::get_if<Lost>(&passed.outcome)) return lost->why;
  return {};
}

// A hop counter that has run out is answered by the hop that receives it (RFC 9110 section 7.6.2).
bool ends_here(const http::RequestHead& head) {
  if (head.method != "OPTIONS") return false;
  const std::optional<std::string_view> hops = http::find(head.fields, "Max-Forwards");
  return hops && http::read_decimal(*hops) == std::uint64_t{0};
}

}  // namespace

Gateway::ClientContext::ClientContext(http::ClientRequest& incoming, SharedConfig config,
                                      const config::Route& matched, BootTime now,
                                      MemoryBudget& budget)
    : RequestContext(matched.policy, config->config.fingerprint_secrets, &budget),
      request(incoming),
      served(std::move(config)),
      route(matched),
      arrived_at(now) {
  route_name = matched.name;
  method = incoming.head.method;
  path = incoming.head.path;
  query = incoming.head.query;
  content_type = http::find(incoming.head.fields, "Content-Type").value_or("");
  source_is_asked = is_asked(served->config, matched.policy.reconcile);
}

// Of the headers only those that the route lists, and what a worker cannot do without.
std::optional<StoredRequest> Gateway::ClientContext::to_store() const {
  if (!is_stored()) return std::nullopt;
  const http::RequestHead& head = request.head;
  StoredRequest kept;
  kept.target = std::string(head.path);
  if (head.has_query) kept.target.append("?").append(head.query);
  kept.body = body;
  for (const http::Field& field : head.fields) {
    const bool needed = http::same_word(field.name, "Host") ||
                        http::same_word(field.name, "Idempotency-Key") ||
                        is_key_header(field.name, route.policy);
    const bool listed = std::ranges::any_of(
        route.policy.request_headers,
        [&](const std::string& name) { return http::same_word(name, field.name); });
    if (needed || listed)
      kept.headers.push_back({std::string(field.name), std::string(field.value)});
  }
  return kept;
}

// As a URL has it: no path looks like that. Hosts that are not listed are one API.
void Gateway::ClientContext::name_host(const std::vector<std::string>& hosts) {
  if (hosts.empty()) return;
  const std::string name = host_name(request.head.host);
  const bool listed = std::ranges::find(hosts, name) != hosts.end();
  path_at_host = "http://" + (listed ? name : std::string());
  path_at_host += request.head.path;
}

void Gateway::name_answer(ClientContext& context, Response& response) {
  if (find_header(response.headers, "Pawl-Request-Id")) return;
  if (context.request_id.empty()) context.request_id = boundary_.id_of(context);
  response.headers.push_back({"Pawl-Request-Id", context.request_id});
}

// What is answered outside of any request's context.
Response Gateway::refuse(const ProblemDetails& details, LogLine line) {
  Dialect dialect;
  dialect.profile = shared_.in_force.now()->config.policy.profile;
  dialect.request_id = boundary_.new_request_id();
  Response response = render_problem(details, dialect);
  line.request_id = dialect.request_id;
  line.status = response.status;
  shared_.log.write(line);
  return response;
}

Response Gateway::refused(const http::Refusal& refusal, std::string_view client) {
  shared_.metrics.refused(slug_of(refusal.problem));
  ProblemDetails details{refusal.problem, refusal.detail, refusal.status, std::nullopt};
  if (refusal.problem == Problem::overloaded) details.retry_after = overload_retry_after;
  LogLine line;
  line.client = client;
  line.method = line.path = "-";
  line.trouble = refusal.detail;
  return refuse(details, std::move(line));
}

Response Gateway::over_limit(http::ConnectionLimit limit, std::string_view client,
                             const http::RequestHead* head) {
  shared_.metrics.connection_refused(word_of(limit));
  const bool in_all = limit == http::ConnectionLimit::all;
  const std::string whose = in_all ? "" : "from your address ";
  const ProblemDetails details{Problem::overloaded,
                               "There are as many connections " + whose +
                                   "as this node takes. Nothing was sent on. Retry later.",
                               std::nullopt, overload_retry_after};
  LogLine line;
  line.client = client;
  line.method = head == nullptr ? "-" : head->method;
  line.path = head == nullptr ? "-" : loggable_path(head->path);
  line.trouble = in_all ? "[limits] connections are reached" : "connections_per_address is reached";
  return refuse(details, std::move(line));
}

// A flood of them must not be one of lines.
void Gateway::dropped(http::ConnectionLimit limit, std::string_view client) {
  shared_.metrics.connection_refused(word_of(limit));
  using Clock = std::chrono::steady_clock;
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep said = shared_.dropped_said.load();
  if (now - said < Clock::duration(std::chrono::seconds(1)).count()) return;
  if (!shared_.dropped_said.compare_exchange_strong(said, now)) return;
  shared_.log.say("warning",
                  "connections over a limit are closed without an answer: more came at once than "
                  "can be told; the last one from " +
                      std::string(client));
}

void Gateway::failed(std::string_view why) {
  shared_.log.say("warning", "a connection was given up: " + std::string(why));
}

std::optional<ProblemDetails> Gateway::check_message(const ClientContext& context,
                                                     bool disputed) const {
  const http::RequestHead& head = context.request.head;
  if (http::is_loop(head, shared_.pseudonym)) {
    return ProblemDetails{Problem::bad_request, "The upstream is this gateway itself.", 508, {}};
  }
  if (has_stray_body(head, context.route.policy)) {
    const std::string method(head.method);
    return ProblemDetails{
        Problem::bad_request, "A " + method + " request must not have a body here.", {}, {}};
  }
  if (head.path.starts_with(own_prefix)) return std::nullopt;
  const bool reads = changes_nothing(head.method);
  if ((!disputed || reads) && config::is_plainly_canonical(head.path)) return std::nullopt;
  if ((disputed && !reads) || config::may_be_under(head.path, own_prefix)) {
    return ProblemDetails{Problem::bad_request,
                          "The path is another spelling of one that has rules of its own: send it "
                          "without doubled or final slashes, escapes of them or of ? and #, and "
                          "parameters.",
                          {},
                          {}};
  }
  return std::nullopt;
}

Task<void> Gateway::handle(http::ClientRequest& request) {
  const http::RequestHead& head = request.head;
  const bool is_key_call = key_call_in(head.method, head.path).has_value();
  const SharedConfig served = shared_.in_force.now();
  const config::RouteMatch match = served->routes.find(head.method, head.path);
  ClientContext context(request, served, is_key_call ? served->key_api : match.route, clock_.now(),
                        shared_.memory);
  context.line.client = request.client;
  context.line.method = head.method;
  context.line.path = loggable_path(head.path);
  context.line.route = context.route.name;
  if (std::optional<ProblemDetails> trouble = check_message(context, match.disputed)) {
    request.close_after();
    context.trace.trouble = trouble->detail;
    const Response response = boundary_.problem(context, std::move(*trouble));
    context.line.status = response.status;
    co_await request.answer(response);
  } else if (is_key_call) {
    co_await answer_key_call(context);
  } else if (head.path.starts_with(webhooks_path)) {
    co_await answer_webhook(context);
  } else if (head.path.starts_with(own_prefix)) {
    co_await answer_own(context);
  } else if (ends_here(head)) {
    Response response;
    response.status = context.line.status = 204;
    co_await request.answer(response);
  } else if (!config::guards(context.route.policy, head.method) ||
             context.policy.key == KeyRequirement::off) {
    if (!is_safe_to_repeat(head.method)) shared_.metrics.unguarded(context.route.name);
    co_await pass(context);
  } else if (context.policy.mode == Mode::observe) {
    co_await observe(context);
  } else if (context.policy.key == KeyRequirement::optional &&
             !has_key_header(head, context.route.policy)) {
    shared_.metrics.unguarded(context.route.name);
    co_await pass(context);
  } else {
    co_await guard(context);
  }
  context.line.request_id = boundary_.id_of(context);
  context.line.scope = context.scope.text;
  context.line.decision = context.trace.decision;
  context.line.evidence = context.trace.evidence;
  context.line.execution = std::move(context.trace.execution);
  context.line.trouble = std::move(context.trace.trouble);
  context.line.took = clock_.now() - context.arrived_at;
  context.line.upstream_took = context.upstream_took;
  shared_.metrics.request(context.line.route, context.line.status);  // ours: no route of theirs
  if (context.upstream_took.count() > 0) {
    shared_.metrics.upstream_took(context.route.name, context.upstream_took);
  }
  shared_.log.write(context.line);
}

Task<void> Gateway::pass(ClientContext& context, http::PassWatch* watch) {
  http::PassOptions options;
  options.watch = watch;
  options.connect_timeout = context.route.policy.upstream_connect_timeout;
  options.timeout = context.policy.upstream_timeout;
  // What cannot be sent again must not be lost with a connection that died while it was idle.
  if (!is_safe_to_repeat(context.request.head.method)) {
    options.idle_max = context.route.policy.upstream_idle;
  }
  options.pseudonym = shared_.pseudonym;
  options.request_id = boundary_.id_of(context);
  const std::string sender = sender_of(context);
  options.sender = sender;
  options.forbidden = context.served->callers->forbidden_header(context.request.peer);
  options.only_as_spelled = context.served->callers->naming_header();
  http::Passed passed = co_await http::pass_through(context.request, others_, options);
  context.line.status = passed.status;
  context.trace.evidence = to_text(passed.evidence);
  context.trace.trouble = why_unanswered(passed);
  if (!passed.problem) co_return;
  if (context.trace.trouble.empty()) context.trace.trouble = passed.problem->detail;
  ProblemDetails told = told_unguarded(std::move(*passed.problem), context.request.head.method);
  const Response response = boundary_.problem(context, std::move(told));
  context.line.status = response.status;
  co_await context.request.answer(response);
}

// Within the memory that all share.
Task<void> Gateway::deliver(ClientContext& context, Response response) {
  context.body = std::string();
  const std::size_t held = context.withheld_answer ? answer_share : response.body.size();
  // Room for the answer of this very request was set aside; only one that is stored, and was made
  // earlier, can be too much.
  if (!context.memory.resize(held, MemoryUse::admitted)) {
    response = boundary_.overloaded(
        context, std::string("The answer is there, but there is no memory to "
                             "deliver it. ") +
                     (changes_nothing(context.request.head.method) ? "Retry later."
                                                                   : "Retry with the same key."));
    context.replay.reset();
    context.memory = {};
  }
  context.line.status = response.status;
  http::ClientRequest& request = context.request;
  if (context.withheld_answer) {
    co_await request.answer_from(response, *context.spool);
  } else if (context.replay && context.replay->response.body) {
    co_await request.answer(response, context.replay->body);
  } else {
    co_await request.answer(response);
  }
}

}  // namespace pawl::gateway
