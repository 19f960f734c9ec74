#include "src/verify/report.hpp"

#include <algorithm>

#include "src/core/nearest.hpp"

namespace pawl::verify {
namespace {

bool names(const std::string& word, const Check& check) {
  return check.name == word || check.name.starts_with(word + "-");
}

bool any_names(const std::vector<std::string>& words, const Check& check) {
  return std::ranges::any_of(words, [&](const std::string& word) { return names(word, check); });
}

std::string unknown_name(const std::vector<std::string>& words) {
  std::vector<std::string_view> known;
  for (const Check& check : checks()) known.push_back(check.name);
  for (const std::string& word : words) {
    const bool found =
        std::ranges::any_of(checks(), [&](const Check& check) { return names(word, check); });
    if (found) continue;
    const std::string_view near = nearest(word, known);
    const std::string hint =
        near.empty() ? "see --list" : "did you mean " + std::string(near) + "?";
    return "there is no check '" + word + "'; " + hint;
  }
  return {};
}

// Plans are shared: what was carried out for one check serves the next one.
class SharedRuns {
 public:
  SharedRuns(const Target& target, World& world) : target_(target), world_(world) {}

  const Run& of(const Check& check) {
    for (const auto& [plan, run] : done_) {
      if (plan == check.plan) return *run;
    }
    auto run = std::make_unique<Run>(carry_out(check.plan(target_), target_, world_));
    done_.emplace_back(check.plan, std::move(run));
    return *done_.back().second;
  }

 private:
  const Target& target_;
  World& world_;
  std::vector<std::pair<Plan (*)(const Target&), std::unique_ptr<Run>>> done_;
};

Outcome outcome_of(const Check& check, const Target& target, const Facts& facts, SharedRuns& runs) {
  const std::string lacks = lacking(check, target);
  if (!lacks.empty()) return {&check, not_run("give " + lacks), {}};
  const Run& run = runs.of(check);
  if (!run.trouble.empty()) return {&check, not_run(run.trouble), run};
  return {&check, check.judge(target, facts, run), run};
}

}  // namespace

Expected<std::vector<const Check*>, std::string> select(const Selection& selection) {
  for (const auto* const words : {&selection.only, &selection.skip}) {
    std::string unknown = unknown_name(*words);
    if (!unknown.empty()) return Unexpected{std::move(unknown)};
  }
  std::vector<const Check*> chosen;
  for (const Check& check : checks()) {
    const bool wanted = selection.only.empty() || any_names(selection.only, check);
    if (wanted && !any_names(selection.skip, check)) chosen.push_back(&check);
  }
  return chosen;
}

Plan baseline_plan(const Target& target) {
  return counted(target, {settle(with_key(target, "one", key_of(target, "baseline-1"))),
                          settle(with_key(target, "two", key_of(target, "baseline-2")))});
}

Expected<Facts, std::string> judge_baseline(const Target& target, const Run& run) {
  if (!run.trouble.empty()) return Unexpected{run.trouble};
  const Exchange& one = last_of(run, "one");
  const Exchange& two = last_of(run, "two");
  for (const Exchange* each : {&one, &two}) {
    if (succeeded(*each)) continue;
    return Unexpected{"a request with a new key must succeed before anything can be checked; " +
                      target.url + " answered: " + brief(*each)};
  }
  const std::optional<std::int64_t> effects = effects_in(run);
  if (effects && *effects != 2) {
    return Unexpected{"two requests with two keys were counted as " + std::to_string(*effects) +
                      " effects: --count does not count them, or something else uses the endpoint"};
  }
  return Facts{.answers_differ = !same_result(one, two)};
}

std::string lacking(const Check& check, const Target& target) {
  std::string text;
  for (const Need need : check.needs) {
    if (has(target, need)) continue;
    text += (text.empty() ? "" : ", and ") + std::string(how_to_give(need));
  }
  return text;
}

Report verify(const Target& target, const std::vector<const Check*>& chosen, World& world,
              const Progress& progress) {
  Report report{.url = target.url,
                .seed = target.seed,
                .profile = target.profile,
                .outcomes = {},
                .trouble = {}};
  const Run baseline = carry_out(baseline_plan(target), target, world);
  const Expected<Facts, std::string> facts = judge_baseline(target, baseline);
  if (!facts) {
    report.trouble = facts.error();
    return report;
  }
  SharedRuns runs(target, world);
  for (const Check* check : chosen) {
    report.outcomes.push_back(outcome_of(*check, target, *facts, runs));
    const Outcome& outcome = report.outcomes.back();
    progress(report.outcomes.size(), chosen.size(), outcome);
    if (outcome.run.trouble.empty()) continue;
    report.trouble = std::string(check->name) + ": " + outcome.run.trouble;
    break;  // a service that did not come back, a counter that is gone
  }
  return report;
}

std::string_view grade(const Report& report) {
  std::optional<Severity> worst;
  for (const Outcome& outcome : report.outcomes) {
    if (outcome.verdict.result != Result::failed) continue;
    if (!worst || outcome.check->severity < *worst) worst = outcome.check->severity;
  }
  if (!worst) return count_of(report, Result::passed) > 0 ? "A" : "-";
  switch (*worst) {
    case Severity::critical: return "F";
    case Severity::major: return "C";
    case Severity::minor: return "B";
  }
  return "-";
}

std::size_t count_of(const Report& report, Result result) {
  return static_cast<std::size_t>(std::ranges::count_if(
      report.outcomes, [&](const Outcome& outcome) { return outcome.verdict.result == result; }));
}

}  // namespace pawl::verify
