#include "pawl/types/check.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

namespace pawl {
namespace {

TEST(CheckDeathTest, SaysWhatIsBrokenAndWhere) {
  EXPECT_DEATH(PAWL_CHECK(1 + 1 == 3), "broken invariant at .*check_test.cpp:[0-9]+: 1 . 1 == 3");
}

TEST(CheckDeathTest, EndsTheProcessThoughNobodyReadsWhatItSays) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const std::string page(4096, 'x');
  while (::write(ends[1], page.data(), page.size()) > 0) {
  }
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, 0), 0);  // a write waits from here on
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    PAWL_CHECK(false);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
  for (const int end : ends) ::close(end);
}

}  // namespace
}  // namespace pawl
