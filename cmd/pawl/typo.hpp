// The word of a command line that was meant for another.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace pawl::cmd {

// "Did you mean 'serve'?" and a line's end: for the first word that is no command and no flag where
// it stands. Empty where nothing is near.
std::string nearest_name(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace pawl::cmd
