// The checks of one endpoint, carried out and judged.
#pragma once

#include <functional>

#include "src/verify/carry_out.hpp"

namespace pawl::verify {

struct Outcome {
  const Check* check = nullptr;
  Verdict verdict;
  Run run;
};

struct Report {
  std::string url;
  std::string seed;
  Profile profile = Profile::automatic;
  std::vector<Outcome> outcomes;
  // Not empty: why the run could not begin, or could not be finished. No verdict is to be trusted
  // that is not there.
  std::string trouble;
};

// By names or their beginnings ("replay"); empty `only`: all. An error names what is unknown.
struct Selection {
  std::vector<std::string> only;
  std::vector<std::string> skip;
};
Expected<std::vector<const Check*>, std::string> select(const Selection& selection);

// Two requests that must succeed, and be counted where there is a counter: otherwise no check can
// say anything.
Plan baseline_plan(const Target& target);
Expected<Facts, std::string> judge_baseline(const Target& target, const Run& run);

// What a check lacks; empty: it can be run.
std::string lacking(const Check& check, const Target& target);

using Progress = std::function<void(std::size_t number, std::size_t of, const Outcome& outcome)>;
Report verify(const Target& target, const std::vector<const Check*>& chosen, World& world,
              const Progress& progress);

// By the worst that failed: A nothing, B minor, C major, F critical; "-" where nothing was judged.
std::string_view grade(const Report& report);
std::size_t count_of(const Report& report, Result result);

}  // namespace pawl::verify
