#include "src/config/request_ages.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "src/config/lines.hpp"
#include "src/config/scope_rule.hpp"
#include "src/core/encoding.hpp"

namespace pawl::config {
namespace {

constexpr Duration other_nodes_follow_within = std::chrono::hours(1);
// Of a route that makes no keys: none of its requests is one whose key has expired.
constexpr Duration unlimited_age = std::chrono::years(1000);
constexpr std::string_view the_rest = "default";

// One line: "POST %2Fpayments payments 300000000", of the rest "* * default 86400000000".
struct AgedRoute {
  std::string match;  // all but the age
  std::string name;
  Duration age{};
};

// An age that was not limited was limited by the life of keys: half of that is what a limit may be.
Duration age_of(const RoutePolicy& policy) {
  if (!makes_keys(policy)) return unlimited_age;
  return policy.max_request_age.value_or(policy.retention / 2);
}

void add_route(std::string& text, std::string_view method, std::string_view path,
               std::string_view name, const RoutePolicy& policy) {
  text.append(method).append(" ").append(percent_encoded(path)).append(" ");
  text.append(percent_encoded(name)).append(" ");  // which may be "POST /payments"
  text.append(std::to_string(age_of(policy).count())).append("\n");
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The last word of a text, which is cut off it.
std::string_view take_last(std::string_view& text) {
  const std::size_t blank = text.rfind(' ');
  const std::string_view last = blank == std::string_view::npos ? text : text.substr(blank + 1);
  text = text.substr(0, blank == std::string_view::npos ? 0 : blank);
  return last;
}

std::vector<AgedRoute> routes_in(std::string_view text) {
  std::vector<AgedRoute> routes;
  each_line(text, [&](std::string_view line) {
    const std::optional<std::int64_t> age = whole_number(take_last(line));
    if (!age) return;
    std::string_view rest = line;
    routes.push_back({std::string(line), std::string(take_last(rest)), Duration(*age)});
  });
  return routes;
}

// Adds it where no other says as much.
void add_age(std::vector<EarlierAge>& ages, const EarlierAge& added) {
  const auto says_as_much = [](const EarlierAge& one, const EarlierAge& other) {
    return one.until >= other.until && one.age <= other.age;
  };
  if (std::ranges::any_of(ages, [&](const auto& each) { return says_as_much(each, added); })) {
    return;
  }
  std::erase_if(ages, [&](const EarlierAge& each) { return says_as_much(added, each); });
  ages.push_back(added);
}

}  // namespace

std::string request_ages(const Config& config) {
  std::string text;
  for (const Route& route : config.routes) {
    add_route(text, route.method, route.path, route.name, route.policy);
  }
  add_route(text, "*", "*", the_rest, config.policy);
  return text;
}

// Up to the first route that differs every request has the same route as before; what comes behind
// it may have had any of those.
std::string ages_after(std::string_view history, std::string_view stored, std::string_view ages,
                       Instant now) {
  const std::vector<AgedRoute> before = routes_in(stored);
  const std::vector<AgedRoute> next = routes_in(ages);
  const EarlierAges known = read_earlier_ages(history);
  const auto [left, right] =
      std::ranges::mismatch(before, next, {}, &AgedRoute::match, &AgedRoute::match);
  const auto same = static_cast<std::size_t>(left - before.begin());
  std::string text;
  for (std::size_t i = 0; i < next.size(); ++i) {
    std::vector<EarlierAge> earlier;
    const std::size_t first = std::min(i, same);
    const std::size_t last = i < same ? i + 1 : before.size();
    for (std::size_t j = first; j < last; ++j) {
      const auto found = known.find(before[j].name);
      if (found != known.end()) {
        for (const EarlierAge& each : found->second) add_age(earlier, each);
      }
      const Instant until = now + other_nodes_follow_within + before[j].age;
      if (before[j].age < next[i].age) add_age(earlier, {until, before[j].age});
    }
    for (const EarlierAge& each : earlier) {
      if (now - each.until > next[i].age) continue;  // too old by now, whatever was before
      text.append(std::to_string(each.until.time_since_epoch().count())).append(" ");
      text.append(next[i].name).append(" ");
      text.append(std::to_string(each.age.count())).append("\n");
    }
  }
  return text;
}

EarlierAges read_earlier_ages(std::string_view history) {
  EarlierAges ages;
  each_line(history, [&](std::string_view line) {
    const std::optional<std::int64_t> age = whole_number(take_last(line));
    const std::string name(take_last(line));
    const std::optional<std::int64_t> until = whole_number(line);
    if (age && until) ages[name].push_back({Instant(Duration(*until)), Duration(*age)});
  });
  return ages;
}

Duration age_allowed(const EarlierAges& earlier, std::string_view route, Instant made,
                     Duration today) {
  Duration allowed = today;
  const auto found = earlier.find(percent_encoded(route));
  if (found == earlier.end()) return allowed;
  for (const EarlierAge& each : found->second) {
    if (made <= each.until) allowed = std::min(allowed, each.age);
  }
  return allowed;
}

}  // namespace pawl::config
