#include "src/gateway/key_story.hpp"

#include <algorithm>
#include <array>

#include "pawl/core/overloaded.hpp"
#include "src/config/units.hpp"
#include "src/gateway/json_object.hpp"
#include "src/gateway/key_document.hpp"

namespace pawl::gateway {
namespace {

using namespace std::chrono_literals;

// "2024-06-01 12:00:00 UTC"
std::string when(Instant at) {
  std::string text = timestamp(at);
  return text.substr(1, 10) + " " + text.substr(12, 8) + " UTC";
}

// "3 minutes", for reading; exact times stand beside it.
std::string span(Duration length) {
  struct Unit {
    Duration of;
    const char* name;
  };
  static constexpr std::array<Unit, 4> units{
      {{24h, "day"}, {1h, "hour"}, {1min, "minute"}, {1s, "second"}}};
  for (const Unit& unit : units) {
    const auto count = length / unit.of;
    if (count >= 1) return std::to_string(count) + " " + unit.name + (count == 1 ? "" : "s");
  }
  return "less than a second";
}

std::string request_of(const Record& record) {
  std::string what = record.method.empty() ? "a job of the key API" : record.method;
  if (!record.path.empty()) what += " " + record.path;
  return what;
}

std::string state_in_words(const Record& record, const std::optional<Case>& about, Instant now) {
  return std::visit(
      Overloaded{
          [](const Pending&) {
            return std::string("It is accepted and waits for a worker. Nothing was sent yet.");
          },
          [&](const InProgress& held) {
            if (held.locked_until > now) {
              return "It is being executed: its owner is presumed alive until " +
                     when(held.locked_until) + ".";
            }
            return "Its owner has been silent since " + when(held.locked_until) +
                   "; the next sweep does with it what on_lease_expiry says (" +
                   std::string(to_text(record.policy.on_lease_expiry)) + ").";
          },
          [&](const Completed& done) {
            return "It is completed: the answer " + std::to_string(done.response.status) +
                   " was stored at " + when(done.completed_at) + " and is replayed until " +
                   when(record.expires_at) + ".";
          },
          [](const FailedRetryable&) {
            return std::string(
                "Nothing happened, as far as is known: the next request with this "
                "key executes it.");
          },
          [&](const Unknown& doubt) {
            std::string words =
                "Nobody knows whether it happened. No request with this key is executed until "
                "that is found out.";
            const bool dead = about && about->state == CaseState::dead;
            if (dead) return words + " It is a dead letter: nobody is asked any more.";
            return words + " Its source is asked " +
                   (doubt.reconcile_after > now ? "again at " + when(doubt.reconcile_after)
                                                : "now") +
                   ".";
          },
          [](const Expired&) {
            return std::string("It was used and its answer is gone: requests with it get 410.");
          }},
      record.state);
}

std::string next_step(const Record& record, const std::optional<Case>& about) {
  const auto* doubt = std::get_if<Unknown>(&record.state);
  if (doubt == nullptr) return {};
  if (!about || about->state != CaseState::dead) {
    return "What to do: nothing yet. The reconciler goes on by itself.\n";
  }
  return "What to do: find out from the provider whether it happened, and then say so:\n"
         "  it did:      pawl keys resolve KEY --scope SCOPE --completed --status 201 --body FILE "
         "--reason WHY\n"
         "  it did not:  pawl keys resolve KEY --scope SCOPE --not-executed --reason WHY\n"
         "  (not executed is accepted from " +
         when(doubt->locked_until + record.policy.upstream_timeout) +
         " on; until then an owner might still be sending)\n"
         "  ask again:   pawl keys ask KEY --scope SCOPE --reason WHY\n";
}

// One line of the story; sorted by time.
struct Line {
  Instant at{};
  std::string text;
};

std::vector<Line> history(const KeyFacts& facts) {
  std::vector<Line> lines;
  if (facts.record) {
    lines.push_back({facts.record->created_at, "first reserved, for " + request_of(*facts.record) +
                                                   " (route \"" + facts.record->route + "\")"});
  }
  for (const CaseNote& note : facts.notes) {
    lines.push_back({note.at, "reconciler, " + note.source + ": " + note.result +
                                  (note.detail.empty() ? "" : " (" + note.detail + ")")});
  }
  for (const AuditRow& row : facts.audit) {
    std::string text = row.entry.actor + ": " + row.entry.action + ", ";
    if (!row.before.empty()) text += row.before + " -> ";
    lines.push_back({row.at, text + row.after + " (" + row.entry.reason + ")"});
  }
  for (const WebhookEvent& event : facts.events) {
    std::string text = "webhook of " + event.source + ": event " + event.id + ", ";
    text += event.is_final ? "final" : "pending";
    text += event.applied_as.empty() ? "" : ", " + event.applied_as;
    lines.push_back({event.received_at, std::move(text)});
  }
  std::ranges::stable_sort(lines, {}, &Line::at);
  return lines;
}

}  // namespace

std::string key_story(const KeyFacts& facts) {
  std::string text = "Key " + facts.key.text + " of " + facts.scope.text + "\n\n";
  if (facts.record) {
    const Record& record = *facts.record;
    text += state_in_words(record, facts.about, facts.now) + "\n";
    text += "It is attempt " + std::to_string(record.attempt) + ", under fence " +
            std::to_string(record.fence.number) + ", first seen " +
            span(facts.now - record.created_at) + " ago.\n";
    if (!record.last_error.empty()) text += "Why: " + record.last_error + ".\n";
    if (!record.resource_id.empty()) {
      text += "It made " + record.resource_type + " " + record.resource_id + ".\n";
    }
  } else {
    text += "There is no record of it: a request with this key is new.\n";
  }
  if (facts.about) {
    text += "Asked about " + std::to_string(facts.about->attempts) + " times" +
            (facts.about->source.empty() ? "" : " (source \"" + facts.about->source + "\")") +
            ".\n";
  }
  for (const LateEvidence& each : facts.evidence) {
    text += "An earlier owner (attempt " + std::to_string(each.attempt) + ", fence " +
            std::to_string(each.fence.number) + ") had lost the record and then got as far as \"" +
            std::string(to_text(each.evidence)) + "\"" +
            (each.response ? ": " + std::to_string(each.response->status) : "") + ".\n";
  }
  const std::vector<Line> lines = history(facts);
  if (!lines.empty()) text += "\nWhat happened:\n";
  for (const Line& line : lines) text += "  " + when(line.at) + "  " + line.text + "\n";
  const std::string next = facts.record ? next_step(*facts.record, facts.about) : "";
  if (!next.empty()) text += "\n" + next;
  return text;
}

std::string key_story_json(const KeyFacts& facts) {
  JsonObject out;
  out.text("scope", facts.scope.text).text("key", facts.key.text);
  out.raw("record", facts.record ? key_document(*facts.record) : "null");
  if (facts.about) {
    JsonObject about;
    about.text("state", to_text(facts.about->state)).text("source", facts.about->source);
    about.number("attempts", facts.about->attempts).number("absent", facts.about->absent);
    about.raw("next_at", timestamp(facts.about->next_at));
    about.text("last_result", facts.about->last_result);
    out.raw("case", about.done());
  } else {
    out.raw("case", "null");
  }
  std::string all;
  const auto add = [&](const JsonObject& item) {
    all.append(all.empty() ? "[" : ",").append(item.done());
  };
  const auto list = [&](std::string_view name) {
    out.raw(name, all.empty() ? "[]" : all + "]");
    all.clear();
  };
  for (const CaseNote& note : facts.notes) {
    JsonObject item;
    item.raw("at", timestamp(note.at)).number("fence", note.fence.number);
    item.text("source", note.source).text("result", note.result).text("detail", note.detail);
    add(item);
  }
  list("questions");
  for (const AuditRow& row : facts.audit) {
    JsonObject item;
    item.raw("at", timestamp(row.at)).number("fence", row.fence.number);
    item.text("actor", row.entry.actor).text("action", row.entry.action);
    item.text("before", row.before).text("after", row.after).text("reason", row.entry.reason);
    add(item);
  }
  list("audit");
  for (const LateEvidence& each : facts.evidence) {
    JsonObject item;
    item.number("fence", each.fence.number).number("attempt", each.attempt);
    item.text("evidence", to_text(each.evidence));
    item.raw("status", each.response ? std::to_string(each.response->status) : "null");
    add(item);
  }
  list("evidence");
  for (const WebhookEvent& event : facts.events) {
    JsonObject item;
    item.text("source", event.source).text("id", event.id).flag("final", event.is_final);
    item.raw("received_at", timestamp(event.received_at)).text("applied_as", event.applied_as);
    add(item);
  }
  list("events");
  return out.done() + "\n";
}

std::string key_list(const std::vector<ListedKey>& keys, Instant now) {
  if (keys.empty()) return "none\n";
  std::string text;
  for (const ListedKey& key : keys) {
    text += key.key.text + "  " + key.scope.text + "\n    " + key.status + " for " +
            span(now - key.created_at) + ", " + (key.method.empty() ? "key API" : key.method) +
            " " + key.path + ", attempt " + std::to_string(key.attempt);
    if (!key.last_error.empty()) text += ": " + key.last_error;
    text += "\n";
    if (key.state) {
      text += "    asked about " + std::to_string(key.attempts) +
              " times, last: " + (key.last_result.empty() ? "no answer yet" : key.last_result) +
              (*key.state == CaseState::dead ? "; a dead letter" : "") + "\n";
    }
  }
  return text;
}

std::string key_list_json(const std::vector<ListedKey>& keys) {
  std::string all;
  for (const ListedKey& key : keys) {
    JsonObject item;
    item.text("scope", key.scope.text).text("key", key.key.text).text("status", key.status);
    item.text("route", key.route).text("method", key.method).text("path", key.path);
    item.number("attempt", key.attempt).raw("created_at", timestamp(key.created_at));
    item.text("last_error", key.last_error);
    item.flag("dead", key.state == CaseState::dead).number("asked", key.attempts);
    item.text("last_result", key.last_result);
    all.append(all.empty() ? "[" : ",").append(item.done());
  }
  return (all.empty() ? "[]" : all + "]") + "\n";
}

}  // namespace pawl::gateway
