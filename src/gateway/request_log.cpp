#include "src/gateway/request_log.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "pawl/core/digits.hpp"
#include "pawl/core/json.hpp"

namespace pawl::gateway {
namespace {

constexpr std::size_t pending_bytes_max = std::size_t{32} << 10;

std::string timestamp() {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(now - day);
  std::string text;
  append_digits(text, static_cast<int>(date.year()), 4);
  append_digits(text.append("-"), static_cast<unsigned>(date.month()), 2);
  append_digits(text.append("-"), static_cast<unsigned>(date.day()), 2);
  append_digits(text.append("T"), time.hours().count(), 2);
  append_digits(text.append(":"), time.minutes().count(), 2);
  append_digits(text.append(":"), time.seconds().count(), 2);
  append_digits(text.append("."), time.subseconds().count(), 3);
  return text.append("Z");
}

std::string milliseconds(Duration duration) {
  const std::int64_t micros =
      std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  std::string text;
  append_digits(text, micros / 1000);
  append_digits(text.append("."), micros % 1000, 3);
  return text;
}

void add_json(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  out.append(",\"").append(name).append("\":").append(json::quote(value));
}

std::string as_json(const LogLine& line) {
  std::string out = "{\"time\":\"" + timestamp() + "\",\"level\":\"info\"";
  add_json(out, "request_id", line.request_id);
  add_json(out, "client", line.client);
  add_json(out, "method", line.method);
  add_json(out, "path", line.path);
  add_json(out, "route", line.route);
  add_json(out, "key_hash", line.key);
  add_json(out, "decision", line.decision);
  add_json(out, "evidence", line.evidence);
  add_json(out, "trouble", line.trouble);
  out += ",\"status\":" + std::to_string(line.status) + ",\"ms\":" + milliseconds(line.took);
  if (line.upstream_took.count() > 0) out += ",\"upstream_ms\":" + milliseconds(line.upstream_took);
  return out + "}\n";
}

std::string as_text(const LogLine& line) {
  std::string out = timestamp() + " " + std::to_string(line.status) + " ";
  out.append(line.method).append(" ").append(line.path);
  out += " " + milliseconds(line.took) + "ms";
  if (line.upstream_took.count() > 0) out += " upstream=" + milliseconds(line.upstream_took) + "ms";
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) out.append(" ").append(name).append("=").append(value);
  };
  add("decision", line.decision);
  add("evidence", line.evidence);
  add("key", line.key);
  add("route", line.route);
  add("client", line.client);
  add("id", line.request_id);
  if (!line.trouble.empty()) out.append(" (").append(line.trouble).append(")");
  return out + "\n";
}

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody reads the log: the requests go on
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void RequestLog::append(std::string text) {
  const std::lock_guard lock(mutex_);
  pending_ += text;
  if (pending_.size() < pending_bytes_max) return;
  write_all(pending_);
  pending_.clear();
}

void RequestLog::write(const LogLine& line) {
  append(format_ == config::LogFormat::json ? as_json(line) : as_text(line));
}

void RequestLog::say(std::string_view level, std::string_view what) {
  if (format_ == config::LogFormat::json) {
    append("{\"time\":\"" + timestamp() + "\",\"level\":" + json::quote(level) +
           ",\"message\":" + json::quote(what) + "}\n");
  } else {
    append(timestamp() + " " + std::string(level) + ": " + std::string(what) + "\n");
  }
  flush();
}

void RequestLog::flush() {
  const std::lock_guard lock(mutex_);
  write_all(pending_);
  pending_.clear();
}

}  // namespace pawl::gateway
