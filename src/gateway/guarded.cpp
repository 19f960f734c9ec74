// The guarded path: from a request with a key to its one answer.
#include <array>
#include <functional>
#include <span>

#include "src/adapters/http/forwarding.hpp"
#include "src/adapters/http/syntax.hpp"
#include "src/callers/request_time.hpp"
#include "src/callers/tokens.hpp"
#include "src/config/scope_rule.hpp"
#include "src/core/body_coding.hpp"
#include "src/core/encoding.hpp"
#include "src/core/sha256.hpp"
#include "src/gateway/client_context.hpp"
#include "src/gateway/key_path.hpp"
#include "src/gateway/request_key.hpp"
#include "src/gateway/upstream_attempt.hpp"

namespace pawl::gateway {
namespace {

ProblemDetails details_of(const http::Refusal& refusal) {
  ProblemDetails details{refusal.problem, refusal.detail, refusal.status, std::nullopt};
  if (refusal.problem == Problem::overloaded) details.retry_after = overload_retry_after;
  return details;
}

// What is refused for what it lacks: it could be read all the same.
bool is_unambiguous(Problem problem) {
  return problem == Problem::key_missing || problem == Problem::unauthenticated ||
         problem == Problem::forbidden || problem == Problem::auth_unavailable;
}

void append_values(std::string& out, const http::Fields& fields, std::string_view name) {
  for (const http::Field& field : fields) {
    if (!http::same_word(field.name, name)) continue;
    out.append(name).append(std::to_string(field.value.size())).append(":").append(field.value);
  }
}

// Where a caller reads what became of its key.
std::string status_url(const Key& key, const config::Route& route) {
  std::string url = "/_pawl/v1/keys/" + percent_encoded(key.text);
  if (route.policy.key_scope == config::KeyScope::caller_route) {
    url += "?route=" + percent_encoded(route.name);
  }
  return url;
}

// The request as the upstream gets it: written anew from its parts.
class Forwarded final : public http::RequestWriter {
 public:
  Forwarded(const http::ClientRequest& request, const config::RoutePolicy& policy,
            std::string_view content, const NodeServices& shared,
            const http::UpstreamPool& upstream)
      : request_(request),
        policy_(policy),
        content_(content),
        pseudonym_(shared.pseudonym),
        default_host_(upstream.authority()) {}

  std::string head(const Record& attempt) override {
    const ForwardKey sent_key = sent_key_of(attempt, policy_.forward_key);
    const Headers extra = attempt_headers(attempt, sent_key);
    http::ForwardOptions options;
    options.pseudonym = pseudonym_;
    options.client = request_.hop;
    options.default_host = default_host_;
    options.scheme = request_.scheme();
    options.names_key = sent_key == ForwardKey::same;
    options.extra = &extra;
    std::string out;
    out.reserve(1024);
    http::append_request(out, request_.head, options);
    http::append_field(out, "Content-Length", std::to_string(content_.size()));
    // A server that does not read the body ends the connection rather than taking it for a request.
    if (request_.head.method == "DELETE" && !content_.empty()) {
      http::append_field(out, "Connection", "close");
    }
    out += "\r\n";
    return out;
  }

  [[nodiscard]] std::string_view body() const override { return content_; }

 private:
  const http::ClientRequest& request_;
  const config::RoutePolicy& policy_;
  std::string_view content_;
  std::string_view pseudonym_;
  std::string_view default_host_;
};

// The call is made only once the key is reserved: most requests of a busy key need none.
class UpstreamExecution final : public Execution {
 public:
  UpstreamExecution(http::UpstreamPool& upstream, Forwarded& request, http::CallOptions options,
                    std::function<std::string()> sender)
      : upstream_(upstream), request_(request), options_(options), sender_(std::move(sender)) {}

  Task<Outcome> send(const Record& attempt, SendGate& gate, BootTime deadline) override {
    options_.sender = sender_();
    call_.emplace(upstream_, request_, options_);
    return call_->send(attempt, gate, deadline);
  }
  Charge take_memory() override { return call_ ? call_->take_memory() : Charge(); }
  [[nodiscard]] bool has_whole_answer() const override {
    const std::shared_ptr<const http::Spool> answer = spool();
    return answer && answer->whole();
  }
  [[nodiscard]] std::shared_ptr<const http::Spool> spool() const {
    return call_ ? call_->spool() : nullptr;
  }
  [[nodiscard]] Duration took() const { return call_ ? call_->took() : Duration{0}; }

 private:
  http::UpstreamPool& upstream_;
  Forwarded& request_;
  http::CallOptions options_;
  const std::function<std::string()> sender_;
  std::optional<http::UpstreamCall> call_;
};

}  // namespace

std::optional<callers::Identified> Gateway::known_caller(const ClientContext& context) const {
  return context.served->callers->identify(context.view(), clock_.now());
}

Task<callers::Identified> Gateway::ask_for_caller(ClientContext& context) {
  return context.served->callers->ask(context.view(), endpoints_);
}

std::string Gateway::sender_of(const ClientContext& context) const {
  const http::Fields& fields = context.request.head.fields;
  std::string sent;
  for (const std::string_view name : context.served->callers->credential_headers()) {
    append_values(sent, fields, name);
  }
  for (const std::string_view name : context.served->callers->caller_headers()) {
    append_values(sent, fields, name);
  }
  const auto& certificate = context.request.certificate;
  // Not its subject: two tenants' may be the same, or both empty.
  if (certificate) sent.append("certificate ").append(certificate->sha256);
  if (sent.empty()) sent = context.request.client;
  return hex(sha256(sent));
}

void Gateway::note_credentials(ClientContext& context) const {
  if (context.served->callers->chosen()) return;
  std::string sent;
  for (const std::string_view name : context.served->callers->credential_headers()) {
    append_values(sent, context.request.head.fields, name);
  }
  context.client = hex(sha256(sent));
  context.credentials = callers::credentials_of(context.client, context.scope, context.key);
}

// By the store's clock, which is what keys expire by, and its latest time: what is left of an age
// must not depend on how this machine's clock is set.
void Gateway::check_age(ClientContext& context, const callers::KnownCaller& caller) const {
  const config::RoutePolicy& policy = context.route.policy;
  if (!policy.max_request_age) return;
  constexpr std::string_view opening = "header:";
  const bool by_header = policy.request_time.starts_with(opening);
  const std::string where = by_header ? policy.request_time.substr(opening.size()) : "iat";
  std::optional<Instant> made = caller.issued_at;
  if (by_header) {
    const http::RequestHead& head = context.request.head;
    const std::optional<std::string_view> text =
        http::is_doubtful(head, where) ? std::nullopt : http::find(head.fields, where);
    made = text ? callers::parse_request_time(*text) : std::nullopt;
  }
  const StoreTime& time = engine_.time();
  const Instant now = time.known() ? time.at_latest(clock_.now()) : callers::wall_time();
  if (!made) {
    context.stale = "The request does not say in " + where + " when it was made.";
    return;
  }
  const Duration allowed = config::age_allowed(*shared_.earlier_ages.now(), context.route.name,
                                               *made, *policy.max_request_age);
  if (now - *made > allowed) {
    context.stale = "The request was made longer ago, by its " + where + ", than is accepted here.";
  } else if (*made - now > *policy.max_request_age) {
    context.stale = "The request is dated ahead, by its " + where + ", of what is accepted here.";
  }
}

// Everything that can be said before the body is there.
std::optional<ProblemDetails> Gateway::identify(ClientContext& context,
                                                const callers::Identified& caller) {
  const http::Fields& fields = context.request.head.fields;
  if (!caller) return caller.error();
  context.scope = config::scope_of(caller->name, context.route);
  check_age(context, *caller);

  const config::RoutePolicy& policy = context.route.policy;
  const auto line = key_in_head(context.request.head, policy);
  if (!line) return line.error();
  const std::string_view coding = http::find(fields, "Content-Encoding").value_or("");
  if (!*line && config::has_body_key(policy)) return check_coding(coding, context.content_type);
  if (!*line) return key_missing(policy);
  const std::array<std::string_view, 1> lines{**line};
  std::optional<ProblemDetails> trouble = boundary_.identify(context, lines, coding);
  if (context.key.text.empty()) return trouble;
  context.line.key = log_name(context.scope, context.key);
  note_credentials(context);
  return trouble;
}

// Once the body is there, and can be read.
std::optional<ProblemDetails> Gateway::identify_by_body(ClientContext& context) {
  const config::RoutePolicy& policy = context.route.policy;
  if (!config::has_body_key(policy)) return std::nullopt;
  Expected<std::optional<std::string>, ProblemDetails> found =
      key_in_body(context.content_type, context.body, policy);
  if (!found) return found.error();
  const bool named_before = !context.key.text.empty();
  if (!*found) return named_before ? std::nullopt : std::optional(key_missing(policy));
  if (named_before && **found != context.key.text) return two_keys();
  if (named_before) return std::nullopt;
  context.key_in_body = std::move(**found);
  if (auto trouble = boundary_.identify_text(context, context.key_in_body)) return trouble;
  context.line.key = log_name(context.scope, context.key);
  note_credentials(context);
  return std::nullopt;
}

// False: the client has its answer, or is gone. `trouble`: already known to be refused; nothing of
// such a body is kept.
Task<bool> Gateway::read_body(ClientContext& context, std::optional<ProblemDetails> trouble) {
  http::ClientRequest& request = context.request;
  const std::size_t limit = context.route.policy.body_limit;
  if (!trouble && request.head.framing == http::Framing::length && request.head.length > limit) {
    trouble = details_of(http::body_too_large(limit));
  }
  if (trouble) {
    co_await request.discard_body();
  } else {
    Expected<std::string, http::BodyTrouble> body =
        co_await request.read_body(limit, context.memory);
    if (body) {
      context.body = std::move(*body);
      co_return true;
    }
    const std::optional<http::Refusal> refusal = http::refusal_of(std::move(body.error()));
    if (!refusal) {  // cut off: there is no client to answer
      request.fail();
      context.trace.trouble = "the body did not arrive";
      co_return false;
    }
    trouble = details_of(*refusal);
    request.close_after();
    request.stream().revive();
  }
  // Ambiguous messages end their connection; the others may go on if nothing is left unread.
  if (!is_unambiguous(trouble->problem)) request.close_after();
  context.trace.trouble = slug_of(trouble->problem);
  const Response response = boundary_.problem(context, std::move(*trouble));
  context.line.status = response.status;
  context.memory = {};  // what was read of it is gone
  co_await request.answer(response);
  co_return false;
}

Task<void> Gateway::guard(ClientContext& context) {
  std::optional<callers::Identified> caller = known_caller(context);
  if (!caller) caller = co_await ask_for_caller(context);
  std::optional<ProblemDetails> trouble = identify(context, *caller);
  if (!co_await read_body(context, std::move(trouble))) co_return;
  context.name_host(context.served->config.hosts);
  const config::RoutePolicy& policy = context.route.policy;
  std::optional<Response> refused = boundary_.take_fingerprint(context);
  if (!refused) {
    std::optional<ProblemDetails> keyless = identify_by_body(context);
    if (keyless) refused = boundary_.problem(context, std::move(*keyless));
  }
  if (refused) {
    context.request.close_after();
    co_await deliver(context, std::move(*refused));
    co_return;
  }
  const bool may_accept = policy.in_flight == WhenInFlight::accepted || policy.mode == Mode::async;
  if (may_accept) context.status_url = status_url(context.key, context.route);
  Forwarded forwarded(context.request, policy, context.body, shared_, upstream_);
  http::CallOptions options;
  options.connect_timeout = policy.upstream_connect_timeout;
  options.idle_max = policy.upstream_idle;
  read_answers(options, policy, shared_.memory);
  UpstreamExecution execution(upstream_, forwarded, options,
                              [this, &context] { return sender_of(context); });
  Response response = co_await boundary_.handle(context, execution);
  context.spool = execution.spool();
  context.upstream_took = execution.took();
  co_await deliver(context, std::move(response));
}

}  // namespace pawl::gateway
