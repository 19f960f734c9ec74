// What a webhook's event means, and which of several counts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/core/expected.hpp"
#include "pawl/core/record.hpp"
#include "src/reconcile/rules.hpp"

namespace pawl::reconcile {

enum class EventThen {
  completed,  // final: this is what became of it
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

// The derived key. The error says what is missing.
Expected<std::string, std::string> subject_in(const SubjectRules& rules,
                                              const json::Value& document);

struct EventRules : SubjectRules {
  json::Pointer id;
  std::optional<json::Pointer> time;  // whole seconds since 1970
  std::vector<EventRule> rules;
};

struct Event {
  std::string id;
  std::string subject;  // the derived key
  bool is_final = false;
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
  Instant received_at{};
};

// Which of them says what became of a record that was created then: of the final ones that can be
// about this life of the key the latest. Its place in the list, or nothing. The order in which
// they came is of no importance.
std::optional<std::size_t> decisive(const std::vector<KeptEvent>& events, Instant created_at);

// A finding that the owner under this fence had executed nothing.
struct Release {
  Fence fence;
  Instant found_at{};
};

// The finding was wrong, by what this event says, and the record has been taken over since: it may
// have been executed twice. An event without a time of its own can be about the later owner, and
// proves nothing.
bool proves_too_late(const KeptEvent& event, const std::vector<Release>& releases,
                     const Record& record);

// A provider's clock may be behind ours by this much, and its times are whole seconds.
inline constexpr Duration clock_difference = std::chrono::minutes(1);

}  // namespace pawl::reconcile

namespace pawl {
template <>
struct Names<reconcile::EventThen> {
  static constexpr NameTable<reconcile::EventThen, 2> table{
      {{reconcile::EventThen::completed, "completed"}, {reconcile::EventThen::pending, "pending"}}};
};
}  // namespace pawl
