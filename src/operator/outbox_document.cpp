#include "src/operator/outbox_document.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "src/core/json_writer.hpp"
#include "src/core/printable.hpp"

namespace pawl {
namespace {

std::string iso(Instant at) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::milliseconds>(at - day));
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()),
                static_cast<int>(time.subseconds().count()));
  return text.data();
}

std::string age(Duration passed) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(passed).count();
  if (seconds < 120) return std::to_string(std::max<std::int64_t>(seconds, 0)) + "s";
  if (seconds < 7200) return std::to_string(seconds / 60) + "m";
  if (seconds < 172'800) return std::to_string(seconds / 3600) + "h";
  return std::to_string(seconds / 86'400) + "d";
}

std::string status_name(const OutboxRow& row) {
  return row.discarded_at ? "discarded" : std::string(to_text(row.status));
}

std::string effect_of(const OutboxRow& row) {
  if (row.status == OutboxStatus::done) return "it happened";
  if (!row.first_sent_at) return "it has not happened";
  return "it may have happened: first sent at " + iso(*row.first_sent_at);
}

std::string next_of(const OutboxRow& row, Instant now) {
  if (row.discarded_at) return "nothing: an operator has discarded it";
  const bool held = row.locked_until && now < *row.locked_until;
  switch (row.status) {
    case OutboxStatus::pending:
      return held ? "a worker has it"
                  : "a worker sends it, at or after " + iso(row.next_attempt_at);
    case OutboxStatus::sending:
      return held ? "a worker waits for the answer"
                  : "its worker is gone; another one takes it over";
    case OutboxStatus::done: return "nothing";
    case OutboxStatus::dead: return "waits for you: pawl outbox retry, or pawl outbox discard";
    case OutboxStatus::unknown:
      if (row.asked > 0) {
        return "its source is asked again, at or after " + iso(row.next_attempt_at) +
               "; or you look it up yourself: then pawl outbox confirm, or pawl outbox retry "
               "--nothing-happened";
      }
      return "waits for you: look it up at the destination by its derived key, then pawl outbox "
             "confirm, or pawl outbox retry --nothing-happened";
  }
  return "";
}

void field(std::string& out, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  out.append(name).append(std::string(name.size() < 14 ? 14 - name.size() : 1, ' '));
  out.append(printable(value)).append("\n");
}

}  // namespace

std::string outbox_list(const std::vector<OutboxRow>& rows, Instant now) {
  if (rows.empty()) return "no rows\n";
  std::string out;
  for (const OutboxRow& row : rows) {
    out.append(printable(row.id)).append("  ").append(status_name(row)).append("  ");
    out.append(printable(row.destination))
        .append("  attempts=")
        .append(std::to_string(row.attempt));
    out.append("  age=").append(age(now - row.created_at));
    if (!row.last_error.empty()) out.append("  ").append(printable(row.last_error));
    out += '\n';
  }
  return out;
}

std::string outbox_list_json(const std::vector<OutboxRow>& rows) {
  std::string list = "[";
  for (const OutboxRow& row : rows) {
    if (&row != &rows.front()) list += ',';
    list += outbox_row_json(row);
  }
  return JsonObject().raw("rows", list + "]").done();
}

std::string outbox_row(const OutboxRow& row, Instant now) {
  std::string names;
  for (const Header& header : row.headers) {
    names.append(names.empty() ? "" : ", ").append(header.name);
  }
  std::string out;
  field(out, "id", row.id);
  field(out, "scope", row.scope.text);
  field(out, "key", row.key.text);
  field(out, "destination", row.destination);
  field(out, "derived key", row.derived_key);
  field(out, "request", row.method + " " + row.path);
  field(out, "headers", names);
  field(out, "status", status_name(row));
  field(out, "attempts", std::to_string(row.attempt));
  field(out, "effect", effect_of(row));
  field(out, "answer", row.response_code ? std::to_string(*row.response_code) : "");
  field(out, "provider id", row.provider_id);
  field(out, "last error", row.last_error);
  field(out, "enqueued", iso(row.created_at));
  field(out, "done", row.done_at ? iso(*row.done_at) : "");
  field(out, "next", next_of(row, now));
  return out;
}

std::string outbox_row_json(const OutboxRow& row) {
  const auto time = [](std::optional<Instant> at) {
    return at ? json::quote(iso(*at)) : std::string("null");
  };
  JsonObject out;
  out.text("id", row.id).text("scope", row.scope.text).text("key", row.key.text);
  out.text("destination", row.destination).text("derived_key", row.derived_key);
  out.text("method", row.method).text("path", row.path);
  out.text("status", to_text(row.status)).number("attempt", row.attempt);
  out.raw("next_attempt_at", time(row.next_attempt_at));
  out.raw("first_sent_at", time(row.first_sent_at));
  out.raw("response_code", row.response_code ? std::to_string(*row.response_code) : "null");
  out.text("provider_id", row.provider_id).text("last_error", row.last_error);
  out.raw("created_at", time(row.created_at)).raw("done_at", time(row.done_at));
  out.raw("discarded_at", time(row.discarded_at));
  return printable_json(out.done());
}

}  // namespace pawl
