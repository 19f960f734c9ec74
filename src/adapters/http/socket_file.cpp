#include "src/adapters/http/socket_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace pawl::http {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

Unexpected<std::string> failed(const std::string& path, const std::string& what) {
  return Unexpected{"cannot listen on unix:" + path + ": " + what};
}

Unexpected<std::string> failed_by_errno(const std::string& path) {
  return failed(path, std::generic_category().message(errno));
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy_n(path.data(), std::min(path.size(), sizeof address.sun_path - 1), address.sun_path);
  return address;
}

// Does no process listen there? In doubt one does.
bool is_abandoned(const sockaddr_un& address) {
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (probe.number() < 0) return false;
  const int connected =
      ::connect(probe.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return connected != 0 && errno == ECONNREFUSED;
}

}  // namespace

Expected<SocketFile, std::string> SocketFile::listen(int descriptor, std::string path,
                                                     mode_t mode) {
  const sockaddr_un address = address_of(path);
  // Nothing is between the question whether a file is abandoned and the socket that replaces it.
  const std::string folder = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
  const Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock.number() < 0 || ::flock(lock.number(), LOCK_EX) != 0) return failed_by_errno(path);
  struct stat file {};
  if (::lstat(path.c_str(), &file) == 0) {
    if (!S_ISSOCK(file.st_mode)) return failed(path, "there is a file that is not a socket");
    if (!is_abandoned(address)) return failed(path, "another process listens there");
    if (::unlink(path.c_str()) != 0) return failed_by_errno(path);
  } else if (errno != ENOENT) {
    return failed_by_errno(path);
  }
  // Linux makes the file with the permissions of the socket.
  const bool bound =
      ::fchmod(descriptor, mode & S_IRWXU) == 0 &&
      ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (!bound || ::lstat(path.c_str(), &file) != 0) return failed_by_errno(path);
  SocketFile made(path, file.st_dev, file.st_ino);
  if (::chmod(path.c_str(), mode) != 0 || ::listen(descriptor, SOMAXCONN) != 0) {
    return failed_by_errno(path);
  }
  return made;
}

SocketFile::~SocketFile() {
  struct stat file {};
  if (path_.empty() || ::lstat(path_.c_str(), &file) != 0) return;
  if (file.st_dev == device_ && file.st_ino == inode_) ::unlink(path_.c_str());
}

}  // namespace pawl::http
