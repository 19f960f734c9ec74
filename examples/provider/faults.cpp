#include "provider/faults.hpp"

#include <algorithm>
#include <charconv>

#include "common/json.hpp"
#include "common/request.hpp"
#include "provider/digest.hpp"

namespace pawl::provider {

const std::array<Chance, 11> chances{{
    {"rate_limit", &Faults::rate_limit, "429, nothing charged"},
    {"error_before", &Faults::error_before, "503, nothing charged"},
    {"drop_before", &Faults::drop_before, "hang up, nothing charged"},
    {"decline", &Faults::decline, "402, the card says no"},
    {"error_after", &Faults::error_after, "charge, then 500"},
    {"drop_after", &Faults::drop_after, "charge, then hang up"},
    {"delay_before", &Faults::delay_before, "wait for delay_ms, then charge"},
    {"delay_after", &Faults::delay_after, "charge, then wait for delay_ms"},
    {"lookup_error", &Faults::lookup_error, "503 when asked about a charge"},
    {"webhook_duplicate", &Faults::webhook_duplicate, "an event is sent twice"},
    {"webhook_delay", &Faults::webhook_delay, "an event is sent webhook_delay_ms late"},
}};

const std::array<Amount, 5> amounts{{
    {"seed", &Faults::seed, "of chance"},
    {"delay_ms", &Faults::delay_ms, "how long a delay is"},
    {"visibility_delay_ms", &Faults::visibility_delay_ms, "a charge is not found for so long"},
    {"webhook_delay_ms", &Faults::webhook_delay_ms, "how late a late event is"},
    {"webhook_retry_ms", &Faults::webhook_retry_ms, "until an event is sent again; then doubled"},
}};

namespace {

constexpr std::size_t posts_befallen = 8;  // the first so many chances are about POSTs
constexpr std::size_t next_count_max = 10'000;
constexpr std::size_t tries_count_max = 1'000'000;

// 0 to 1, the same for the same words.
double draw(std::int64_t seed, const std::string& name) {
  const Digest digest = sha256(std::to_string(seed) + "/" + name);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 6; ++i) bits = bits << 8 | digest[i];
  return static_cast<double>(bits) / static_cast<double>(std::uint64_t{1} << 48);
}

std::string to_json(double number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return std::string(text.data(), end);
}

std::string known_names() {
  std::string names;
  for (const Chance& chance : chances) names.append(chance.name).append(", ");
  for (const Amount& amount : amounts) names.append(amount.name).append(", ");
  return names + "next";
}

// True if the member was one of ours; what was wrong with it goes to `trouble`.
bool read_switch(const json::Member& member, Faults& faults, std::string& trouble) {
  for (const Chance& chance : chances) {
    if (chance.name != member.name) continue;
    double value = 0;
    const std::string& text = member.value.text;
    std::from_chars(text.data(), text.data() + text.size(), value);
    if (member.value.kind != json::Kind::number) {
      trouble = "'" + member.name + "' is a probability: a number from 0 to 1";
    }
    faults.*chance.value = value;
    return true;
  }
  for (const Amount& amount : amounts) {
    if (amount.name != member.name) continue;
    const auto value = example::whole_number(&member.value);
    if (!value) trouble = "'" + member.name + "' is a whole number";
    faults.*amount.value = value.value_or(0);
    return true;
  }
  return false;
}

bool read_next(const json::Value& list, std::deque<Mishap>& next, std::string& trouble) {
  if (list.kind != json::Kind::array || list.items.size() > next_count_max) {
    trouble = "'next' is a list of at most 10000 mishaps";
    return false;
  }
  for (const json::Value& item : list.items) {
    const std::optional<Mishap> mishap = from_text<Mishap>(item.text);
    if (!mishap) trouble = "there is no mishap '" + item.text + "'; there are:";
    if (mishap) next.push_back(*mishap);
  }
  if (trouble.empty()) return true;
  for (const auto& [mishap, name] : Names<Mishap>::table) trouble.append(" ").append(name);
  return false;
}

}  // namespace

std::string trouble_with(const Faults& faults) {
  double sum = 0;
  for (std::size_t i = 0; i < chances.size(); ++i) {
    const double value = faults.*chances[i].value;
    if (!(value >= 0 && value <= 1)) {
      return "'" + std::string(chances[i].name) + "' is a probability: a number from 0 to 1";
    }
    if (i < posts_befallen) sum += value;
  }
  for (const Amount& amount : amounts) {
    if (faults.*amount.value < 0) return "'" + std::string(amount.name) + "' is not negative";
  }
  constexpr double rounding = 1e-9;
  if (sum > 1 + rounding) return "the probabilities of what befalls a POST are over 1 together";
  return {};
}

Expected<Done, std::string> Switchboard::change(const json::Value& document) {
  if (document.kind != json::Kind::object) {
    return Unexpected{std::string("a JSON object with any of: ") + known_names()};
  }
  Faults faults = faults_;
  std::deque<Mishap> next = next_;
  for (const json::Member& member : document.members) {
    std::string trouble;
    const bool known = member.name == "next" ? read_next(member.value, next, trouble)
                                             : read_switch(member, faults, trouble);
    if (!trouble.empty()) return Unexpected{trouble};
    if (!known) return Unexpected{"there is no switch '" + member.name + "'; " + known_names()};
  }
  std::string trouble = trouble_with(faults);
  if (!trouble.empty()) return Unexpected{std::move(trouble)};
  faults_ = faults;
  next_ = std::move(next);
  return Done{};
}

void Switchboard::clear() {
  faults_ = Faults{};
  next_.clear();
}

std::string Switchboard::text() const {
  example::JsonObject out;
  for (const Amount& amount : amounts) out.number(amount.name, faults_.*amount.value);
  for (const Chance& chance : chances) out.raw(chance.name, to_json(faults_.*chance.value));
  std::string next;
  for (const Mishap mishap : next_) {
    next.append(next.empty() ? "" : ",").append(json::quote(to_text(mishap)));
  }
  example::JsonObject struck;
  for (const auto& [mishap, count] : struck_) struck.number(to_text(mishap), count);
  return out.raw("next", "[" + next + "]").raw("struck", struck.done()).done();
}

Mishap Switchboard::next_mishap(const std::string& key) {
  Mishap mishap = Mishap::none;
  if (tries_.size() >= tries_count_max) tries_.clear();
  const std::string name = key + "/" + std::to_string(++tries_[key]);
  if (!next_.empty()) {
    mishap = next_.front();
    next_.pop_front();
  } else {
    double left = draw(faults_.seed, name);
    for (std::size_t i = 0; i < posts_befallen && mishap == Mishap::none; ++i) {
      left -= faults_.*chances[i].value;
      if (left < 0) mishap = from_text<Mishap>(chances[i].name).value();
    }
  }
  ++struck_[mishap];
  return mishap;
}

bool Switchboard::strikes(double probability, const std::string& name) const {
  return draw(faults_.seed, name) < probability;
}

}  // namespace pawl::provider
