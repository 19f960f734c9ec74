#include "src/gateway/http_sources.hpp"

#include <algorithm>

#include "src/config/attempt_terms.hpp"
#include "src/config/sources.hpp"
#include "src/core/scope.hpp"
#include "src/gateway/question.hpp"
#include "src/reconcile/rules.hpp"

namespace pawl::gateway {
namespace {

reconcile::Subject subject_of(const SourceQuestion& question) {
  return {question.key.text, question.scope.text, question.resource_id, question.derived_key};
}

SourceReply reply_of(const reconcile::SourceAnswer& judgement, int status) {
  SourceReply reply{SourceNeverSeen{}, "answered " + std::to_string(status)};
  if (const auto* found = std::get_if<reconcile::Found>(&judgement)) {
    reply.finding = SourceFound{found->response, found->happened};
  } else if (const auto* still = std::get_if<reconcile::Still>(&judgement)) {
    // What answers so has trouble of its own: it is silence, not knowledge.
    if (status >= 500) {
      reply.finding = SourceFailed{still->why};
    } else {
      reply.finding = SourceStill{still->why};
    }
  }
  return reply;
}

const config::RoutePolicy& policy_in(const ServedConfig& served, const Record& record) {
  if (record.route == served.key_api.name && kind_of(record.scope) == ScopeKind::key_api) {
    return served.key_api.policy;
  }
  const config::Route* const named = served.routes.named(record.route);
  return named == nullptr ? served.routes.fallback().policy : named->policy;
}

}  // namespace

HttpSource::HttpSource(const config::Source& source, http::Deadlines& deadlines)
    : source_(source), pool_(address_of(source.address), deadlines) {}

Expected<std::string, SourceFailed> HttpSource::target_for(const SourceQuestion& question) const {
  if (reconcile::mentions(source_.target, "resource_id") && question.resource_id.empty()) {
    const bool of_record = question.record != nullptr;
    return Unexpected{SourceFailed{std::string("the source is asked by {resource_id}, and the ") +
                                   (of_record ? "record has none" : "row has no provider id")}};
  }
  Expected<std::string, std::string> target =
      reconcile::fill_url(source_.target, subject_of(question));
  if (target) return std::move(*target);
  return Unexpected{SourceFailed{"the source is not asked: " + target.error(), true}};
}

Task<SourceReply> HttpSource::ask(SourceQuestion question, BootTime deadline) {
  Expected<std::string, SourceFailed> target = target_for(question);
  if (!target) co_return SourceReply{target.error(), ""};
  Question request(source_, std::move(*target), pool_.authority());
  http::CallOptions options;
  options.connect_timeout = source_.timeout;
  http::UpstreamCall call(pool_, request, options);
  AlwaysOpen gate;
  const Record nothing;
  const Record& about = question.record == nullptr ? nothing : *question.record;
  const Outcome outcome = co_await call.send(about, gate, deadline);
  if (const auto* none = std::get_if<NotSent>(&outcome)) {
    co_return SourceReply{SourceFailed{"not asked: " + none->why}, ""};
  }
  if (const auto* lost = std::get_if<Lost>(&outcome)) {
    co_return SourceReply{SourceFailed{"no answer: " + lost->why}, ""};
  }
  const Response& response = std::get<Answered>(outcome).response;
  const reconcile::SourceAnswer judgement =
      reconcile::interpret_answer(source_.rules, response, subject_of(question), question.settle);
  co_return reply_of(judgement, response.status);
}

HttpSources::HttpSources(const NodeServices& shared, http::Deadlines& deadlines)
    : shared_(shared), deadlines_(deadlines), current_(read(shared.in_force.now())) {}

std::shared_ptr<HttpSources::Reading> HttpSources::read(SharedConfig served) const {
  auto reading = std::make_shared<Reading>();
  reading->made_of = std::move(served);
  for (const config::Source& source : reading->made_of->config.sources) {
    workers::SourceSettings settings;
    settings.name = source.name;
    settings.name_in_case = config::asked_as(source);
    settings.asked_by = config::asked_by(source);
    settings.timeout = source.timeout;
    settings.patience = source.patience;
    if (!source.url.empty()) settings.source = &reading->sources.emplace_back(source, deadlines_);
    reading->settings[source.name] = settings;
  }
  return reading;
}

const std::shared_ptr<HttpSources::Reading>& HttpSources::current() const {
  SharedConfig served = shared_.in_force.now();
  if (served != current_->made_of) current_ = read(std::move(served));
  return current_;
}

workers::SharedSource HttpSources::source_of(const Record& record) const {
  const SharedConfig served = current()->made_of;
  const config::Route& fallback = served->routes.fallback();
  const config::RoutePolicy& policy = policy_in(*served, record);
  const bool ours = &policy != &fallback.policy || record.route == fallback.name;
  if (!ours || kind_of(record.scope) == ScopeKind::library) return nullptr;
  return named(policy.reconcile);
}

workers::SharedSource HttpSources::named(const std::string& name) const {
  const std::shared_ptr<Reading>& reading = current();
  const auto found = reading->settings.find(name);
  if (found == reading->settings.end()) return nullptr;
  return {reading, &found->second};
}

bool HttpSources::speaks_for(const std::string& name, const Scope& scope) const {
  const auto& sources = current()->made_of->config.sources;
  const auto source = std::ranges::find(sources, name, &config::Source::name);
  return source != sources.end() && config::speaks_for(*source, scope.text);
}

SettleOptions HttpSources::settle_options(const Record& record) const {
  const SharedConfig served = shared_.in_force.now();
  const config::RoutePolicy& policy = policy_in(*served, record);
  return {policy.response_bytes_max, policy.resource_type, policy.resource_id};
}

void HttpSources::prune() {
  for (HttpSource& source : current()->sources) source.prune();
}

}  // namespace pawl::gateway
