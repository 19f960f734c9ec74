#include "src/adapters/http/spool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace pawl::http {
namespace {

int open_nameless(const std::string& folder) {
  const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  std::string name = folder + "/pawl-answer-XXXXXX";  // a file system without nameless files
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

Spool::Spool() {
  const char* folder = std::getenv("TMPDIR");
  file_ = open_nameless(folder != nullptr && *folder != '\0' ? folder : "/var/tmp");
}

Spool::~Spool() { give_up(); }

void Spool::give_up() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

void Spool::append(std::string_view bytes) {
  size_ += bytes.size();
  while (!bytes.empty() && whole()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (written == 0 || errno != EINTR) {
      give_up();
    }
  }
}

std::size_t Spool::read(std::uint64_t offset, char* into, std::size_t room) const {
  for (;;) {
    const ssize_t got = ::pread(file_, into, room, static_cast<off_t>(offset));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return 0;
  }
}

}  // namespace pawl::http
