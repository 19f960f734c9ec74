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

}  // namespace

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
  Expected<std::string, std::string> subject = subject_in(rules, *document);
  if (!subject) return Unexpected{subject.error()};
  event.subject = std::move(*subject);
  if (rules.time) {
    const std::optional<std::string> text = text_at(*document, *rules.time);
    event.happened_at = text ? seconds_in(*text) : std::nullopt;
    if (!event.happened_at) return Unexpected{missing(*rules.time, "time in whole seconds")};
  }
  event.is_final = fitting->then == EventThen::completed;
  event.response.status = fitting->reply.status.value_or(200);
  event.response.headers = {{"Content-Type", fitting->reply.type}};
  event.response.body = std::string(body);
  if (fitting->reply.body) {
    Expected<std::string, std::string> made = fill_json(*fitting->reply.body, {}, *document);
    if (!made) return Unexpected{made.error()};
    event.response.body = std::move(*made);
  }
  return std::optional<Event>(std::move(event));
}

std::optional<std::size_t> decisive(const std::vector<KeptEvent>& events, Instant created_at) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const KeptEvent& event = events[i];
    // Of an earlier life of the key, or about one.
    const bool earlier =
        event.received_at < created_at || event.happened_at + clock_difference < created_at;
    if (!event.is_final || earlier) continue;
    if (!best) {
      best = i;
      continue;
    }
    const KeptEvent& other = events[*best];
    const bool later = event.happened_at != other.happened_at
                           ? event.happened_at > other.happened_at
                           : event.received_at > other.received_at;
    if (later) best = i;
  }
  return best;
}

bool proves_too_late(const KeptEvent& event, const std::vector<Release>& releases,
                     const Record& record) {
  constexpr Duration whole_seconds = std::chrono::seconds(1);
  // The first fence of a life is the store's time in microseconds when it began.
  const std::int64_t began = record.created_at.time_since_epoch().count();
  return event.is_final && std::ranges::any_of(releases, [&](const Release& release) {
           return release.fence.number >= began && release.fence < record.fence &&
                  event.happened_at + whole_seconds <= release.found_at;
         });
}

}  // namespace pawl::reconcile
