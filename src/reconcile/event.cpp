#include "src/reconcile/event.hpp"

#include <algorithm>

#include "src/reconcile/derived_key.hpp"

namespace pawl::reconcile {
namespace {

constexpr std::size_t id_bytes_max = 255;

// A text or a number at that place, not empty and not absurdly long.
std::optional<std::string> text_at(const json::Value& document, const json::Pointer& at) {
  const json::Value* const found = json::resolve(document, at);
  const bool is_text =
      found != nullptr && (found->kind == json::Kind::string || found->kind == json::Kind::number);
  if (!is_text || found->text.empty() || found->text.size() > id_bytes_max) return std::nullopt;
  return found->text;
}

std::string missing(const json::Pointer& at, std::string_view what) {
  return "it has no " + std::string(what) + " at " + json::to_text(at);
}

bool is_printable(std::string_view text) {
  for (const char c : text) {
    if (c < ' ' || c > '~') return false;
  }
  return true;
}

std::optional<Instant> seconds_in(const std::string& text) {
  if (text.size() > 12) return std::nullopt;
  std::int64_t seconds = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    seconds = seconds * 10 + (c - '0');
  }
  return Instant(std::chrono::seconds(seconds));
}

constexpr Duration whole_seconds = std::chrono::seconds(1);

bool is_of_this_life(const KeptEvent& event, Instant created_at) {
  return event.received_at >= created_at && event.happened_at + clock_difference >= created_at;
}

bool has_own_time(const KeptEvent& event) { return event.happened_at != event.received_at; }

// It happened when this attempt was under way, or later, whatever the clocks say.
bool is_surely_of(const KeptEvent& event, const AttemptSeen& attempt) {
  if (attempt.attempt <= 1) return true;  // there was no other
  return attempt.began_at && has_own_time(event) &&
         event.happened_at >= *attempt.began_at + clock_difference;
}

bool is_before(const KeptEvent& event, const AttemptSeen& attempt) {
  return attempt.attempt > 1 && attempt.began_at && has_own_time(event) &&
         event.happened_at + whole_seconds <= *attempt.began_at;
}

bool is_later(const KeptEvent& one, const KeptEvent& other) {
  return one.happened_at != other.happened_at ? one.happened_at > other.happened_at
                                              : one.received_at > other.received_at;
}

// Where the event says that the request is. What is missing is an error.
std::optional<std::string> find_subject(const EventRules& rules, const json::Value& document,
                                        Event& event) {
  if (rules.resource_id) {
    const std::optional<std::string> id = text_at(document, *rules.resource_id);
    if (!id || !is_printable(*id)) return missing(*rules.resource_id, "resource id");
    event.subject = resource_subject(*id);
    return std::nullopt;
  }
  Expected<std::string, std::string> subject = subject_in(rules, document);
  if (!subject) return subject.error();
  event.subject = std::move(*subject);
  if (rules.derived_key) return std::nullopt;
  event.key.text = text_at(document, *rules.key).value_or("");
  event.scope.text = rules.scope ? text_at(document, *rules.scope).value_or("") : rules.fixed_scope;
  return std::nullopt;
}

}  // namespace

std::string resource_subject(std::string_view resource_id) {
  return "resource:" + std::string(resource_id);
}

bool is_success(int status) { return status >= 200 && status <= 399; }

bool is_success(const KeptEvent& event) { return !event.declined && is_success(event.status); }

Expected<std::string, std::string> subject_in(const SubjectRules& rules, const json::Value& event) {
  if (rules.derived_key) {
    std::optional<std::string> found = text_at(event, *rules.derived_key);
    if (!found || !is_printable(*found)) {
      return Unexpected{missing(*rules.derived_key, "derived key")};
    }
    return std::move(*found);
  }
  if (!rules.key) return Unexpected{std::string("no rule says where its key is")};
  const std::optional<std::string> key = text_at(event, *rules.key);
  if (!key || !is_printable(*key)) return Unexpected{missing(*rules.key, "key")};
  std::string scope = rules.fixed_scope;
  if (rules.scope) {
    const std::optional<std::string> found = text_at(event, *rules.scope);
    if (!found || !is_printable(*found)) return Unexpected{missing(*rules.scope, "scope")};
    scope = *found;
  }
  return derived_key(Scope{scope}, Key{*key});
}

Expected<std::optional<Event>, std::string> read_event(const EventRules& rules,
                                                       std::string_view body) {
  const Expected<json::Value, json::Error> document = json::read(body);
  if (!document) {
    return Unexpected{"it is no JSON: " + document.error().what + " at byte " +
                      std::to_string(document.error().at_byte)};
  }
  const EventRule* fitting = nullptr;
  for (const EventRule& rule : rules.rules) {
    if (fitting == nullptr && fulfils(rule.where, *document)) fitting = &rule;
  }
  if (fitting == nullptr) return std::optional<Event>();
  Event event;
  std::optional<std::string> id = text_at(*document, rules.id);
  if (!id || !is_printable(*id)) return Unexpected{missing(rules.id, "id")};
  event.id = std::move(*id);
  if (const std::optional<std::string> lacks = find_subject(rules, *document, event)) {
    return Unexpected{*lacks};
  }
  if (rules.time) {
    const std::optional<std::string> text = text_at(*document, *rules.time);
    event.happened_at = text ? seconds_in(*text) : std::nullopt;
    if (!event.happened_at) return Unexpected{missing(*rules.time, "time in whole seconds")};
  }
  event.is_final = fitting->then != EventThen::pending;
  event.response.status = fitting->reply.status.value_or(200);
  event.declined = event.is_final &&
                   (fitting->then == EventThen::declined || !is_success(event.response.status));
  event.response.headers = {{"Content-Type", fitting->reply.type}};
  event.response.body = std::string(body);
  if (fitting->reply.body) {
    Expected<std::string, std::string> made = fill_json(*fitting->reply.body, {}, *document);
    if (!made) return Unexpected{made.error()};
    event.response.body = std::move(*made);
  }
  return std::optional<Event>(std::move(event));
}

AttemptSeen attempt_of(const Record& record) {
  AttemptSeen seen{record.created_at, record.attempt, std::nullopt};
  if (const auto* doubt = std::get_if<Unknown>(&record.state)) seen.began_at = doubt->locked_at;
  if (const auto* held = std::get_if<InProgress>(&record.state)) seen.began_at = held->locked_at;
  // Of rows from before it was kept only the first attempt's is known.
  const bool made_up = record.attempt > 1 && seen.began_at == record.created_at;
  if (made_up || seen.began_at == Instant{}) seen.began_at.reset();
  return seen;
}

bool may_decide(const KeptEvent& event, const AttemptSeen& attempt) {
  if (!event.is_final || !is_of_this_life(event, attempt.created_at)) return false;
  return is_success(event) || is_surely_of(event, attempt);
}

std::optional<std::size_t> decisive(const std::vector<KeptEvent>& events,
                                    const AttemptSeen& attempt) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!may_decide(events[i], attempt)) continue;
    if (!best) {
      best = i;
      continue;
    }
    const bool succeeds = is_success(events[i]);
    const bool outweighs = attempt.attempt > 1 && succeeds != is_success(events[*best]);
    if (outweighs ? succeeds : is_later(events[i], events[*best])) best = i;
  }
  return best;
}

Contradiction contradiction(const KeptEvent& event, const std::vector<KeptEvent>& others,
                            const StoredOutcome& stored, const AttemptSeen& attempt) {
  if (!event.is_final || !is_of_this_life(event, attempt.created_at)) return Contradiction::none;
  const bool stored_success = stored.status && is_success(*stored.status) && !stored.declined;
  if (!is_success(event)) {
    // Where declines are told as a success, the owner's own status does not say which it was.
    const bool told_apart = !is_success(event.status) || !stored.by_owner;
    // An earlier attempt's refusal is no news once a later one succeeded.
    const bool otherwise = stored_success && told_apart && is_surely_of(event, attempt);
    return otherwise ? Contradiction::outcome : Contradiction::none;
  }
  if (!stored_success) return Contradiction::outcome;
  if (!attempt.began_at || attempt.attempt <= 1 || !has_own_time(event)) {
    return Contradiction::none;
  }
  const bool before = is_before(event, attempt);
  if (before && stored.by_owner) return Contradiction::twice;
  const bool both = std::ranges::any_of(others, [&](const KeptEvent& other) {
    return other.is_final && is_success(other) && has_own_time(other) &&
           is_of_this_life(other, attempt.created_at) && is_before(other, attempt) != before;
  });
  return both ? Contradiction::twice : Contradiction::none;
}

bool proves_too_late(const KeptEvent& event, const std::vector<Release>& releases,
                     const Record& record) {
  // The first fence of a life is the store's time in microseconds when it began.
  const std::int64_t began = record.created_at.time_since_epoch().count();
  return event.is_final && is_success(event) &&
         std::ranges::any_of(releases, [&](const Release& release) {
           return release.fence.number >= began && release.fence < record.fence &&
                  event.happened_at + whole_seconds <= release.found_at;
         });
}

}  // namespace pawl::reconcile
