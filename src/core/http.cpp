#include "pawl/core/http.hpp"

#include <algorithm>
#include <array>

#include "pawl/core/digits.hpp"

namespace pawl {
namespace {

using Seconds = std::chrono::time_point<Instant::clock, std::chrono::seconds>;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string fixdate(Seconds instant) {
  static constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(instant - day);
  std::string text = days.at(std::chrono::weekday(day).c_encoding());
  append_digits(text.append(", "), static_cast<unsigned>(date.day()), 2);
  text.append(" ").append(months.at(static_cast<unsigned>(date.month()) - 1));
  append_digits(text.append(" "), static_cast<int>(date.year()), 4);
  append_digits(text.append(" "), time.hours().count(), 2);
  append_digits(text.append(":"), time.minutes().count(), 2);
  append_digits(text.append(":"), time.seconds().count(), 2);
  return text.append(" GMT");
}

}  // namespace

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
