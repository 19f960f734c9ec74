// What a webhook's event means, and which of several counts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/expected.hpp"
#include "pawl/types/record.hpp"
#include "src/reconcile/rules.hpp"

namespace pawl::reconcile {

enum class EventThen {
  completed,  // final: the effect is there
  declined,   // final: nothing happened, and nothing will
  pending,    // not final: remembered, and nothing else
};

struct EventRule {
  std::vector<Condition> where;
  EventThen then = EventThen::pending;
  Reply reply;  // its status is 200 unless given; its body is the event's own unless given
};

// Where a document says which request it is about: scope and key, or the derived key alone.
struct SubjectRules {
  std::optional<json::Pointer> key;
  std::optional<json::Pointer> scope;
  std::string fixed_scope;  // instead of `scope`
  std::optional<json::Pointer> derived_key;
};

// What an event is known by that names a resource: no derived key looks like it.
std::string resource_subject(std::string_view resource_id);

// The derived key. The error says what is missing.
Expected<std::string, std::string> subject_in(const SubjectRules& rules,
                                              const json::Value& document);

struct EventRules : SubjectRules {
  json::Pointer id;
  // Instead of key, scope and derived key: what the record's answer called what it made.
  std::optional<json::Pointer> resource_id;
  std::optional<json::Pointer> time;  // whole seconds since 1970
  std::vector<EventRule> rules;
};

struct Event {
  std::string id;
  std::string subject;  // the derived key, or resource_subject
  // Of the request, where the event names them.
  Scope scope;
  Key key;
  bool is_final = false;
  bool declined = false;  // final, and nothing happened
  std::optional<Instant> happened_at;
  StoredResponse response;
};

// Nothing: no rule is about such an event. The error says what is wrong with one that a rule is
// about.
Expected<std::optional<Event>, std::string> read_event(const EventRules& rules,
                                                       std::string_view body);

// An event as it was kept.
struct KeptEvent {
  bool is_final = false;
  Instant happened_at{};
  Instant received_at{};  // the same: the event had no time of its own
  int status = 200;       // of the answer it would give
  bool declined = false;  // nothing happened, whatever that status is
};

// How the reason of a finding begins that nothing had happened. The audit is how that is known
// later: the answer's status need not say it.
inline constexpr std::string_view declined_mark = "declined: ";

// 2xx and 3xx.
bool is_success(int status);
// The effect is there. What clients are told does not say so: a decline may be told as a success.
bool is_success(const KeptEvent& event);

// The attempt that events may be about.
struct AttemptSeen {
  Instant created_at{};  // of this life of the key
  int attempt = 1;
  std::optional<Instant> began_at;  // nothing: not known
};
AttemptSeen attempt_of(const Record& record);

// Whether an event can say what became of this attempt. It must be about this life of the key. A
// success counts whatever attempt it is about: the effect is there. Anything else counts only where
// no earlier attempt can be meant, which a provider's clock proves late: taken for the answer of an
// attempt that did charge, an earlier attempt's refusal would have the client pay again.
bool may_decide(const KeptEvent& event, const AttemptSeen& attempt);

// Which of them says what became of it: of those that may decide the latest, where earlier attempts
// were made the latest success. Its place in the list, or nothing. The order in which they came is
// of no importance.
std::optional<std::size_t> decisive(const std::vector<KeptEvent>& events,
                                    const AttemptSeen& attempt);

// What an event means for a record that is not in doubt any more.
enum class Contradiction {
  none,
  outcome,  // it says otherwise than what is stored
  twice,    // it says the same of another attempt: the effect is there twice
};

struct StoredOutcome {
  std::optional<int> status;  // nothing: released, to be executed again
  bool by_owner = false;      // its owner's own answer, nobody's finding
  bool declined = false;      // found declined, whatever the status is
};

// `others`: all final events about it, this one among them or not.
Contradiction contradiction(const KeptEvent& event, const std::vector<KeptEvent>& others,
                            const StoredOutcome& stored, const AttemptSeen& attempt);

// A finding that the owner under this fence had executed nothing.
struct Release {
  Fence fence;
  Instant found_at{};
};

// The finding was wrong, by the success that this event tells, and the record has been taken over
// since: it may have been executed twice. An event without a time of its own can be about the later
// owner, and proves nothing.
bool proves_too_late(const KeptEvent& event, const std::vector<Release>& releases,
                     const Record& record);

// A provider's clock may differ from ours by this much, and its times are whole seconds.
inline constexpr Duration clock_difference = std::chrono::minutes(1);

}  // namespace pawl::reconcile

namespace pawl {
template <>
struct Names<reconcile::EventThen> {
  static constexpr NameTable<reconcile::EventThen, 3> table{
      {{reconcile::EventThen::completed, "completed"},
       {reconcile::EventThen::declined, "declined"},
       {reconcile::EventThen::pending, "pending"}}};
};
}  // namespace pawl
