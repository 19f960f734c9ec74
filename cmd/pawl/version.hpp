// What was built, from which commit: for `pawl --version` and for bug reports.
#pragma once

#include <string>

namespace pawl::cmd {

// "pawl 0.2.0 (commit 0123456789ab; GNU 12.2.0, Release)"
std::string version_text();

}  // namespace pawl::cmd
