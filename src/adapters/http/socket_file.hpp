// The file of a Unix socket that is listened on.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "pawl/types/expected.hpp"

namespace pawl::http {

// Removed at its end, unless another one has taken its place.
class SocketFile {
 public:
  // Binds `descriptor` to the path and listens, or says why not. A socket on which no process
  // listens was left by one that was killed, and is replaced; anything else that is there stays. Of
  // two that start at once one is refused. At no time has the file more permissions than `mode`.
  static Expected<SocketFile, std::string> listen(int descriptor, std::string path, mode_t mode);

  SocketFile(SocketFile&& other) noexcept
      : path_(std::exchange(other.path_, {})), device_(other.device_), inode_(other.inode_) {}
  SocketFile& operator=(SocketFile&&) = delete;
  ~SocketFile();

 private:
  SocketFile(std::string path, dev_t device, ino_t inode)
      : path_(std::move(path)), device_(device), inode_(inode) {}

  std::string path_;
  dev_t device_;
  ino_t inode_;
};

}  // namespace pawl::http
