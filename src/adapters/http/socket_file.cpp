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
#include <utility>

namespace pawl::http {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
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

// So that nothing is between the question whether a file is abandoned and what is done about it.
Descriptor locked_folder_of(const std::string& path) {
  const std::string folder = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
  Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.number() >= 0 && ::flock(opened.number(), LOCK_EX) != 0) return Descriptor(-1);
  return opened;
}

}  // namespace

Expected<SocketFile, std::string> SocketFile::listen(int descriptor, std::string path,
                                                     mode_t mode) {
  const sockaddr_un address = address_of(path);
  const Descriptor lock = locked_folder_of(path);
  if (lock.number() < 0) return failed_by_errno(path);
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

// An inode is used again at once, so it does not say whose file that is; that no process listens
// says that it is of no use to any. The listener is closed by now.
SocketFile::~SocketFile() {
  if (path_.empty()) return;
  const Descriptor lock = locked_folder_of(path_);
  struct stat file {};
  if (lock.number() < 0 || ::lstat(path_.c_str(), &file) != 0) return;
  const bool may_be_ours = file.st_dev == device_ && file.st_ino == inode_;
  if (may_be_ours && is_abandoned(address_of(path_))) ::unlink(path_.c_str());
}

}  // namespace pawl::http
