// How much memory this process may use.
#pragma once

#include <cstddef>
#include <filesystem>

namespace pawl::os {

// In bytes: what the machine has, or what the process's cgroup or one above it allows, where that
// is less. `root`: where /proc and /sys are.
std::size_t memory_limit(const std::filesystem::path& root = "/");

}  // namespace pawl::os
