#include "src/gateway/request_log.hpp"

#include <algorithm>
#include <chrono>

#include "pawl/types/json.hpp"
#include "src/core/digits.hpp"
#include "src/core/printable.hpp"

namespace pawl::gateway {
namespace {

constexpr std::size_t line_bytes_usual = 512;

void append_timestamp(std::string& text) {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(now - day);
  append_digits(text, static_cast<int>(date.year()), 4);
  append_digits(text.append("-"), static_cast<unsigned>(date.month()), 2);
  append_digits(text.append("-"), static_cast<unsigned>(date.day()), 2);
  append_digits(text.append("T"), time.hours().count(), 2);
  append_digits(text.append(":"), time.minutes().count(), 2);
  append_digits(text.append(":"), time.seconds().count(), 2);
  append_digits(text.append("."), time.subseconds().count(), 3);
  text.append("Z");
}

void append_milliseconds(std::string& text, Duration duration) {
  const std::int64_t micros =
      std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  append_digits(text, micros / 1000);
  append_digits(text.append("."), micros % 1000, 3);
}

void add_json(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  out.append(",\"").append(name).append("\":").append(json::quote(value));
}

// What went wrong here or behind us is more than a matter of record.
config::LogLevel level_of(const LogLine& line) {
  return line.status >= 500 ? config::LogLevel::warning : config::LogLevel::info;
}

void append_json(std::string& out, const LogLine& line) {
  append_timestamp(out.append("{\"time\":\""));
  out.append("\",\"level\":\"").append(to_text(level_of(line))).append("\"");
  add_json(out, "request_id", line.request_id);
  add_json(out, "client", line.client);
  add_json(out, "method", line.method);
  add_json(out, "path", line.path);
  add_json(out, "route", line.route);
  add_json(out, "scope", line.scope);
  add_json(out, "key_hash", line.key);
  add_json(out, "execution", line.execution);
  add_json(out, "decision", line.decision);
  add_json(out, "evidence", line.evidence);
  add_json(out, "trouble", line.trouble);
  append_digits(out.append(",\"status\":"), line.status);
  append_milliseconds(out.append(",\"ms\":"), line.took);
  if (line.upstream_took.count() > 0) {
    append_milliseconds(out.append(",\"upstream_ms\":"), line.upstream_took);
  }
  out.append("}\n");
}

// A value ends where it ends: in quotes if it has a blank or a sign of ours in it.
void append_value(std::string& out, std::string_view text) {
  const auto is_plain = [](char c) {
    return c > 0x20 && c < 0x7F && c != '=' && c != '"' && c != '(' && c != ')';
  };
  if (std::ranges::all_of(text, is_plain)) {
    out.append(text);
    return;
  }
  out += '"';
  for (const char c : printable(text)) out.append(c == '"' ? "\\" : "").append(1, c);
  out += '"';
}

void append_text(std::string& out, const LogLine& line) {
  append_timestamp(out);
  append_digits(out.append(" "), line.status);
  append_value(out.append(" "), line.method);
  append_value(out.append(" "), line.path);
  append_milliseconds(out.append(" "), line.took);
  out.append("ms");
  if (line.upstream_took.count() > 0) {
    append_milliseconds(out.append(" upstream="), line.upstream_took);
    out.append("ms");
  }
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) append_value(out.append(" ").append(name).append("="), value);
  };
  add("decision", line.decision);
  add("evidence", line.evidence);
  add("scope", line.scope);
  add("key", line.key);
  add("execution", line.execution);
  add("route", line.route);
  add("client", line.client);
  add("id", line.request_id);
  if (!line.trouble.empty()) out.append(" (").append(printable(line.trouble)).append(")");
  out.append("\n");
}

// What is said of the program itself, as a line.
std::string message(config::LogFormat format, std::string_view level, std::string_view what,
                    const RequestLog::Named& values) {
  std::string text;
  if (format == config::LogFormat::json) {
    append_timestamp(text.append("{\"time\":\""));
    text.append("\",\"level\":").append(json::quote(level));
    text.append(",\"message\":").append(json::quote(what));
    for (const auto& [name, value] : values) add_json(text, name, value);
    text.append("}\n");
    return printable_json(std::move(text));
  }
  append_timestamp(text);
  text.append(" ").append(level).append(": ").append(printable(what));
  for (const auto& [name, value] : values) {
    const bool one_word = value.find_first_of(" \"") == std::string::npos;
    text.append(" ").append(name).append("=");
    text.append(printable(one_word ? value : json::quote(value)));
  }
  return text.append("\n");
}

os::LogSinkOptions telling_of_drops(os::LogSinkOptions options, config::LogFormat format) {
  options.dropped_line = [format](std::uint64_t lines) {
    return message(format, "warning",
                   "log lines were dropped: they came faster than the log was read",
                   {{"dropped", std::to_string(lines)}});
  };
  return options;
}

}  // namespace

RequestLog::RequestLog(config::LogFormat format, os::LogSinkOptions options)
    : format_(format), sink_(telling_of_drops(std::move(options), format)) {}

void RequestLog::write(const LogLine& line) {
  if (level_of(line) > level_) return;
  std::string text;
  text.reserve(line_bytes_usual);
  if (format_ == config::LogFormat::json) {
    append_json(text, line);
    text = printable_json(std::move(text));
  } else {
    append_text(text, line);
  }
  sink_.write(text);
}

void RequestLog::say(std::string_view level, std::string_view what, const Named& values) {
  if (from_text<config::LogLevel>(level).value_or(config::LogLevel::error) > level_) return;
  sink_.write(message(format_, level, what, values), os::LogSink::When::at_once);
}

}  // namespace pawl::gateway
