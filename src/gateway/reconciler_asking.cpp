// Asking a source what became of a record, and what its answer is worth.
#include "src/config/source_asking.hpp"
#include "src/gateway/question.hpp"
#include "src/gateway/reconciler.hpp"
#include "src/reconcile/event.hpp"

namespace pawl::gateway {
namespace {

using reconcile::LookupResult;

std::string but_another(const Case& about) {
  return "; but the route named \"" + about.source +
         "\" when the outcome became unknown, and what another source does not have proves nothing";
}

}  // namespace

// With the key it is asked by: a provider that was sent the other one has never seen this one. No
// name of a source has a blank in it.
std::string Reconciler::name_in_case(const config::Source& source) {
  return source.name + (config::asks_by_derived_key(source) ? " by derived key" : "");
}

// The route named somebody else when the doubt arose: that one has seen the request, if anybody
// has.
bool Reconciler::is_another(const Inquiry& inquiry) {
  return inquiry.taken.source != name_in_case(*inquiry.source);
}

Task<Outcome> Reconciler::ask(const Inquiry& inquiry, std::string target) {
  const config::Source& source = *inquiry.source;
  http::UpstreamPool& pool = *pools_.at(source.name);
  Question question(source, std::move(target), pool.authority());
  http::CallOptions options;
  options.connect_timeout = source.timeout;
  http::UpstreamCall call(pool, question, options);
  AlwaysOpen gate;
  co_return co_await call.send(inquiry.record, gate, clock_.now() + source.timeout);
}

// Nothing: there is nobody to ask, or nothing to ask by, and `heard` says so.
std::optional<std::string> Reconciler::target_for(Inquiry& inquiry,
                                                  const reconcile::Subject& subject,
                                                  std::string& heard) {
  const config::Source* const source = inquiry.source;
  if (source == nullptr) {
    heard = "its route names no source to ask";
    return std::nullopt;
  }
  if (source->url.empty()) {
    heard = "no webhook event so far";
    return std::nullopt;
  }
  if (reconcile::mentions(source->target, "resource_id") && subject.resource_id.empty()) {
    heard = "the source is asked by {resource_id}, and the record has none";
    return std::nullopt;
  }
  Expected<std::string, std::string> target = reconcile::fill_url(source->target, subject);
  if (target) return std::move(*target);
  inquiry.hopeless = true;
  heard = "the source is not asked: " + target.error();
  return std::nullopt;
}

Task<bool> Reconciler::settle_by_asking(Inquiry& inquiry, std::string& heard, LookupResult& kind) {
  const reconcile::Subject subject{inquiry.record.key.text, inquiry.record.scope.text,
                                   inquiry.record.resource_id, inquiry.subject};
  std::optional<std::string> target = target_for(inquiry, subject, heard);
  if (!target) co_return false;
  const config::Source& source = *inquiry.source;
  inquiry.asked_at = now();
  const Outcome outcome = co_await ask(inquiry, std::move(*target));
  if (const auto* none = std::get_if<NotSent>(&outcome)) heard = "not asked: " + none->why;
  if (const auto* lost = std::get_if<Lost>(&outcome)) heard = "no answer: " + lost->why;
  const auto* answer = std::get_if<Answered>(&outcome);
  if (answer == nullptr) co_return false;
  const config::RoutePolicy& policy = policy_of(inquiry.record);
  const SettleOptions options{policy.response_bytes_max, policy.resource_type, policy.resource_id};
  const reconcile::SourceAnswer judgement =
      reconcile::interpret_answer(source.rules, answer->response, subject, options);
  const std::string answered = "answered " + std::to_string(answer->response.status);
  if (const auto* found = std::get_if<reconcile::Found>(&judgement)) {
    co_return co_await settle_as_found(inquiry, *found, answered, heard, kind);
  }
  if (const auto* still = std::get_if<reconcile::Still>(&judgement)) {
    heard = still->why;
    kind = answer->response.status >= 500 ? LookupResult::nothing : LookupResult::still;
    co_return false;
  }
  heard = answered + ": never seen";
  kind = LookupResult::absent;
  if (is_another(inquiry)) {
    heard += but_another(inquiry.taken);
    kind = LookupResult::still;
    inquiry.hopeless = inquiry.asked_at >= reconcile::quiet_at(inquiry.record, source.patience);
  }
  co_return false;
}

// What happened counts, whoever has it. A decline may be an earlier attempt's, or another
// request's.
Task<bool> Reconciler::settle_as_found(Inquiry& inquiry, const reconcile::Found& found,
                                       const std::string& answered, std::string& heard,
                                       LookupResult& kind) {
  const config::Source& source = *inquiry.source;
  if (!found.happened && is_another(inquiry)) {
    heard = answered + ": declined" + but_another(inquiry.taken);
    inquiry.hopeless = true;
    co_return false;
  }
  if (!reconcile::is_its_answer(inquiry.record, source.patience, found.happened,
                                inquiry.asked_at)) {
    heard = answered + ": a refusal that may be an earlier attempt's";
    kind = LookupResult::still;
    co_return false;
  }
  const Finding finding = FoundCompleted{found.response};
  const std::string reason = (found.happened ? "" : std::string(reconcile::declined_mark)) +
                             "asked, it " + answered + ": there it is";
  const Settled settled =
      co_await settle(inquiry.record, inquiry.taken.id, finding, source.name, reason);
  if (settled == Settled::not_yet) heard = "found, but it could not be recorded";
  co_return settled != Settled::not_yet;
}

}  // namespace pawl::gateway
