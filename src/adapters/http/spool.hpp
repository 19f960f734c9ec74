// An answer that is too large to hold in memory, put down in a file without a name.
//
// It is delivered only after its record is durable, and a record is completed only by a whole
// answer: so all of it has to be somewhere in between.
//
// It is written and read on the event loop, a piece of a read's size at a time, and not on a thread
// of its own: such a write goes into the page cache and takes about as long as handing it over
// would. Only answers beyond response_limit come here. Where the disk is slower than the upstream
// the kernel makes a writer wait, and what else is on this thread with it: $TMPDIR on a tmpfs or a
// fast disk is the remedy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pawl::http {

class Spool {
 public:
  // In $TMPDIR, else in /var/tmp. The file goes with this.
  Spool();
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  void append(std::string_view bytes);

  // False: there was no file, or no room in it. What was appended is gone.
  [[nodiscard]] bool whole() const { return file_ >= 0; }
  // Of all that was appended.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // How many bytes of it are at `offset`, at most `room`; 0 at the end, or where it cannot be read.
  std::size_t read(std::uint64_t offset, char* into, std::size_t room) const;

 private:
  void give_up();

  int file_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace pawl::http
