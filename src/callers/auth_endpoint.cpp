#include "src/callers/auth_endpoint.hpp"

#include <algorithm>

#include "src/adapters/http/syntax.hpp"

namespace pawl::callers {
namespace {

Digest digest_of(const Headers& sent) {
  std::string all;
  for (const Header& header : sent) {
    all.append(header.name).append(" ").append(std::to_string(header.value.size()));
    all.append(":").append(header.value);
  }
  return sha256(all);
}

std::vector<std::string_view> values_of(const Headers& headers, std::string_view name) {
  std::vector<std::string_view> values;
  for (const Header& header : headers) {
    if (http::same_word(header.name, name)) values.push_back(http::trimmed(header.value));
  }
  return values;
}

constexpr Duration answer_poll_pause = std::chrono::milliseconds(5);

Identified cannot_be_checked() {
  return not_known_now("Who you are cannot be checked now. Nothing was sent on.");
}

}  // namespace

// However it ends, those that wait have an answer.
class AuthEndpoint::Turn {
 public:
  Turn(AuthEndpoint& rule, const Digest& digest, std::shared_ptr<Question> question)
      : rule_(rule), digest_(digest), question_(std::move(question)) {}
  ~Turn() { answered(cannot_be_checked()); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  void answered(const Identified& caller) {
    const std::lock_guard lock(rule_.mutex_);
    if (question_->answer) return;
    question_->answer = caller;
    rule_.under_way_.erase(digest_);
  }

 private:
  AuthEndpoint& rule_;
  const Digest digest_;
  const std::shared_ptr<Question> question_;
};

std::optional<std::string> AllowedCallers::find(const Digest& credentials, BootTime now) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(credentials);
  if (found == entries_.end() || now >= found->second.until) return std::nullopt;
  return found->second.name;
}

void AllowedCallers::keep(const Digest& credentials, std::string name, BootTime now) {
  if (keep_for_ <= Duration{0}) return;
  const std::lock_guard lock(mutex_);
  while (!order_.empty() && (order_.front().first <= now || order_.size() >= entries_max)) {
    const auto found = entries_.find(order_.front().second);
    if (found != entries_.end() && found->second.until == order_.front().first) {
      entries_.erase(found);
    }
    order_.pop_front();
  }
  const BootTime until = now + keep_for_;
  entries_[credentials] = Entry{std::move(name), until};
  order_.emplace_back(until, credentials);
}

AuthEndpoint::AuthEndpoint(const config::Caller& config, std::shared_ptr<AllowedCallers> allowed,
                           Log& log)
    : url_(config.url),
      endpoint_(config::parse_endpoint(config.url).value()),
      scope_header_(config.scope_header),
      sent_(config.request_headers),
      timeout_(config.timeout),
      log_(log),
      allowed_(std::move(allowed)) {}

Expected<Headers, ProblemDetails> AuthEndpoint::credentials_in(
    const http::RequestHead& head) const {
  Headers sent;
  for (const std::string& name : sent_) {
    const auto value = credential_in(head, name);
    if (!value) return Unexpected{value.error()};
    if (*value) sent.push_back({name, std::string(**value)});
  }
  return sent;
}

std::optional<Identified> AuthEndpoint::identify(const ClientView& client, BootTime now) {
  const Expected<Headers, ProblemDetails> sent = credentials_in(client.head);
  if (!sent) return Identified(Unexpected{sent.error()});
  if (sent->empty()) return unauthenticated("Bearer realm=\"pawl\"");
  std::optional<std::string> name = allowed_->find(digest_of(*sent), now);
  if (!name) return std::nullopt;
  return Identified(KnownCaller{std::move(*name), std::nullopt});
}

Task<Identified> AuthEndpoint::ask(ClientView client, Endpoints& endpoints) {
  Expected<Headers, ProblemDetails> sent = credentials_in(client.head);
  if (!sent) co_return Unexpected{sent.error()};
  const Digest digest = digest_of(*sent);
  std::shared_ptr<Question> question;
  bool ours = false;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Question>& there = under_way_[digest];
    ours = !there;
    if (ours) there = std::make_shared<Question>();
    question = there;
  }
  if (!ours) co_return co_await wait_for(std::move(question), endpoints.clock());
  Turn turn(*this, digest, std::move(question));
  Identified caller = co_await ask_endpoint(std::move(*sent), digest, endpoints);
  turn.answered(caller);
  co_return caller;
}

Task<Identified> AuthEndpoint::wait_for(std::shared_ptr<Question> question, Clock& clock) {
  const BootTime end = clock.now() + timeout_;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (question->answer) co_return *question->answer;
    }
    if (clock.now() >= end) co_return cannot_be_checked();
    co_await clock.sleep_until(clock.now() + answer_poll_pause);
  }
}

Task<Identified> AuthEndpoint::ask_endpoint(Headers sent, Digest digest, Endpoints& endpoints) {
  const Expected<Response, std::string> answer =
      co_await endpoints.get(endpoint_, std::move(sent), timeout_, AnswerEnd::by_closing);
  if (!answer) {
    say(answer.error());
    co_return cannot_be_checked();
  }
  Identified caller = judge(*answer);
  const bool odd = !caller && caller.error().problem == Problem::auth_unavailable;
  say(odd ? "answered " + std::to_string(answer->status) + " without one usable " + scope_header_
          : std::string());
  if (caller) allowed_->keep(digest, caller->name, endpoints.clock().now());
  co_return caller;
}

Identified AuthEndpoint::judge(const Response& answer) const {
  if (answer.status == 401) {
    const std::vector<std::string_view> challenges = values_of(answer.headers, "WWW-Authenticate");
    return unauthenticated(challenges.size() == 1 ? std::string(challenges.front())
                                                  : "Bearer realm=\"pawl\"");
  }
  if (answer.status == 403) {
    return Unexpected{ProblemDetails{Problem::forbidden, "", {}, {}}};
  }
  const std::vector<std::string_view> names = values_of(answer.headers, scope_header_);
  const bool allowed = answer.status >= 200 && answer.status < 300;
  if (allowed && names.size() == 1 && may_be_name(names.front())) {
    return KnownCaller{std::string(names.front()), std::nullopt};
  }
  return cannot_be_checked();
}

// Once, not for every request.
void AuthEndpoint::say(const std::string& trouble) {
  const std::lock_guard lock(mutex_);
  if (trouble.empty() == trouble_.empty()) return;
  trouble_ = trouble;
  if (trouble.empty()) {
    log_.say("info", url_ + ": callers can be checked again");
  } else {
    log_.say("warning",
             url_ + ": callers cannot be checked: " + trouble + "; requests are refused with 503");
  }
}

}  // namespace pawl::callers
