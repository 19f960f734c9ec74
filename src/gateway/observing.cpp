// mode = "observe": the request passes as if it needed no key, and is looked at on its way.
#include <algorithm>
#include <utility>

#include "pawl/core/sha256.hpp"
#include "src/adapters/http/forwarding.hpp"
#include "src/adapters/http/syntax.hpp"
#include "src/gateway/observer.hpp"
#include "src/gateway/passage.hpp"

namespace pawl::gateway {
namespace {

// A key that can be guessed could be found in a plain digest; not where there is a secret.
std::string digest_of(const Scope& scope, const Key& key, const FingerprintSecrets& secrets) {
  std::string both = std::to_string(scope.text.size());
  both.append(":").append(scope.text).append(key.text);
  return hex(secrets.empty() ? sha256(both) : hmac_sha256(secrets.front().bytes, both));
}

// Gathers a request for the observer: whole as soon as its body is, else at its end.
class Watch final : public http::PassWatch {
 public:
  Watch(Observer& observer, const Clock& clock, Sighting sighting, std::size_t body_limit,
        http::Charge& memory)
      : observer_(observer),
        clock_(clock),
        sighting_(std::move(sighting)),
        body_limit_(body_limit),
        memory_(memory),
        id_(sighting_.id),
        owner_(sighting_.owner) {}

  void piece(std::string_view bytes) override {
    if (too_large_) return;
    too_large_ = bytes.size() > body_limit_ - seen_;
    seen_ += bytes.size();
    const bool kept = !too_large_ && !sighting_.certain;
    const bool fits =
        kept && memory_.cover(http::charged_for(seen_, body_limit_), http::MemoryUse::new_work);
    if (fits) {
      sighting_.body.append(bytes);
      return;
    }
    if (kept) sighting_.certain = Would::dropped;  // no memory to look at it
    sighting_.body = std::string();
    memory_.resize(0, http::MemoryUse::new_work);
  }

  void whole() override {
    if (too_large_) sighting_.certain = Would::body_too_large;
    tell();
  }

  void ended(const Outcome& outcome) override {
    if (!told_) {
      sighting_.certain = Would::not_read;
      tell();
    }
    if (!std::exchange(taken_, false)) return;
    observer_.ended(Ending{id_, owner_, clock_.now(), outcome});
  }

 private:
  void tell() {
    if (told_) return;
    told_ = true;
    sighting_.at = clock_.now();
    const bool judged = !sighting_.certain;
    const bool kept = observer_.saw(std::move(sighting_));  // from here on it counts the bytes
    memory_.resize(0, http::MemoryUse::new_work);
    taken_ = kept && judged;
  }

  Observer& observer_;
  const Clock& clock_;
  Sighting sighting_;
  const std::size_t body_limit_;
  http::Charge& memory_;
  const ObservedKey id_;
  const Owner owner_;
  std::size_t seen_ = 0;  // of the body
  bool too_large_ = false;
  bool told_ = false;
  bool taken_ = false;
};

}  // namespace

Task<void> Gateway::observe(Passage& passage) {
  const http::RequestHead& head = passage.request.head;
  Sighting sighting;
  sighting.route = &passage.route;
  sighting.owner = entropy_.new_owner();
  const bool has_key = http::find(head.fields, "Idempotency-Key").has_value();
  const std::optional<ProblemDetails> trouble = identify(passage);
  if (trouble) sighting.certain = would_of(trouble->problem);
  const bool needs_none = passage.policy.key == KeyRequirement::optional && !has_key;
  if (needs_none) sighting.certain = Would::unguarded;
  sighting.id.scope =
      passage.scope.text.empty() ? std::string(Observer::nobody) : passage.scope.text;
  if (!passage.key.text.empty()) {
    sighting.id.key = digest_of(passage.scope, passage.key, shared_.config.fingerprint_secrets);
  }
  sighting.key_name = passage.line.key;
  sighting.client = passage.client;
  sighting.credentials = passage.credentials;
  sighting.method = head.method;
  sighting.path = head.path;
  sighting.query = head.query;
  sighting.content_type = http::find(head.fields, "Content-Type").value_or("");
  if (!sighting.certain &&
      head.framing == http::Framing::length) {  // grown, it would be held twice
    sighting.body.reserve(std::min<std::size_t>(head.length, passage.policy.body_limit));
  }
  Watch watch(*shared_.observer, clock_, std::move(sighting), passage.policy.body_limit,
              passage.memory);
  co_await pass(passage, &watch);
}

}  // namespace pawl::gateway
