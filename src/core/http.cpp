#include "pawl/types/http.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "src/core/digits.hpp"

namespace pawl {
namespace {

using Seconds = std::chrono::time_point<Instant::clock, std::chrono::seconds>;

constexpr std::array<std::string_view, 12> month_names{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string fixdate(Seconds instant) {
  static constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(instant - day);
  std::string text = days.at(std::chrono::weekday(day).c_encoding());
  append_digits(text.append(", "), static_cast<unsigned>(date.day()), 2);
  text.append(" ").append(month_names.at(static_cast<unsigned>(date.month()) - 1));
  append_digits(text.append(" "), static_cast<int>(date.year()), 4);
  append_digits(text.append(" "), time.hours().count(), 2);
  append_digits(text.append(":"), time.minutes().count(), 2);
  append_digits(text.append(":"), time.seconds().count(), 2);
  return text.append(" GMT");
}

std::optional<int> number_in(std::string_view text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc{} || stopped != end || number < 0) return std::nullopt;
  return number;
}

// The one form that is still written; what is read must come out the same when it is written.
std::optional<Seconds> date_in(std::string_view text) {
  constexpr std::size_t length = 29;
  if (text.size() != length) return std::nullopt;
  const auto month = std::ranges::find(month_names, text.substr(8, 3));
  const std::optional<int> day = number_in(text.substr(5, 2));
  const std::optional<int> year = number_in(text.substr(12, 4));
  const std::optional<int> hour = number_in(text.substr(17, 2));
  const std::optional<int> minute = number_in(text.substr(20, 2));
  const std::optional<int> second = number_in(text.substr(23, 2));
  if (month == month_names.end() || !day || !year || !hour || !minute || !second) {
    return std::nullopt;
  }
  const auto number = static_cast<unsigned>(month - month_names.begin()) + 1;
  const std::chrono::year_month_day date(std::chrono::year(*year), std::chrono::month(number),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  const Seconds instant = std::chrono::sys_days(date) + std::chrono::hours(*hour) +
                          std::chrono::minutes(*minute) + std::chrono::seconds(*second);
  if (fixdate(instant) != text) return std::nullopt;
  return instant;
}

}  // namespace

std::optional<Duration> retry_after(const Headers& headers, Instant now) {
  const std::optional<std::string_view> text = find_header(headers, "Retry-After");
  if (!text) return std::nullopt;
  if (const std::optional<int> seconds = number_in(*text)) return std::chrono::seconds(*seconds);
  const std::optional<Seconds> date = date_in(*text);
  if (!date) return std::nullopt;
  return std::max<Duration>(*date - now, Duration{0});
}

bool same_field_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::optional<std::string_view> find_header(const Headers& headers, std::string_view name) {
  const auto found = std::ranges::find_if(
      headers, [&](const Header& header) { return same_field_name(header.name, name); });
  if (found == headers.end()) return std::nullopt;
  return found->value;
}

// All answers of one second that are kept equally long say the same: written once.
std::string imf_fixdate(Instant instant) {
  thread_local Seconds last{};
  thread_local std::string text = fixdate(last);
  const auto second = std::chrono::floor<std::chrono::seconds>(instant);
  if (second != last) text = fixdate(last = second);
  return text;
}

}  // namespace pawl
