// pawl_sim: the real engine in a simulated world. See docs/proof.md.
#include <cstring>
#include <iostream>

#include "tests/sim/mutants.hpp"
#include "tests/sim/shrink.hpp"

namespace pawl::sim {
namespace {

constexpr const char* help = R"(pawl_sim: runs the real engine in a simulated world, from seeds

  pawl_sim --seconds S [--start K]       seeds from K (1) on, for S seconds
  pawl_sim --seeds N [--start K]         N seeds
  pawl_sim --seed N [--key SCOPE/KEY]    one seed, with its history (of one key only)
  pawl_sim --seed N --shrink             the fewest faults that still break the same promise
  pawl_sim --mutants [--seeds N] [--start K]
                                         which seed finds each known bug; N (20000) seeds at most each
  --mutant NAME                          with any of the above but --mutants: with this bug built in
  pawl_sim --list                        the bugs there are

Exit code: 0 all promises kept, 1 one was broken (or a mutant was not found), 2 usage.
Example: pawl_sim --seed 42 --mutant lost_may_run_again --shrink
)";

struct Arguments {
  Bounds bounds;
  std::optional<std::uint64_t> seed;
  std::string key;
  bool shrink = false;
  bool mutants = false;
  bool bounded = false;
};

void print_violation(const Finding& finding, std::ostream& out) {
  out << "\nseed " << finding.seed << " breaks a promise: " << finding.violation.rule << "\n  "
      << finding.violation.key << ": " << finding.violation.detail << '\n';
}

// What concerns one key, and what befell the world around it.
void print_history(const World& world, const std::string& key, std::ostream& out) {
  std::vector<std::string> about;
  if (!key.empty()) about = {key, "world", "stops for", "CRASHES", "starts", "cut off"};
  world.history().print(out, about);
}

int replay(WorldOptions options, const std::string& key) {
  options.history = true;
  World world(std::move(options));
  world.run();
  const std::optional<Violation>& violation = world.checker().violation();
  print_history(world, key.empty() && violation ? violation->key : key, std::cout);
  if (!violation) {
    std::cout << "\nall promises kept\n";
    return 0;
  }
  print_violation({world.seed(), *violation, {}}, std::cout);
  return 1;
}

int shrink_seed(std::uint64_t seed) {
  WorldOptions options;
  options.seed = seed;
  const std::optional<Finding> found = run_in_child(options);
  if (!found) {
    std::cout << "seed " << seed << " keeps all promises: nothing to shrink\n";
    return 0;
  }
  const Shrunk shrunk = shrink(*found);
  std::cout << "shrunk in " << shrunk.runs << " runs from " << found->strikes.size() << " to "
            << shrunk.finding.strikes.size() << " requests and faults:\n";
  for (const Strike& strike : shrunk.finding.strikes)
    std::cout << "  " << name_of(strike.fault) << '\n';
  std::cout << '\n';
  return replay(shrunk.options, "");
}

int search_seeds(const Bounds& bounds) {
  Totals totals;
  const auto start = std::chrono::steady_clock::now();
  const std::optional<Finding> finding = search(bounds, totals);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::cout << "seeds " << bounds.start << " to " << bounds.start + totals.seeds - 1 << '\n';
  totals.print(std::cout, took);
  if (!finding) {
    std::cout << "\nno promise broken\n";
    return 0;
  }
  print_violation(*finding, std::cout);
  WorldOptions options;
  options.seed = finding->seed;
  std::cout << "\nits history, as `pawl_sim --seed " << finding->seed << "` shows it:\n\n";
  return replay(std::move(options), "");
}

std::optional<Arguments> parse(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--shrink") {
      arguments.shrink = true;
      continue;
    }
    if (word == "--mutants") {
      arguments.mutants = true;
      continue;
    }
    if (i + 1 >= count) return std::nullopt;
    const char* value = words[++i];
    const std::uint64_t number = std::strtoull(value, nullptr, 10);
    if (word == "--seconds") {
      arguments.bounds.time = std::chrono::duration<double>(number);
      arguments.bounded = true;
    } else if (word == "--seeds") {
      arguments.bounds.seeds = number;
      arguments.bounded = true;
    } else if (word == "--start") {
      arguments.bounds.start = number;
    } else if (word == "--seed") {
      arguments.seed = number;
    } else if (word == "--key") {
      arguments.key = value;
    } else if (word == "--mutant" && mutant_of(value)) {
      active_mutant = *mutant_of(value);
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

int run(int count, char** words) {
  if (count > 1 && std::strcmp(words[1], "--help") == 0) {
    std::cout << help;
    return 0;
  }
  if (count > 1 && std::strcmp(words[1], "--list") == 0) {
    list_mutants(std::cout);
    return 0;
  }
  const std::optional<Arguments> arguments = parse(count, words);
  if (arguments && arguments->mutants) {
    Bounds bounds = arguments->bounds;
    if (!arguments->bounded) bounds.seeds = 20'000;
    return hunt_mutants(bounds, std::cout) ? 0 : 1;
  }
  if (arguments && arguments->seed && arguments->shrink) return shrink_seed(*arguments->seed);
  if (arguments && arguments->seed) {
    WorldOptions options;
    options.seed = *arguments->seed;
    return replay(std::move(options), arguments->key);
  }
  if (arguments && arguments->bounded) return search_seeds(arguments->bounds);
  std::cerr << help;
  return 2;
}

}  // namespace
}  // namespace pawl::sim

int main(int count, char** words) { return pawl::sim::run(count, words); }
