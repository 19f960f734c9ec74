// What goes wrong, how often, and for whom.
//
// Chance is a function of the seed, the request's key and how often that key was sent: a run with
// the same seed and the same keys has the same accidents, whatever order the requests come in.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "pawl/types/expected.hpp"
#include "pawl/types/json.hpp"
#include "pawl/types/names.hpp"

namespace pawl::provider {

// What befalls one POST.
enum class Mishap {
  none,
  rate_limit,    // 429, nothing charged
  error_before,  // 503, nothing charged
  drop_before,   // hangs up, nothing charged
  decline,       // 402: the card says no
  error_after,   // charged, then 500
  drop_after,    // charged, then hangs up
  delay_before,  // waits, then charges
  delay_after,   // charges, then waits
  crash_before,  // the process kills itself before charging ...
  crash_inside,  // ... in the middle, with nothing committed ...
  crash_after,   // ... or charged, with nothing answered
};

// Probabilities are 0 to 1; times are milliseconds.
struct Faults {
  std::int64_t seed = 1;
  // At most one of these befalls a POST; together they are 1 at most.
  double rate_limit = 0;
  double error_before = 0;
  double drop_before = 0;
  double decline = 0;
  double error_after = 0;
  double drop_after = 0;
  double delay_before = 0;
  double delay_after = 0;
  std::int64_t delay_ms = 1000;
  // Reading.
  double lookup_error = 0;               // 503
  std::int64_t visibility_delay_ms = 0;  // not found before that
  // Webhooks.
  double webhook_duplicate = 0;  // sent twice
  double webhook_delay = 0;      // sent late, and so out of order
  std::int64_t webhook_delay_ms = 1000;
  std::int64_t webhook_retry_ms = 500;  // doubled with each try
};

// The switches by their names, for JSON and for the command line.
struct Chance {
  std::string_view name;
  double Faults::*value;
  std::string_view what;
};
struct Amount {
  std::string_view name;
  std::int64_t Faults::*value;
  std::string_view what;
};
extern const std::array<Chance, 11> chances;
extern const std::array<Amount, 5> amounts;

class Switchboard {
 public:
  explicit Switchboard(Faults faults) : faults_(faults) {}

  [[nodiscard]] const Faults& faults() const { return faults_; }

  // A JSON object with any of the switches, and "next": a list of mishaps for the next POSTs, each
  // used once. All of it is applied or, with an explanation, nothing.
  Expected<Done, std::string> change(const json::Value& document);
  void clear();
  // As JSON: every switch, what is queued, and how often each mishap has struck.
  [[nodiscard]] std::string text() const;

  // What befalls the POST with this key, now.
  Mishap next_mishap(const std::string& key);
  // Whether a thing of that name meets with an accident of that probability.
  [[nodiscard]] bool strikes(double probability, const std::string& name) const;

 private:
  Faults faults_;
  std::deque<Mishap> next_;
  std::map<std::string, std::int64_t> tries_;
  std::map<Mishap, std::int64_t> struck_;
};

// Nothing, or what is wrong with them.
std::string trouble_with(const Faults& faults);

}  // namespace pawl::provider

template <>
struct pawl::Names<pawl::provider::Mishap> {
  using enum pawl::provider::Mishap;
  static constexpr NameTable<pawl::provider::Mishap, 12> table{{{none, "none"},
                                                                {rate_limit, "rate_limit"},
                                                                {error_before, "error_before"},
                                                                {drop_before, "drop_before"},
                                                                {decline, "decline"},
                                                                {error_after, "error_after"},
                                                                {drop_after, "drop_after"},
                                                                {delay_before, "delay_before"},
                                                                {delay_after, "delay_after"},
                                                                {crash_before, "crash_before"},
                                                                {crash_inside, "crash_inside"},
                                                                {crash_after, "crash_after"}}};
};
