// The guarded path: from a request with a key to its one answer.
#include <algorithm>

#include "pawl/core/body_coding.hpp"
#include "pawl/core/sha256.hpp"
#include "src/adapters/http/forwarding.hpp"
#include "src/adapters/http/syntax.hpp"
#include "src/gateway/admitted.hpp"
#include "src/gateway/answer_options.hpp"
#include "src/gateway/attempt_headers.hpp"
#include "src/gateway/passage.hpp"

namespace pawl::gateway {
namespace {

constexpr Duration limit_retry_after = std::chrono::seconds(1);
// A scope may have more open than its limit, which was higher once: how many more is not important.
constexpr std::size_t counted_above = 1000;

ScopeLimits::Ended ended(const Guarded& guarded) {
  if (const auto* refused = std::get_if<Refused>(&guarded)) {
    return refused->reservation.begun ? ScopeLimits::Ended::still_open
                                      : ScopeLimits::Ended::nothing_new;
  }
  const auto* executed = std::get_if<Executed>(&guarded);
  if (executed == nullptr) return ScopeLimits::Ended::nothing_new;
  const bool over = executed->settlement && !is_open(*executed->settlement->record);
  return over ? ScopeLimits::Ended::over : ScopeLimits::Ended::still_open;
}

ProblemDetails details_of(const http::Refusal& refusal) {
  ProblemDetails details{refusal.problem, refusal.detail, refusal.status, std::nullopt};
  if (refusal.problem == Problem::overloaded) details.retry_after = overload_retry_after;
  return details;
}

void append_values(std::string& out, const http::Fields& fields, std::string_view name) {
  for (const http::Field& field : fields) {
    if (!http::same_word(field.name, name)) continue;
    out.append(name).append(std::to_string(field.value.size())).append(":").append(field.value);
  }
}

// The request as the upstream gets it: written anew from its parts.
class Forwarded final : public http::RequestWriter {
 public:
  Forwarded(const http::ClientRequest& request, const config::RoutePolicy& policy,
            std::string_view content, const Shared& shared, const http::UpstreamPool& upstream)
      : request_(request),
        policy_(policy),
        content_(content),
        pseudonym_(shared.pseudonym),
        default_host_(upstream.authority()) {}

  std::string head(const Record& attempt) override {
    const Headers extra = attempt_headers(attempt, policy_.forward_key);
    http::ForwardOptions options;
    options.pseudonym = pseudonym_;
    options.client = request_.client;
    options.default_host = default_host_;
    options.names_key = policy_.forward_key == config::ForwardKey::same;
    options.extra = &extra;
    std::string out;
    out.reserve(1024);
    http::append_request(out, request_.head, options);
    http::append_field(out, "Content-Length", std::to_string(content_.size()));
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

}  // namespace

// What the worker will send. Of the headers only those that the route lists, and what it cannot do
// without.
StoredRequest Gateway::kept_request(const Passage& passage) {
  const http::RequestHead& head = passage.request.head;
  StoredRequest kept;
  kept.target = std::string(head.path);
  if (head.has_query) kept.target.append("?").append(head.query);
  kept.body = passage.body;
  for (const http::Field& field : head.fields) {
    const bool needed =
        http::same_word(field.name, "Host") || http::same_word(field.name, "Idempotency-Key");
    const bool listed = std::ranges::any_of(
        passage.policy.request_headers,
        [&](const std::string& name) { return http::same_word(name, field.name); });
    if (needed || listed)
      kept.headers.push_back({std::string(field.name), std::string(field.value)});
  }
  return kept;
}

Expected<std::string, ProblemDetails> Gateway::caller_of(const Passage& passage) const {
  const http::RequestHead& head = passage.request.head;
  const Callers& callers = shared_.callers;
  std::optional<std::string_view> credential;
  if (!callers.header().empty()) {
    if (http::is_doubtful(head, callers.header())) {
      return Unexpected{
          ProblemDetails{Problem::bad_request, "The caller's credential is ambiguous.", {}, {}}};
    }
    credential = http::find(head.fields, callers.header());
  }
  std::optional<std::string> caller = callers.caller_of(credential);
  if (!caller) return Unexpected{ProblemDetails{Problem::unauthenticated, "", {}, {}}};
  return std::move(*caller);
}

std::string Gateway::sender_of(const Passage& passage) const {
  const http::Fields& fields = passage.request.head.fields;
  std::string sent;
  for (const std::string_view name : shared_.callers.credential_headers()) {
    append_values(sent, fields, name);
  }
  if (!shared_.callers.header().empty()) append_values(sent, fields, shared_.callers.header());
  if (sent.empty()) sent = passage.request.client;
  return hex(sha256(sent));
}

void Gateway::note_credentials(Passage& passage) const {
  if (shared_.callers.chosen()) return;
  std::string sent;
  for (const std::string_view name : shared_.callers.credential_headers()) {
    append_values(sent, passage.request.head.fields, name);
  }
  passage.client = hex(sha256(sent));
  passage.credentials = credentials_of(passage.client, passage.scope, passage.key);
}

// Everything that can be said before the body is there.
std::optional<ProblemDetails> Gateway::identify(Passage& passage) {
  const http::Fields& fields = passage.request.head.fields;
  const Expected<std::string, ProblemDetails> caller = caller_of(passage);
  if (!caller) return caller.error();
  passage.scope = scope_of(*caller, passage.route);

  const std::optional<std::string_view> line = http::find(fields, "Idempotency-Key");
  if (!line) return ProblemDetails{Problem::key_missing, "", {}, {}};
  const std::array<std::string_view, 1> lines{*line};
  Expected<Key, KeyRefusal> key = parse_key(lines, passage.policy.key_rules);
  if (!key) {
    return ProblemDetails{
        Problem::key_invalid, explain(key.error(), passage.policy.key_rules), {}, {}};
  }
  if (passage.policy.transactional && (key->text.front() == ' ' || key->text.back() == ' ')) {
    return ProblemDetails{Problem::key_invalid,
                          "On this route an Idempotency-Key must not start or end with a blank.",
                          {},
                          {}};
  }
  passage.key = std::move(*key);
  passage.key_as_sent = *line;
  passage.line.key = log_name(passage.scope, passage.key);
  note_credentials(passage);
  return check_coding(http::find(fields, "Content-Encoding").value_or(""),
                      http::find(fields, "Content-Type").value_or(""));
}

// False: the client has its answer, or is gone. `trouble`: already known to be refused; nothing of
// such a body is kept.
Task<bool> Gateway::read_body(Passage& passage, std::optional<ProblemDetails> trouble) {
  http::ClientRequest& request = passage.request;
  const std::size_t limit = passage.policy.body_limit;
  if (!trouble && request.head.framing == http::Framing::length && request.head.length > limit) {
    trouble = details_of(http::body_too_large(limit));
  }
  if (trouble) {
    co_await request.discard_body();
  } else {
    Expected<std::string, http::BodyTrouble> body =
        co_await request.read_body(limit, passage.memory);
    if (body) {
      passage.body = std::move(*body);
      co_return true;
    }
    const std::optional<http::Refusal> refusal = http::refusal_of(std::move(body.error()));
    if (!refusal) {  // cut off: nobody is left to be told
      request.fail();
      passage.line.trouble = "the body did not arrive";
      co_return false;
    }
    trouble = details_of(*refusal);
    request.close_after();
    request.stream().revive();
  }
  // Ambiguous messages end their connection; the others may go on if nothing is left unread.
  if (trouble->problem != Problem::key_missing && trouble->problem != Problem::unauthenticated) {
    request.close_after();
  }
  passage.line.trouble = slug_of(trouble->problem);
  const Response response = problem(passage, std::move(*trouble));
  passage.line.status = response.status;
  passage.memory = {};  // what was read of it is gone
  co_await request.answer(response);
  co_return false;
}

Task<void> Gateway::guard(Passage& passage) {
  std::optional<ProblemDetails> trouble = identify(passage);
  if (!co_await read_body(passage, std::move(trouble))) co_return;
  passage.name_host(shared_.config.hosts);

  Expected<Fingerprinted, json::Error> made = fingerprint(
      passage.content(), passage.policy.fingerprint, shared_.config.fingerprint_secrets);
  Response response;
  if (!made) {
    passage.request.close_after();
    passage.line.trouble = slug_of(Problem::body_invalid);
    std::string detail = "The body is not valid JSON: " + made.error().what + " at byte " +
                         std::to_string(made.error().at_byte) + ".";
    ProblemDetails invalid{Problem::body_invalid, std::move(detail), {}, {}};
    response = problem(passage, std::move(invalid));
  } else {
    passage.fingerprint = std::move(made->fingerprint);
    passage.purge_epoch = shared_.cache.epoch();
    std::optional<Response> replay = from_memory(passage);
    if (replay) {
      response = std::move(*replay);
    } else {
      response = co_await find_or_make(passage);
    }
  }
  co_await deliver(passage, std::move(response));
}

// What memory does not know.
Task<Response> Gateway::find_or_make(Passage& passage) {
  const bool near = is_near_duplicate(passage);
  if (near) shared_.metrics.near_duplicate(passage.route.name);
  Response response;
  if (near && passage.policy.near_duplicates == config::NearDuplicates::refuse) {
    response = co_await look_only(passage, Problem::near_duplicate);
  } else if (passage.policy.in_flight == WhenInFlight::wait) {
    response = co_await take_turns(passage);
  } else {
    response = co_await reserve_and_execute(passage);
  }
  if (near) response.headers.push_back({"Pawl-Near-Duplicate", "true"});
  co_return response;
}

// Looked at only where no answer is known for the key: what is done already is replayed.
bool Gateway::is_near_duplicate(const Passage& passage) {
  if (passage.policy.near_duplicates == config::NearDuplicates::off) return false;
  const Scope whose{passage.scope.text + passage.client};  // two clients tap twice together
  return shared_.near_duplicates.seen_under_another_key(
      whose, passage.fingerprint, passage.key, clock_.now(), passage.policy.near_duplicate_window);
}

// A replay, or misuse of a key whose answer is known, without asking the store.
std::optional<Response> Gateway::from_memory(Passage& passage) {
  const std::shared_ptr<const Cached> cached = shared_.cache.find(passage.scope, passage.key);
  if (!cached || !engine_.time().known()) return std::nullopt;
  if (engine_.time().at_latest(clock_.now()) >= cached->expires_at) return std::nullopt;
  if (!passage.credentials.empty() && cached->credentials != passage.credentials) {
    shared_.metrics.duplicate(passage.scope.text);
    passage.line.decision = to_text(DecisionKind::unproven);
    ProblemDetails unproven{Problem::caller_unproven, "", {}, {}};
    return problem(passage, std::move(unproven));
  }
  const bool same = cached->fingerprint == passage.fingerprint ||
                    passage.is_what_was_meant(cached->fingerprint, cached->rules,
                                              shared_.config.fingerprint_secrets);
  shared_.metrics.duplicate(passage.scope.text);
  if (!same) {
    shared_.metrics.misuse(passage.scope.text);
    shared_.metrics.decided_in_memory(to_text(DecisionKind::misuse));
    passage.line.decision = to_text(DecisionKind::misuse);
    passage.line.execution = cached->request_id;
    ProblemDetails reused{Problem::key_reused, "", {}, {}};
    return problem(passage, std::move(reused));
  }
  shared_.metrics.replayed(/*from_memory=*/true);
  shared_.metrics.decided_in_memory(to_text(DecisionKind::replay));
  passage.line.decision = to_text(DecisionKind::replay);
  passage.line.execution = passage.request_id = cached->request_id;
  return render_replay(passage, cached);
}

Task<Response> Gateway::reserve_and_execute(Passage& passage) {
  if (!shared_.breaker.lets_through(clock_.now())) {
    passage.line.trouble = "the store is known to be away";
    ProblemDetails away{Problem::store_unavailable, "", {}, Breaker::retry_after};
    co_return problem(passage, std::move(away));
  }
  // Once it is sent there is no way back: so its answer has room set aside before. A request that
  // is stored has its body twice.
  const std::size_t bodies = passage.policy.mode == Mode::async ? 2 : 1;
  const std::size_t needed = bodies * passage.body.size() + answer_share;
  const bool has_room = co_await admit(passage, needed);
  if (!has_room) co_return overloaded(passage);
  std::optional<Response> refused = co_await refuse_new_work(passage);
  if (refused) co_return std::move(*refused);
  Granted granted(shared_.limits, passage.scope, passage.policy);
  Request request;
  request.scope = passage.scope;
  request.key = passage.key;
  request.fingerprint = passage.fingerprint;
  request.credentials = passage.credentials;
  request.meant_then = [&](const Fingerprint& stored, const FingerprintRules& rules) {
    return passage.is_what_was_meant(stored, rules, shared_.config.fingerprint_secrets);
  };
  request.method = passage.request.head.method;
  request.path = passage.request.head.path;
  request.route = passage.route.name;
  if (passage.policy.mode == Mode::async) request.stored = kept_request(passage);
  Forwarded forwarded(passage.request, passage.policy, passage.body, shared_, upstream_);
  http::CallOptions options;
  options.connect_timeout = passage.policy.upstream_connect_timeout;
  options.idle_max = passage.policy.upstream_idle;
  options.sender = sender_of(passage);
  read_answers(options, passage.policy, shared_.memory);
  http::UpstreamCall call(upstream_, forwarded, options);
  Admitted admitted(call, passage.memory, needed);
  Guarded guarded = co_await engine_.guard(request, passage.policy, admitted);
  granted.how = ended(guarded);
  passage.spool = call.spool();
  passage.memory.absorb(call.take_memory());
  passage.upstream_took = call.took();
  if (request.stored) shared_.accepted();
  co_return render_guarded(passage, std::move(guarded));
}

// Nothing: there is room for it, and it must be `finished`.
Task<std::optional<Response>> Gateway::refuse_new_work(Passage& passage) {
  ScopeLimits& limits = shared_.limits;
  ScopeLimits::Start start = limits.start(passage.scope, passage.policy, clock_.now());
  if (start.verdict == ScopeLimits::Verdict::count_first) {
    const StoreResult<std::size_t> active =
        co_await store_.count_active(passage.scope, *passage.policy.active_keys + counted_above);
    if (!active) {
      limits.not_counted(passage.scope);
      co_return store_failed(passage, active.error());
    }
    limits.counted(passage.scope, *active, start.mark, clock_.now());
    start = limits.start_counted(passage.scope, passage.policy, clock_.now());
  }
  switch (start.verdict) {
    case ScopeLimits::Verdict::granted: break;
    case ScopeLimits::Verdict::too_fast:
      co_return co_await look_only(passage, Problem::rate_limited);
    case ScopeLimits::Verdict::count_first:
    case ScopeLimits::Verdict::too_many:
      co_return co_await look_only(passage, Problem::too_many_keys);
  }
  co_return std::nullopt;
}

// In place of a reservation for a scope that is over its limit: a replay is served, new work is
// not, and nothing is written.
Task<Response> Gateway::look_only(Passage& passage, std::optional<Problem> instead) {
  Request request;
  request.scope = passage.scope;
  request.key = passage.key;
  request.fingerprint = passage.fingerprint;
  request.credentials = passage.credentials;
  request.meant_then = [&](const Fingerprint& stored, const FingerprintRules& rules) {
    return passage.is_what_was_meant(stored, rules, shared_.config.fingerprint_secrets);
  };
  StoreResult<std::optional<Reservation>> seen = co_await engine_.peek(request, passage.policy);
  if (!seen) {
    Guarded unreserved = Unreserved{seen.error()};
    co_return render_guarded(passage, std::move(unreserved));
  }
  if (*seen) {
    Guarded refused = Refused{std::move(**seen)};
    co_return render_guarded(passage, std::move(refused));
  }
  if (!instead) co_return Response{};
  passage.line.trouble = slug_of(*instead);
  ProblemDetails limited{*instead, "", {}, limit_retry_after};
  co_return problem(passage, std::move(limited));
}

}  // namespace pawl::gateway
