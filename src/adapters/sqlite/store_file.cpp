#include "src/adapters/sqlite/store_file.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

namespace pawl::sqlite {
namespace {

constexpr const char* what_to_do =
    ". Nothing is read or written until Pawl is restarted. If it was put back from a backup: stop "
    "Pawl, put back the backup alone (without -wal and -shm of another file), run `pawl store "
    "restored`, then start Pawl.";

constexpr std::size_t index_region_bytes = 32 * 1024;
// In 32-bit words, in the machine's own byte order.
constexpr std::size_t salt_word = 32 / 4;
constexpr std::size_t copied_word = 96 / 4;
constexpr std::size_t attempted_word = 128 / 4;

struct Known {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<StoreFile>> files;
};

Known& known() {
  static Known all;
  return all;
}

std::string whole(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::absolute(path, ignored).string();
}

}  // namespace

std::optional<FileIdentity> file_identity(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

LogIndex::LogIndex(sqlite3* connection) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (file == nullptr || file->pMethods == nullptr || file->pMethods->iVersion < 2) return;
  void volatile* region = nullptr;
  constexpr int extend = 0;
  const int code =
      file->pMethods->xShmMap(file, 0, static_cast<int>(index_region_bytes), extend, &region);
  if (code == SQLITE_OK) words_ = static_cast<const volatile std::uint32_t*>(region);
}

std::optional<Checkpoints> LogIndex::read() const {
  if (words_ == nullptr) return std::nullopt;
  const std::uint64_t salt = words_[salt_word];
  return Checkpoints{words_[copied_word], words_[attempted_word],
                     salt << 32U | words_[salt_word + 1]};
}

StoreFile::StoreFile(std::string path)
    : path_(std::move(path)), log_path_(path_ + "-wal"), file_(file_identity(path_)) {}

std::shared_ptr<StoreFile> StoreFile::at(const std::string& path) {
  const std::string name = whole(path);
  const std::lock_guard lock(known().mutex);
  std::weak_ptr<StoreFile>& place = known().files[name];
  std::shared_ptr<StoreFile> file = place.lock();
  if (!file) {
    file.reset(new StoreFile(name));
    place = file;
  }
  return file;
}

std::shared_ptr<StoreFile> StoreFile::known_at(const std::string& path) {
  const std::string name = whole(path);
  const std::lock_guard lock(known().mutex);
  std::erase_if(known().files, [](const auto& entry) { return entry.second.expired(); });
  const auto place = known().files.find(name);
  return place == known().files.end() ? nullptr : place->second.lock();
}

std::optional<std::string> StoreFile::lose(std::string why) {
  lost_ = std::move(why) + what_to_do;
  return lost_;
}

std::optional<std::string> StoreFile::changed() { return changed(std::nullopt, {}); }

std::optional<std::string> StoreFile::changed(const std::optional<FileIdentity>& log,
                                              const LogIndex& index) {
  const std::lock_guard lock(mutex_);
  if (lost_) return lost_;
  if (std::optional<std::string> why = look_at_file(index)) return why;
  return log ? look_at_log(*log) : std::nullopt;
}

std::optional<std::string> StoreFile::look_at_file(const LogIndex& index) {
  const std::optional<Checkpoints> before = index.read();
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) {
    if (errno == ENOENT) return lose("\"" + path_ + "\" is gone");
    return "\"" + path_ + "\" cannot be inspected: " + std::strerror(errno);
  }
  if (FileIdentity{status.st_dev, status.st_ino} != file_) {
    return lose("\"" + path_ + "\" is another file than the one that this process has open");
  }
  if (written_by_others(before, status, index.read())) {
    return lose("\"" + path_ + "\" was written over while this process had it open");
  }
  return std::nullopt;
}

std::optional<std::string> StoreFile::look_at_log(const FileIdentity& log) {
  const std::optional<FileIdentity> now = file_identity(log_path_);
  if (now == log) return std::nullopt;
  return lose("\"" + log_path_ + "\" is " +
              (now ? "another file than the one that this process has open" : "gone"));
}

// A checkpoint that began after the last look shows in the index by now, since it says so first;
// and what one has finished before the index was read, it has written before the file was looked
// at.
bool StoreFile::written_by_others(const std::optional<Checkpoints>& before,
                                  const struct stat& status,
                                  const std::optional<Checkpoints>& after) {
  if (!before || !after) return false;
  const Sample now{*before,
                   std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec,
                   status.st_size};
  const std::optional<Sample> last = std::exchange(last_, now);
  if (!last || (last->modified == now.modified && last->bytes == now.bytes)) return false;
  return last->checkpoints == *after && !after->under_way();
}

}  // namespace pawl::sqlite
