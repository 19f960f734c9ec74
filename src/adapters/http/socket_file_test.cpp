#include "src/adapters/http/socket_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/serve_process.hpp"

namespace pawl::http {
namespace {

using ::testing::HasSubstr;

class SocketFiles : public ::testing::Test {
 protected:
  Expected<SocketFile, std::string> listen(int& descriptor, mode_t mode = 0600) {
    descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return SocketFile::listen(descriptor, path(), mode);
  }
  [[nodiscard]] std::string path() const { return (folder_.path() / "pawl.sock").string(); }
  [[nodiscard]] unsigned mode() const {
    struct stat file {};
    return ::lstat(path().c_str(), &file) == 0 ? file.st_mode & 0777U : 0U;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(SocketFiles, HasThePermissionsAskedForAndGoesAtTheEnd) {
  for (const mode_t wanted : {0600U, 0660U, 0666U}) {
    int descriptor = -1;
    {
      const auto made = listen(descriptor, wanted);
      ASSERT_TRUE(made) << made.error();
      EXPECT_EQ(mode(), wanted);
      ::close(descriptor);
    }
    EXPECT_FALSE(std::filesystem::exists(path()));
  }
}

TEST_F(SocketFiles, OfALivingProcessIsNotTaken) {
  int first = -1;
  int second = -1;
  const auto made = listen(first);
  ASSERT_TRUE(made) << made.error();
  const auto refused = listen(second);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("another process listens there"));
  EXPECT_EQ(mode(), 0600U) << "and it is still there";
  ::close(first);
  ::close(second);
}

TEST_F(SocketFiles, ThatIsAbandonedIsReplaced) {
  int killed = -1;
  auto left = listen(killed);
  ASSERT_TRUE(left) << left.error();
  ::close(killed);  // nothing removes the file: as if it were killed
  int next = -1;
  {
    const auto made = listen(next);
    ASSERT_TRUE(made) << made.error();
    {
      const SocketFile late = std::move(*left);  // it ends late, and the file is another's
    }
    EXPECT_TRUE(std::filesystem::exists(path()));
    ::close(next);
  }
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(SocketFiles, NeverReplacesWhatIsNoSocket) {
  std::ofstream(path()) << "a ledger";
  int descriptor = -1;
  const auto refused = listen(descriptor);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("not a socket"));
  EXPECT_EQ(std::filesystem::file_size(path()), 8U);
  ::close(descriptor);
  std::filesystem::remove(path());
  std::filesystem::create_symlink("elsewhere", path());
  const auto link = listen(descriptor);
  ASSERT_FALSE(link);
  EXPECT_THAT(link.error(), HasSubstr("not a socket"));
  ::close(descriptor);
}

TEST_F(SocketFiles, NeedsItsFolder) {
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto refused =
      SocketFile::listen(descriptor, (folder_.path() / "none" / "pawl.sock").string(), 0600);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("No such file or directory"));
  ::close(descriptor);
}

}  // namespace
}  // namespace pawl::http
