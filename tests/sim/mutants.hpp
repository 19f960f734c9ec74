// The hunt: every mutant must be found, each within a bounded number of seeds.
#pragma once

#include <iosfwd>
#include <string_view>

#include "tests/mutants/mutant.hpp"
#include "tests/sim/runner.hpp"

namespace pawl::sim {

std::optional<Mutant> mutant_of(std::string_view name);
// The table as printed, also as Markdown. True if all were found.
bool hunt_mutants(const Bounds& bounds, std::ostream& out);
void list_mutants(std::ostream& out);

}  // namespace pawl::sim
