// mode = "observe": the request passes as if it needed no key, and is recorded on its way.
#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <list>
#include <utility>

#include "src/adapters/http/forwarding.hpp"
#include "src/adapters/http/syntax.hpp"
#include "src/config/scope_rule.hpp"
#include "src/core/sha256.hpp"
#include "src/gateway/client_context.hpp"
#include "src/gateway/observation.hpp"
#include "src/gateway/request_key.hpp"
#include "src/workers/failures.hpp"

namespace pawl::gateway {
namespace {

using observe::ObservedRequest;
using observe::PredictedDecision;
using observe::Recorder;

// Asked about beside their requests, by one thread. What is more is recorded without its caller.
constexpr std::size_t named_later_max = 1000;

// A key that can be guessed could be found in a plain digest; not where there is a secret.
std::string digest_of(const Scope& scope, const Key& key, const FingerprintSecrets& secrets) {
  std::string both = std::to_string(scope.text.size());
  both.append(":").append(scope.text).append(key.text);
  return hex(secrets.empty() ? sha256(both) : hmac_sha256(secrets.front().bytes, both));
}

void name_unknown(Observation& observation, Problem why) {
  observation.name({std::string(Recorder::unauthenticated), ""}, "", observe::predicted_for(why));
}

}  // namespace

// A request whose caller must be asked about: what is needed for that, when the request is over.
struct Gateway::NamedLater {
  NamedLater(const ClientContext& context, std::shared_ptr<Observation> about)
      : served(context.served),
        route(context.route),
        key(context.key),
        secrets(context.secrets),
        address(context.request.client),
        certificate(context.request.certificate),
        observation(std::move(about)) {
    head.method = "POST";
    // They are unambiguous: others are refused without asking.
    for (const std::string& name : served->callers->caller_headers()) {
      const auto value = http::find(context.request.head.fields, name);
      if (value) head.fields.push_back({name, values.emplace_back(*value)});
    }
  }

  const SharedConfig served;
  const config::Route& route;  // of `served`, as the secrets
  const Key key;
  const FingerprintSecrets& secrets;
  std::list<std::string> values;
  http::RequestHead head;
  const std::string address;
  const std::optional<http::ClientCertificate> certificate;
  const std::shared_ptr<Observation> observation;
};

Task<void> Gateway::name_observed(std::shared_ptr<NamedLater> later) {
  const callers::ClientView view{later->head, later->address,
                                 later->certificate ? &*later->certificate : nullptr};
  const callers::Identified caller = co_await later->served->callers->ask(view, endpoints_);
  if (!caller) {
    name_unknown(*later->observation, caller.error().problem);
    co_return;
  }
  const Scope scope = config::scope_of(caller->name, later->route);
  ObservedKey id{scope.text, ""};
  std::string key_name;
  if (!later->key.text.empty()) {
    id.key = digest_of(scope, later->key, later->secrets);
    key_name = log_name(scope, later->key);
  }
  later->observation->name(std::move(id), std::move(key_name), std::nullopt);
}

// Whose it is where that can be said at once; else it is learnt while the request passes, which
// does not wait for it: observing must cost a service nothing.
void Gateway::name_now_or_later(ClientContext& context, std::shared_ptr<Observation> observation,
                                bool is_known) {
  if (is_known) {
    const bool nobody = context.scope.text.empty();
    ObservedKey id{nobody ? std::string(Recorder::unauthenticated) : context.scope.text, ""};
    if (!context.key.text.empty()) {
      id.key = digest_of(context.scope, context.key, context.secrets);
    }
    observation->name(std::move(id), context.line.key, std::nullopt);
    return;
  }
  context.scope = Scope{};
  context.line.key.clear();
  if (naming_->size() >= named_later_max) {
    name_unknown(*observation, Problem::auth_unavailable);
    return;
  }
  auto later = std::make_shared<NamedLater>(context, std::move(observation));
  naming_->spawn(name_observed(std::move(later)));
}

Task<void> Gateway::observe(ClientContext& context) {
  const http::RequestHead& head = context.request.head;
  ObservedRequest observed;
  observed.route = {context.route.name,
                    std::shared_ptr<const BoundaryPolicy>(context.served, &context.route.policy),
                    context.route.policy.upstream_connect_timeout};
  observed.owner = entropy_.new_owner();
  const bool has_key = has_key_header(head, context.route.policy);
  const std::optional<callers::Identified> known = known_caller(context);
  // What else is wrong with it does not depend on whose it is.
  const callers::Identified caller = known ? *known : callers::Identified(callers::KnownCaller{});
  const std::optional<ProblemDetails> trouble = identify(context, caller);
  if (trouble) observed.certain = observe::predicted_for(trouble->problem);
  const bool needs_none = context.policy.key == KeyRequirement::optional && !has_key;
  if (needs_none) observed.certain = PredictedDecision::unguarded;
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
  const auto observation =
      std::make_shared<Observation>(*shared_.recorder, clock_, std::move(observed),
                                    context.route.policy.body_limit, shared_.memory);
  if (!naming_) {
    const auto executor = co_await boost::asio::this_coro::executor;
    naming_.emplace(executor, workers::told_to(shared_.log));
  }
  name_now_or_later(context, observation, known.has_value());
  co_await pass(context, observation.get());
}

}  // namespace pawl::gateway
