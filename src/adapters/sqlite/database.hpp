// The file: is it ours, is its schema the one this program knows, and is it still the same file?
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "pawl/types/expected.hpp"
#include "src/adapters/sqlite/connection.hpp"
#include "src/adapters/sqlite/options.hpp"
#include "src/adapters/sqlite/store_file.hpp"

namespace pawl::sqlite {

// "Pawl" in ASCII: PRAGMA application_id of every file of ours.
inline constexpr std::int64_t application_id = 0x5061776c;

// A database that was found to be ours.
struct Database {
  std::string path;      // absolute
  std::string store_id;  // made once, with the file
  std::shared_ptr<StoreFile> file;
};

// What becomes of a file whose schema is older than this program's. A program that only looks must
// not migrate it: a gateway of the older version may be running on it, and would stop.
enum class WhenOld { migrate, refuse };

// Opens or creates the file, checks it, migrates it. May wait for another process that does the
// same. The error says what is wrong, where, and what would be right.
Expected<Database, std::string> prepare_database(const std::string& path, const Options& options,
                                                 WhenOld when_old = WhenOld::migrate);

// A connection, and the files that it has open. Where those were changed, closing it leaves all
// that lies at their paths as it is.
class Opened {
 public:
  Opened(Connection opened, std::shared_ptr<StoreFile> at, std::optional<FileIdentity> its_log)
      : connection(std::move(opened)),
        file_(std::move(at)),
        log_(its_log),
        index_(its_log ? LogIndex(connection.handle()) : LogIndex()) {}
  Opened(Opened&&) noexcept = default;
  Opened& operator=(Opened&& other) noexcept;
  ~Opened();

  // Asked before every transaction: see StoreFile. Nothing of a database that has no file.
  [[nodiscard]] std::optional<std::string> changed() const {
    return file_ ? file_->changed(log_, index_) : std::nullopt;
  }

  Connection connection;

 private:
  void before_closing();

  std::shared_ptr<StoreFile> file_;
  std::optional<FileIdentity> log_;
  LogIndex index_;
};

// One more connection to a prepared database. Never creates a file, and refuses any other than the
// one that was prepared: an empty store in place of the real one would make every key new.
Expected<Opened, std::string> connect(const Database& database, const Options& options,
                                      std::size_t cache_bytes);

// What a failed call of SQLite means to an operator.
std::string explain(const std::string& path, const SqlError& error);

}  // namespace pawl::sqlite
