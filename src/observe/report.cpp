#include "src/observe/report.hpp"

#include <array>
#include <cstdio>
#include <map>

#include "src/core/json_writer.hpp"
#include "src/core/printable.hpp"
#include "src/core/scope.hpp"
#include "src/observe/predicted_decision.hpp"

namespace pawl::observe {
namespace {

using Number = std::uint64_t;

struct Counts {
  std::map<PredictedDecision, Number> by_would;
  Number near_duplicates = 0;

  [[nodiscard]] Number of(PredictedDecision would) const {
    const auto found = by_would.find(would);
    return found == by_would.end() ? 0 : found->second;
  }
  template <std::size_t Size>
  [[nodiscard]] Number of(const std::array<PredictedDecision, Size>& all) const {
    Number sum = 0;
    for (const PredictedDecision each : all) sum += of(each);
    return sum;
  }
};

// With a key that is one, and whose request could be told from others.
constexpr std::array keyed{PredictedDecision::created,        PredictedDecision::replay,
                           PredictedDecision::in_progress,    PredictedDecision::key_misuse,
                           PredictedDecision::unknown,        PredictedDecision::expired,
                           PredictedDecision::near_duplicate, PredictedDecision::body_invalid,
                           PredictedDecision::caller_unproven};
constexpr std::array saved{PredictedDecision::replay, PredictedDecision::in_progress,
                           PredictedDecision::unknown};
constexpr std::array refused{PredictedDecision::key_missing,    PredictedDecision::key_invalid,
                             PredictedDecision::key_misuse,     PredictedDecision::expired,
                             PredictedDecision::near_duplicate, PredictedDecision::body_invalid,
                             PredictedDecision::body_too_large, PredictedDecision::unauthenticated,
                             PredictedDecision::bad_request,    PredictedDecision::caller_unproven};
constexpr std::array not_judged{PredictedDecision::dropped, PredictedDecision::not_read};

Number requests(const Counts& counts) {
  Number sum = 0;
  for (const auto& [would, number] : counts.by_would) sum += number;
  return sum - counts.of(PredictedDecision::dropped);
}

struct Latest {
  Instant at{};
  std::string key;
  std::string caller;
};

struct RouteFindings {
  std::map<std::string, Counts> callers;
  std::map<PredictedDecision, Latest> latest;
};

struct Findings {
  std::map<std::string, RouteFindings> routes;
  Counts all;
};

// "caller:tenant-a|route:payments" is tenant-a. Escapes stay as they are.
std::string shown_caller(const std::string& scope) {
  if (kind_of(Scope{scope}) != ScopeKind::caller) return "(" + scope + ")";
  return std::string(caller_in(scope));
}

Findings findings_in(const ObservationStore::Summary& summary) {
  Findings findings;
  for (const Tally& tally : summary.tallies) {
    const std::optional<PredictedDecision> would = from_text<PredictedDecision>(tally.would);
    if (!would) continue;  // a newer pawl's word
    findings.all.by_would[*would] += tally.requests;
    findings.all.near_duplicates += tally.near_duplicates;
    RouteFindings& route = findings.routes[tally.route];
    if (*would == PredictedDecision::dropped) continue;
    const std::string caller = shown_caller(tally.scope);
    Counts& counts = route.callers[caller];
    counts.by_would[*would] += tally.requests;
    counts.near_duplicates += tally.near_duplicates;
    Latest& latest = route.latest[*would];
    if (tally.last_at >= latest.at) latest = {tally.last_at, tally.last_key, caller};
  }
  return findings;
}

// 2026-01-31T08:01:22Z, or with a blank and no Z.
std::string utc(Instant at, const char* between, const char* end) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(at - day));
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u%s%02d:%02d:%02d%s", int(date.year()),
                unsigned(date.month()), unsigned(date.day()), between,
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()), end);
  return text;
}

// Six characters at most.
std::string brief(Number number) {
  if (number < 100'000) return std::to_string(number);
  if (number < 100'000'000) return std::to_string(number / 1000) + "k";
  return std::to_string(number / 1'000'000) + "M";
}

struct Column {
  std::string_view heading;
  std::size_t width;
  Number (*value)(const Counts&);
};

constexpr std::size_t caller_width = 14;

const std::array<Column, 9>& columns() {
  static const std::array<Column, 9> all{{
      {"requests", 9, requests},
      {"keyed", 7, [](const Counts& counts) { return counts.of(keyed); }},
      {"missing", 8,
       [](const Counts& counts) {
         return counts.of(PredictedDecision::key_missing) + counts.of(PredictedDecision::unguarded);
       }},
      {"invalid", 8,
       [](const Counts& counts) { return counts.of(PredictedDecision::key_invalid); }},
      {"replay", 7, [](const Counts& counts) { return counts.of(PredictedDecision::replay); }},
      {"flight", 7, [](const Counts& counts) { return counts.of(PredictedDecision::in_progress); }},
      {"reused", 7, [](const Counts& counts) { return counts.of(PredictedDecision::key_misuse); }},
      {"unknown", 8, [](const Counts& counts) { return counts.of(PredictedDecision::unknown); }},
      {"near", 5, [](const Counts& counts) { return counts.near_duplicates; }},
  }};
  return all;
}

std::string padded_left(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ').append(text);
}

std::string padded_right(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

void append_caller(std::string& out, const std::string& scope, const Counts& counts) {
  const std::string caller = printable(scope);
  const bool long_name = caller.size() >= caller_width;
  if (long_name) out.append(caller).append("\n");
  out += padded_right(long_name ? "" : caller, caller_width);
  for (const Column& column : columns()) {
    out += padded_left(brief(column.value(counts)), column.width);
  }
  out += '\n';
}

struct Line {
  PredictedDecision would;
  const char* text;
};

void append_route(std::string& out, const std::string& name, const RouteFindings& route) {
  out.append("\nroute ").append(printable(name)).append("\n");
  out += padded_right("caller", caller_width);
  for (const Column& column : columns()) out += padded_left(column.heading, column.width);
  out += '\n';
  for (const auto& [caller, counts] : route.callers) append_caller(out, caller, counts);
  static constexpr std::array latest{
      Line{PredictedDecision::replay, "replay"}, Line{PredictedDecision::in_progress, "in flight"},
      Line{PredictedDecision::key_misuse, "reused key"},
      Line{PredictedDecision::unknown, "unknown"}, Line{PredictedDecision::expired, "expired key"}};
  for (const Line& line : latest) {
    const auto found = route.latest.find(line.would);
    if (found == route.latest.end()) continue;
    out += padded_right(std::string("  last ") + line.text, 20);
    out.append(utc(found->second.at, " ", "")).append("  ").append(printable(found->second.key));
    out.append("  ").append(printable(found->second.caller)).append("\n");
  }
}

template <std::size_t Size>
void append_list(std::string& out, const Counts& counts, Number sum, const char* what,
                 const std::array<Line, Size>& lines) {
  out.append("  ").append(std::to_string(sum)).append(" ").append(what).append("\n");
  for (const Line& line : lines) {
    const Number number = counts.of(line.would);
    if (number == 0) continue;
    out.append(padded_left(std::to_string(number), 10)).append("  ").append(line.text).append("\n");
  }
}

void append_change(std::string& out, const Counts& all) {
  out += "\nWith mode = \"sync\":\n";
  static constexpr std::array saved_lines{
      Line{PredictedDecision::replay, "answered again from the store (replay)"},
      Line{PredictedDecision::in_progress,
           "answered 409 while the first one was still running (flight)"},
      Line{PredictedDecision::unknown, "answered 409 because the outcome was unknown (unknown)"}};
  append_list(out, all, all.of(saved), "upstream calls would have been saved", saved_lines);
  static constexpr std::array refused_lines{
      Line{PredictedDecision::key_missing, "missing key (400)"},
      Line{PredictedDecision::key_invalid, "invalid key (400)"},
      Line{PredictedDecision::key_misuse, "key reused for another request (422)"},
      Line{PredictedDecision::expired, "key past its retention (410)"},
      Line{PredictedDecision::caller_unproven,
           "key of other credentials, no caller being chosen (409)"},
      Line{PredictedDecision::near_duplicate, "the same request under another key (409)"},
      Line{PredictedDecision::body_invalid, "body that is not what it says to be (400, 415)"},
      Line{PredictedDecision::body_too_large, "body over body_limit (413)"},
      Line{PredictedDecision::unauthenticated, "caller that is not known (401)"},
      Line{PredictedDecision::bad_request, "ambiguous credential (400)"}};
  append_list(out, all, all.of(refused), "requests would have been refused", refused_lines);
  if (all.near_duplicates > 0) {
    out.append("  ").append(std::to_string(all.near_duplicates));
    out += " requests were the same as one just before, under another key (near)\n";
  }
  if (all.of(PredictedDecision::unguarded) > 0) {
    out.append("  ").append(std::to_string(all.of(PredictedDecision::unguarded)));
    out += " requests without a key would have passed: key = \"optional\"\n";
  }
  if (all.of(not_judged) == 0) return;
  static constexpr std::array lost_lines{
      Line{PredictedDecision::dropped,
           "not recorded: the store was unavailable, or too much came at once"},
      Line{PredictedDecision::not_read, "ended by the upstream before all of the body had come"}};
  append_list(out, all, all.of(not_judged), "requests were forwarded and not judged", lost_lines);
}

std::string counts_json(const Counts& counts) {
  JsonObject by_would;
  for (const auto& [would, name] : Names<PredictedDecision>::table) {
    by_would.number(name, static_cast<std::int64_t>(counts.of(would)));
  }
  const auto number = [](Number value) { return static_cast<std::int64_t>(value); };
  return JsonObject()
      .number("requests", number(requests(counts)))
      .number("with_key", number(counts.of(keyed)))
      .number("near_duplicates", number(counts.near_duplicates))
      .raw("would", by_would.done())
      .done();
}

}  // namespace

std::string report_text(const ObservationStore::Summary& summary) {
  std::string out = "Observed from " + utc(summary.from, " ", "");
  out.append(" to ").append(utc(summary.until, " ", "")).append(" UTC\n");
  if (summary.tallies.empty()) {
    return out + "Nothing. Is there traffic, and a route with mode = \"observe\"?\n";
  }
  const Findings findings = findings_in(summary);
  for (const auto& [name, route] : findings.routes) append_route(out, name, route);
  append_change(out, findings.all);
  return out;
}

std::string report_json(const ObservationStore::Summary& summary) {
  const Findings findings = findings_in(summary);
  std::string rows;
  for (const auto& [name, route] : findings.routes) {
    for (const auto& [caller, counts] : route.callers) {
      rows += rows.empty() ? "[" : ",";
      rows += JsonObject()
                  .text("route", name)
                  .text("caller", caller)
                  .raw("counts", counts_json(counts))
                  .done();
    }
  }
  std::string latest;
  for (const auto& [name, route] : findings.routes) {
    for (const auto& [would, last] : route.latest) {
      latest += latest.empty() ? "[" : ",";
      latest += JsonObject()
                    .text("route", name)
                    .text("caller", last.caller)
                    .text("would", to_text(would))
                    .text("at", utc(last.at, "T", "Z"))
                    .text("key", last.key)
                    .done();
    }
  }
  const std::string change =
      JsonObject()
          .number("upstream_calls_saved", static_cast<std::int64_t>(findings.all.of(saved)))
          .number("refused", static_cast<std::int64_t>(findings.all.of(refused)))
          .number("not_judged", static_cast<std::int64_t>(findings.all.of(not_judged)))
          .done();
  const JsonObject report = JsonObject()
                                .text("from", utc(summary.from, "T", "Z"))
                                .text("until", utc(summary.until, "T", "Z"))
                                .raw("all", counts_json(findings.all))
                                .raw("callers", rows.empty() ? "[]" : rows + "]")
                                .raw("latest", latest.empty() ? "[]" : latest + "]")
                                .raw("with_sync", change);
  return printable_json(report.done() + "\n");
}

}  // namespace pawl::observe
