// Is the file at a path still the one that this process has open?
//
// SQLite goes by what it has open. Another file in its place is not seen, and what is acknowledged
// is gone with the old one; or it is opened, and read with the log of the other. And a backup that
// is put back has forgotten keys: each would be new. So everybody who opens a store's file asks
// here, before every transaction. What was found changed stays an error until the process ends:
// nobody can say what was written to what.
//
// A file that is written over in its place (cp) is the same file. But while anybody has it open,
// SQLite writes to it in checkpoints alone, and marks in the log's index that it is about to: a
// file that was written to without one was written to by somebody else.
#pragma once

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace pawl::sqlite {

struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
std::optional<FileIdentity> file_identity(const std::string& path);

// What the log's index says of checkpoints (SQLite's "WAL-mode File Format", section 2).
struct Checkpoints {
  std::uint32_t copied = 0;     // frames that are in the database
  std::uint32_t attempted = 0;  // frames that may be: set before the first of them is written
  std::uint64_t salt = 0;       // of the log: another one each time it starts over
  [[nodiscard]] bool under_way() const { return copied != attempted; }
  friend bool operator==(const Checkpoints&, const Checkpoints&) = default;
};

// The index as a connection in WAL mode has it in memory; nothing where it has none. Valid until
// the connection is closed.
class LogIndex {
 public:
  LogIndex() = default;
  explicit LogIndex(sqlite3* connection);
  [[nodiscard]] std::optional<Checkpoints> read() const;

 private:
  const volatile std::uint32_t* words_ = nullptr;
};

// Any thread.
class StoreFile {
 public:
  // The file as whoever asked first in this process has found it; the same object for all, for as
  // long as one of them keeps it.
  static std::shared_ptr<StoreFile> at(const std::string& path);
  // Nothing where nobody has asked yet.
  static std::shared_ptr<StoreFile> known_at(const std::string& path);

  // Nothing while the file is the one that it was; else what is wrong, and what would be right.
  std::optional<std::string> changed();
  // The same, and of its log too, which a connection has found to be this one; and whether it was
  // written to behind SQLite's back.
  std::optional<std::string> changed(const std::optional<FileIdentity>& log, const LogIndex& index);
  // The log, as it lies there now.
  [[nodiscard]] std::optional<FileIdentity> log() const { return file_identity(log_path_); }

 private:
  explicit StoreFile(std::string path);
  // These under mutex_.
  std::optional<std::string> lose(std::string why);
  std::optional<std::string> look_at_file(const LogIndex& index);
  std::optional<std::string> look_at_log(const FileIdentity& log);
  bool written_by_others(const std::optional<Checkpoints>& before, const struct stat& status,
                         const std::optional<Checkpoints>& after);

  struct Sample {
    Checkpoints checkpoints;  // read before the rest
    std::int64_t modified = 0;
    std::int64_t bytes = 0;
  };

  const std::string path_;
  const std::string log_path_;
  const std::optional<FileIdentity> file_;
  std::mutex mutex_;
  std::optional<std::string> lost_;  // under mutex_
  std::optional<Sample> last_;       // under mutex_
};

}  // namespace pawl::sqlite
