// mode = "observe": the request passes as if it needed no key, and is recorded on its way.
#include <algorithm>
#include <utility>

#include "src/adapters/http/forwarding.hpp"
#include "src/adapters/http/syntax.hpp"
#include "src/core/sha256.hpp"
#include "src/gateway/client_context.hpp"
#include "src/gateway/request_key.hpp"
#include "src/observe/recorder.hpp"

namespace pawl::gateway {
namespace {

using observe::ObservedRequest;
using observe::PredictedDecision;
using observe::Recorder;

// A key that can be guessed could be found in a plain digest; not where there is a secret.
std::string digest_of(const Scope& scope, const Key& key, const FingerprintSecrets& secrets) {
  std::string both = std::to_string(scope.text.size());
  both.append(":").append(scope.text).append(key.text);
  return hex(secrets.empty() ? sha256(both) : hmac_sha256(secrets.front().bytes, both));
}

// Gathers a request for the recorder: whole as soon as its body is, else at its end.
class Watch final : public http::PassWatch {
 public:
  Watch(Recorder& recorder, const Clock& clock, ObservedRequest observed, std::size_t body_limit,
        Charge& memory)
      : recorder_(recorder),
        clock_(clock),
        observed_(std::move(observed)),
        body_limit_(body_limit),
        memory_(memory),
        id_(observed_.id),
        owner_(observed_.owner) {}

  void piece(std::string_view bytes) override {
    if (too_large_) return;
    too_large_ = bytes.size() > body_limit_ - seen_;
    seen_ += bytes.size();
    const bool kept = !too_large_ && !observed_.certain;
    const bool fits = kept && memory_.cover(charged_for(seen_, body_limit_), MemoryUse::new_work);
    if (fits) {
      observed_.body.append(bytes);
      return;
    }
    if (kept) observed_.certain = PredictedDecision::dropped;  // no memory to keep it
    observed_.body = std::string();
    memory_.resize(0, MemoryUse::new_work);
  }

  void whole() override {
    if (too_large_) observed_.certain = PredictedDecision::body_too_large;
    tell();
  }

  void ended(const Outcome& outcome) override {
    if (!told_) {
      observed_.certain = PredictedDecision::not_read;
      tell();
    }
    if (!std::exchange(taken_, false)) return;
    recorder_.ended(observe::ObservedOutcome{id_, owner_, clock_.now(), outcome});
  }

 private:
  void tell() {
    if (told_) return;
    told_ = true;
    observed_.at = clock_.now();
    const bool predicted = !observed_.certain;
    const bool kept = recorder_.saw(std::move(observed_));  // from here on it counts the bytes
    memory_.resize(0, MemoryUse::new_work);
    taken_ = kept && predicted;
  }

  Recorder& recorder_;
  const Clock& clock_;
  ObservedRequest observed_;
  const std::size_t body_limit_;
  Charge& memory_;
  const ObservedKey id_;
  const Owner owner_;
  std::size_t seen_ = 0;  // of the body
  bool too_large_ = false;
  bool told_ = false;
  bool taken_ = false;
};

}  // namespace

Task<void> Gateway::observe(ClientContext& context) {
  const http::RequestHead& head = context.request.head;
  ObservedRequest observed;
  observed.route = {context.route.name,
                    std::shared_ptr<const BoundaryPolicy>(context.served, &context.route.policy),
                    context.route.policy.upstream_connect_timeout};
  observed.owner = entropy_.new_owner();
  const bool has_key = has_key_header(head, context.route.policy);
  std::optional<callers::Identified> caller = known_caller(context);
  if (!caller) caller = co_await ask_for_caller(context);
  const std::optional<ProblemDetails> trouble = identify(context, *caller);
  if (trouble) observed.certain = observe::predicted_for(trouble->problem);
  const bool needs_none = context.policy.key == KeyRequirement::optional && !has_key;
  if (needs_none) observed.certain = PredictedDecision::unguarded;
  observed.id.scope =
      context.scope.text.empty() ? std::string(Recorder::unauthenticated) : context.scope.text;
  if (!context.key.text.empty()) {
    observed.id.key = digest_of(context.scope, context.key, context.secrets);
  }
  observed.key_name = context.line.key;
  observed.client = context.client;
  observed.credentials = context.credentials;
  observed.method = head.method;
  observed.path = head.path;
  observed.query = head.query;
  observed.content_type = http::find(head.fields, "Content-Type").value_or("");
  if (!observed.certain &&
      head.framing == http::Framing::length) {  // grown, it would be held twice
    observed.body.reserve(std::min<std::size_t>(head.length, context.route.policy.body_limit));
  }
  Watch watch(*shared_.recorder, clock_, std::move(observed), context.route.policy.body_limit,
              context.memory);
  co_await pass(context, &watch);
}

}  // namespace pawl::gateway
