#include "src/adapters/os/memory_limit.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/serve_process.hpp"

namespace pawl::os {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

// A machine of 8 GiB.
class MemoryLimit : public ::testing::Test {
 protected:
  MemoryLimit() { put("proc/meminfo", "MemTotal:        8388608 kB\nMemFree:          100 kB\n"); }
  void put(const std::string& file, const std::string& text) {
    const std::filesystem::path path = root.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  [[nodiscard]] std::size_t limit() const { return memory_limit(root.path()); }

  testing::TemporaryFolder root;
};

TEST_F(MemoryLimit, IsWhatTheMachineHasWithoutACgroup) { EXPECT_EQ(limit(), 8192 * mib); }

TEST_F(MemoryLimit, IsTheLeastOfTheCgroupAndThoseAboveIt) {
  put("proc/self/cgroup", "0::/kubepods/pod7/pawl\n");
  put("sys/fs/cgroup/kubepods/pod7/pawl/memory.max", "max\n");
  EXPECT_EQ(limit(), 8192 * mib);
  put("sys/fs/cgroup/kubepods/memory.max", std::to_string(1024 * mib) + "\n");
  EXPECT_EQ(limit(), 1024 * mib);
  put("sys/fs/cgroup/kubepods/pod7/pawl/memory.max", std::to_string(256 * mib) + "\n");
  EXPECT_EQ(limit(), 256 * mib);
}

TEST_F(MemoryLimit, IsThatOfTheContainersOwnRoot) {
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/memory.max", std::to_string(512 * mib) + "\n");
  EXPECT_EQ(limit(), 512 * mib);
}

TEST_F(MemoryLimit, KnowsTheFirstVersionOfCgroups) {
  put("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a\n0::/\n");
  put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", std::to_string(300 * mib) + "\n");
  EXPECT_EQ(limit(), 300 * mib);
  put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(limit(), 8192 * mib);
}

TEST_F(MemoryLimit, OfThisMachineIsKnown) {
  EXPECT_GT(memory_limit(), 64 * mib);
  EXPECT_LT(memory_limit(), std::size_t{1} << 50);
}

}  // namespace
}  // namespace pawl::os
