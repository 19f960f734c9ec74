#include "src/operator/key_history.hpp"

#include <algorithm>
#include <array>

#include "src/core/json_writer.hpp"
#include "src/core/printable.hpp"
#include "src/core/stored_error.hpp"
#include "src/operator/describe_record.hpp"
#include "src/operator/key_document.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;

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

// One line of the history; sorted by time.
struct Line {
  Instant at{};
  std::string text;
};

std::vector<Line> lines_of(const KeyFacts& facts) {
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
    if (event.declined) text += ", declined";
    text += event.applied_as.empty() ? "" : ", " + event.applied_as;
    lines.push_back({event.received_at, std::move(text)});
  }
  std::ranges::stable_sort(lines, {}, &Line::at);
  return lines;
}

std::string times(int count) { return count == 1 ? "once" : std::to_string(count) + " times"; }

// Never that the key is new: the operator is about to decide whether to pay again.
std::string no_record(const KeyFacts& facts, const KeyPlace& place) {
  if (!facts.elsewhere.scopes.empty()) {
    std::string text = facts.scope.text.empty() ? "Several scopes have it; each is another key.\n"
                                                : "There is no record of it in this scope.\n";
    for (const Scope& scope : facts.elsewhere.scopes) {
      const KeyPlace there{scope, place.key, place.store};
      text += "This key exists in scope " + printable(scope.text) + ":\n  " +
              command_for("explain", there, "") + "\n";
    }
    return text;
  }
  if (!facts.elsewhere.whole) {
    return "There is no record of it in the scopes that were scanned; there are more scopes.\n";
  }
  std::string text = "There is no record of it in any scope of this store. ";
  if (facts.forgotten_since) {
    return text +
           "That does not say that it was never used:\nthe store was restored from a backup "
           "of " +
           when(*facts.forgotten_since) +
           " and has forgotten what came after it. Requests with this\nkey get 409 store-restored "
           "(pawl store show). Look the operation up at the service or its provider.\n";
  }
  return text + "It was never used here, or its retention is\nover, or it was purged.\n";
}

}  // namespace

std::string key_history(const KeyFacts& facts) {
  const KeyPlace place{facts.scope, facts.key, facts.store};
  std::string text = "Key " + printable(facts.key.text);
  if (!facts.scope.text.empty()) text += " of " + printable(facts.scope.text);
  text += "\n\n";
  if (facts.record) {
    const Record& record = *facts.record;
    text += state_in_words(record, facts.about, facts.now) + "\n";
    text += "It is attempt " + std::to_string(record.attempt) + ", under fence " +
            std::to_string(record.fence.number) + ", first seen " +
            span(facts.now - record.created_at) + " ago.\n";
    const std::string why = stored_error(record);
    if (!why.empty()) text += "Why: " + printable(why) + ".\n";
    if (!record.resource_id.empty()) {
      text += "It made " + printable(record.resource_type) + " " + printable(record.resource_id) +
              ".\n";
    }
    text += "In the log: key " + log_name(record.scope, record.key) + ", last execution " +
            request_id(record) + ".\n";
  } else {
    text += no_record(facts, place);
  }
  if (facts.about && facts.about->source.empty()) {
    text += "No source was asked about it: its route names none.\n";
  } else if (facts.about) {
    text += "Asked about " + times(facts.about->attempts) + " (source \"" +
            printable(facts.about->source) + "\").\n";
  }
  for (const LateEvidence& each : facts.evidence) {
    text += "An earlier owner (attempt " + std::to_string(each.attempt) + ", fence " +
            std::to_string(each.fence.number) + ") had lost the record and then got as far as \"" +
            std::string(to_text(each.evidence)) + "\"" +
            (each.response ? ": " + std::to_string(each.response->status) : "") + ".\n";
  }
  const std::vector<Line> lines = lines_of(facts);
  if (!lines.empty()) text += "\nWhat happened:\n";
  for (const Line& line : lines) {
    text += "  " + when(line.at) + "  " + printable(line.text) + "\n";
  }
  const std::string next = facts.record ? next_step(*facts.record, facts.about, place) : "";
  if (!next.empty()) text += "\n" + next;
  return text;
}

std::string key_history_json(const KeyFacts& facts) {
  JsonObject out;
  out.text("scope", facts.scope.text).text("key", facts.key.text);
  out.text("key_hash", log_name(facts.scope, facts.key));
  out.raw("record", facts.record ? key_document(*facts.record) : "null");
  if (facts.record) {
    out.text("execution", request_id(*facts.record));
    out.number("fence", facts.record->fence.number);
  }
  std::string elsewhere;
  for (const Scope& scope : facts.elsewhere.scopes) {
    elsewhere.append(elsewhere.empty() ? "[" : ",").append(json::quote(scope.text));
  }
  out.raw("other_scopes", elsewhere.empty() ? "[]" : elsewhere + "]");
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
  return printable_json(out.done() + "\n");
}

std::string key_list(const std::vector<ListedKey>& keys, Instant now) {
  if (keys.empty()) return "none\n";
  std::string text;
  for (const ListedKey& key : keys) {
    text += printable(key.key.text) + "  " + printable(key.scope.text) + "\n    " +
            printable(key.status) + " for " + span(now - key.created_at) + ", " +
            (key.method.empty() ? "key API" : printable(key.method)) + " " + printable(key.path) +
            ", attempt " + std::to_string(key.attempt) + ", fence " +
            std::to_string(key.fence.number);
    if (!key.last_error.empty()) text += ": " + printable(key.last_error);
    text += "\n";
    if (key.state) {
      text += "    asked about " + times(key.attempts) + ", last: " +
              (key.last_result.empty() ? "no answer yet" : printable(key.last_result)) +
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
    item.number("attempt", key.attempt).number("fence", key.fence.number);
    item.raw("created_at", timestamp(key.created_at));
    item.text("last_error", key.last_error);
    item.flag("dead", key.state == CaseState::dead || key.status == "failed_retryable")
        .number("asked", key.attempts);
    item.text("last_result", key.last_result);
    all.append(all.empty() ? "[" : ",").append(item.done());
  }
  return printable_json((all.empty() ? "[]" : all + "]") + "\n");
}

std::string found_keys(const FoundKeys& found, const KeySearch& search, const std::string& store) {
  const bool by_hash = !search.hash.empty();
  const std::string what =
      by_hash ? "the hash " + search.hash : "the request id " + printable(search.request_id);
  if (found.keys.empty() && !by_hash && is_of_no_execution(search.request_id)) {
    return "Request " + printable(search.request_id) +
           " executed nothing: it was answered by what was there, refused, or needed no key. Its "
           "line in the log\nnames the execution (execution) or the key's hash (key, key_hash); "
           "search for these.\n";
  }
  if (found.keys.empty()) {
    return "No record has " + what + " (" + std::to_string(found.seen) + " were scanned" +
           (found.whole ? "" : ", and there are more: --scope, --scan") +
           "). Records past their retention are gone.\nThis does not say that the key was never "
           "used.\n";
  }
  std::string text = std::to_string(found.keys.size()) + " records have " + what + ":\n";
  for (const FoundKey& each : found.keys) {
    text += "  " + command_for("explain", {each.key.scope, each.key.key, store}, "") + "\n";
  }
  return text;
}

std::string found_keys_json(const FoundKeys& found) {
  std::string all;
  for (const FoundKey& each : found.keys) {
    JsonObject item;
    item.text("scope", each.key.scope.text).text("key", each.key.key.text);
    all.append(all.empty() ? "[" : ",").append(item.done());
  }
  JsonObject out;
  out.raw("found", all.empty() ? "[]" : all + "]").flag("whole", found.whole);
  out.number("looked_at", static_cast<std::int64_t>(found.seen));
  return printable_json(out.done() + "\n");
}

}  // namespace pawl
