#include "src/adapters/sqlite/reader.hpp"

#include "src/core/recovery_point.hpp"

namespace pawl::sqlite {
namespace {

// Rows that cannot be understood are stepped over, but not without end: others wait for this
// thread.
inline constexpr std::size_t skipped_rows_max = 1'000'000;

}  // namespace

int FindRead::run(Session& session) {
  const int code = find_row(session, scope_, key_, row_);
  found_ = code == SQLITE_ROW;
  return found_ || code == SQLITE_DONE ? SQLITE_OK : code;
}

StoreResult<std::optional<Record>> FindRead::result() && {
  if (error) return Unexpected{*error};
  if (found_ && !row_) return Unexpected{StoreError::unreadable};
  return std::move(row_);
}

int CountRead::run(Session& session) {
  Statement& count = session.statements().count_active;
  const ResetOnExit reset(count);
  count.bind_text(1, scope_.text);
  count.bind(2, static_cast<std::int64_t>(up_to_));
  if (const int code = count.step(); code != SQLITE_ROW) return code;
  count_ = static_cast<std::size_t>(sqlite3_column_int64(count.handle(), 0));
  return SQLITE_OK;
}

StoreResult<std::size_t> CountRead::result() && {
  if (error) return Unexpected{*error};
  return count_;
}

int PassRead::run(Session& session) {
  Statement& statement = session.statements().*statement_;
  const ResetOnExit reset(statement);
  statement.bind(1, micros(query_.now));
  rows_.clear();
  skipped_ = 0;
  const bool reaping = statement_ == &Statements::past_retention;
  while (rows_.size() < query_.rows_max && skipped_ < skipped_rows_max) {
    const int code = statement.step();
    if (code == SQLITE_DONE) break;
    if (code != SQLITE_ROW) return code;
    if (std::optional<Record> row = read_row(statement)) {
      if (!reaping || !is_half_done(*row)) rows_.push_back(std::move(*row));
    } else {
      ++skipped_;
    }
  }
  return SQLITE_OK;
}

StoreResult<std::vector<Record>> PassRead::result() && {
  if (error) return Unexpected{*error};
  return std::move(rows_);
}

Reader::Reader(const Database& database, const Options& options, Health& health, Part part)
    : options_(options),
      health_(health),
      part_(part),
      session_(database, options, options.cache_bytes / 4),
      thread_([this] { loop(); }) {}

Reader::~Reader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  thread_.join();
}

bool Reader::submit(Read& read) {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= options_.queue_reads_max) return false;
    queue_.push_back(&read);
  }
  work_.notify_one();
  return true;
}

void Reader::loop() {
  while (Read* read = next()) perform(*read);
}

// Probes on the way while the store is in trouble. Nothing: stop.
Read* Reader::next() {
  std::unique_lock lock(mutex_);
  const auto woken = [&] { return stopping_ || !queue_.empty(); };
  while (in_trouble_ && !work_.wait_for(lock, options_.probe_interval, woken)) {
    lock.unlock();
    note(probe());
    lock.lock();
  }
  work_.wait(lock, woken);
  if (queue_.empty()) return nullptr;
  Read* read = queue_.front();
  queue_.pop_front();
  return read;
}

void Reader::perform(Read& read) {
  std::optional<std::string> trouble = session_.ready();
  if (!trouble) trouble = session_.schema_changed();
  if (trouble) {
    read.error = StoreError::unavailable;
  } else if (const int code = read.run(session_); code != SQLITE_OK) {
    const bool busy = primary_code(code) == SQLITE_BUSY;
    read.error = busy ? StoreError::contended : StoreError::unavailable;
    trouble = session_.failed(code);
  }
  note(trouble);
  waiting::wake_one(std::move(read.waiter));  // from here on the read may be gone
}

std::optional<std::string> Reader::probe() {
  if (auto trouble = session_.ready()) return trouble;
  if (auto trouble = session_.schema_changed()) return trouble;
  const int code = session_.statements().probe_read.run();
  return code == SQLITE_OK ? std::nullopt : std::optional(session_.failed(code));
}

void Reader::note(const std::optional<std::string>& trouble) {
  if (trouble) {
    health_.trouble(part_, *trouble);
  } else if (in_trouble_) {
    health_.well(part_);
  }
  in_trouble_ = trouble.has_value();
}

}  // namespace pawl::sqlite
