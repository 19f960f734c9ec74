// One thread's way into the file: a connection and its prepared statements. After an error that may
// have to do with the connection it is dropped and opened again, by the next one who needs it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "src/adapters/sqlite/database.hpp"

namespace pawl::sqlite {

struct Statements {
  Statement schema_version, purge_epoch, begin, commit, rollback;
  Statement find, insert, replace, erase, audit, keep_evidence;
  Statement lapsed, past_retention, undetermined, pending, count_active;
  Statement probe_write, probe_read;
};

class Session {
 public:
  Session(const Database& database, const Options& options, std::size_t cache_bytes);
  // The log's length in pages is told to this object.
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Nothing if the session can be used; else why not. Opens the connection if there is none, and
  // sees to it that the file at the path is still the one that is open.
  std::optional<std::string> ready();
  // Of a session that is ready.
  Connection& connection() { return live_->opened.connection; }
  Statements& statements() { return live_->statements; }
  [[nodiscard]] int log_pages() const { return log_pages_; }

  // Nothing if the schema is still the one this program knows; else why not. Cheap; asked within
  // each transaction, since a newer pawl may migrate the file while this one runs.
  std::optional<std::string> schema_changed();

  // The number that every purge raises: SQLITE_OK, or the error.
  int read_purge_epoch(std::int64_t& epoch);

  // Within a write transaction: makes the log longer ahead of need. See session.cpp.
  void extend_log();

  // After an error: leaves any transaction, and the connection too where the error may have to do
  // with it. Says what happened, for an operator.
  std::string failed(int code);
  void drop() { live_.reset(); }

 private:
  struct Live {
    Opened opened;
    Statements statements;  // finalised before the connection is closed
  };

  const Database& database_;
  const Options& options_;
  const std::size_t cache_bytes_;
  std::unique_ptr<Live> live_;
  int log_pages_ = 0;
  std::int64_t log_bytes_ = 0;  // of its file, when last looked at
};

}  // namespace pawl::sqlite
