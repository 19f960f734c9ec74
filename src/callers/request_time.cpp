#include "src/callers/request_time.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace pawl::callers {
namespace {

using std::chrono::seconds;

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// A whole number of so many digits at that place; -1: none.
int number_at(std::string_view text, std::size_t at, std::size_t digits) {
  if (at + digits > text.size() || !is_digits(text.substr(at, digits))) return -1;
  int number = 0;
  std::from_chars(text.data() + at, text.data() + at + digits, number);
  return number;
}

struct Date {
  int year = -1;
  int month = -1;
  int day = -1;
  int hour = -1;
  int minute = -1;
  int second = -1;
};

std::optional<Instant> instant_of(const Date& date) {
  namespace c = std::chrono;
  if (date.year < 1970 || date.month < 1 || date.day < 1) return std::nullopt;
  const c::year_month_day day{c::year(date.year), c::month(static_cast<unsigned>(date.month)),
                              c::day(static_cast<unsigned>(date.day))};
  const bool good = day.ok() && date.hour >= 0 && date.hour < 24 && date.minute >= 0 &&
                    date.minute < 60 && date.second >= 0 && date.second <= 60;
  if (!good) return std::nullopt;
  return Instant(c::sys_days(day)) + c::hours(date.hour) + c::minutes(date.minute) +
         c::seconds(date.second);
}

std::optional<Instant> http_date(std::string_view text) {
  constexpr std::string_view form = "ddd, dd mmm yyyy hh:mm:ss GMT";
  constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != form.size() || !text.ends_with(" GMT")) return std::nullopt;
  if (text.substr(3, 2) != ", " || text[7] != ' ' || text[11] != ' ' || text[16] != ' ' ||
      text[19] != ':' || text[22] != ':') {
    return std::nullopt;
  }
  const auto month = std::ranges::find(months, text.substr(8, 3));
  if (month == months.end()) return std::nullopt;
  return instant_of({number_at(text, 12, 4), static_cast<int>(month - months.begin()) + 1,
                     number_at(text, 5, 2), number_at(text, 17, 2), number_at(text, 20, 2),
                     number_at(text, 23, 2)});
}

// "Z", "+01:00" or "-01:00" behind the seconds and their fraction.
std::optional<seconds> offset_in(std::string_view text) {
  if (text == "Z" || text == "z") return seconds(0);
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const int hours = number_at(text, 1, 2);
  const int minutes = number_at(text, 4, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  const seconds offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
  return text[0] == '+' ? offset : -offset;
}

std::optional<Instant> rfc3339(std::string_view text) {
  constexpr std::size_t whole = std::string_view("yyyy-mm-ddThh:mm:ss").size();
  if (text.size() <= whole || text[4] != '-' || text[7] != '-' || text[13] != ':' ||
      text[16] != ':' || (text[10] != 'T' && text[10] != 't')) {
    return std::nullopt;
  }
  std::string_view rest = text.substr(whole);
  if (rest.starts_with('.')) {  // a part of a second is of no account here
    const std::size_t end = std::min(rest.find_first_not_of("0123456789", 1), rest.size());
    if (end < 2) return std::nullopt;
    rest.remove_prefix(end);
  }
  const std::optional<seconds> offset = offset_in(rest);
  const std::optional<Instant> local =
      instant_of({number_at(text, 0, 4), number_at(text, 5, 2), number_at(text, 8, 2),
                  number_at(text, 11, 2), number_at(text, 14, 2), number_at(text, 17, 2)});
  if (!offset || !local) return std::nullopt;
  return *local - *offset;
}

}  // namespace

std::optional<Instant> parse_request_time(std::string_view text) {
  constexpr std::size_t digits_max = 11;  // milliseconds have 13: they are not taken for seconds
  if (is_digits(text)) {
    if (text.size() > digits_max) return std::nullopt;
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return Instant(seconds(number));
  }
  return text.size() > 0 && text[0] >= '0' && text[0] <= '9' ? rfc3339(text) : http_date(text);
}

}  // namespace pawl::callers
