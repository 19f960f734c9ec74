#include "src/adapters/os/log_sink.hpp"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace pawl::os {
namespace {

// Written out before `gather` is over.
constexpr std::size_t batch_bytes_usual = std::size_t{32} << 10;

// Whole lines, and no more than a pipe takes in one piece; a line that is longer than that alone.
std::string_view next_piece(std::string_view text) {
  if (text.size() <= PIPE_BUF) return text;
  const std::size_t last = text.rfind('\n', PIPE_BUF - 1);
  return text.substr(0, (last == std::string_view::npos ? text.find('\n') : last) + 1);
}

// How many bytes could be written; all of them, unless the descriptor is of no more use.
std::size_t write_out(int descriptor, std::string_view text) {
  const std::size_t all = text.size();
  std::string_view piece = next_piece(text);
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, piece.data(), piece.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // somebody who shares it wants it not to block
      pollfd writable{descriptor, POLLOUT, 0};
      ::poll(&writable, 1, -1);
      continue;
    }
    if (written <= 0) break;
    text.remove_prefix(static_cast<std::size_t>(written));
    piece.remove_prefix(static_cast<std::size_t>(written));
    if (piece.empty()) piece = next_piece(text);
  }
  return all - text.size();
}

std::uint64_t lines_in(std::string_view text) {
  return static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
}

}  // namespace

class LogSink::Queue {
 public:
  explicit Queue(LogSinkOptions options) : options_(std::move(options)) {}

  bool write(std::string_view line, When when) {
    const std::lock_guard lock(mutex_);
    if (line.size() > options_.queue_bytes_max - waiting_.size()) {
      note_dropped(lines_in(line));
      return false;
    }
    // The thread is woken for the first line and for a batch, not for each line.
    const bool first = waiting_.empty();
    const bool batch =
        waiting_.size() < batch_bytes_usual && waiting_.size() + line.size() >= batch_bytes_usual;
    waiting_ += line;
    taken_ += line.size();
    if (when == When::at_once) hurry_ = true;
    if (first || batch || when == When::at_once) changed_.notify_one();
    return true;
  }

  bool flush() {
    std::unique_lock lock(mutex_);
    hurry_ = true;
    changed_.notify_one();
    const std::uint64_t until = taken_;
    return written_.wait_for(lock, options_.end_wait, [&] { return done_ >= until; });
  }

  // False: the thread is stuck in a write.
  bool end() {
    std::unique_lock lock(mutex_);
    ending_ = true;
    changed_.notify_one();
    return written_.wait_for(lock, options_.end_wait, [&] { return ended_; });
  }

  std::uint64_t dropped() {
    const std::lock_guard lock(mutex_);
    return dropped_;
  }

  void run() {
    std::unique_lock lock(mutex_);
    std::string batch;
    for (;;) {
      changed_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
      changed_.wait_for(lock, options_.gather,
                        [&] { return ending_ || hurry_ || waiting_.size() >= batch_bytes_usual; });
      if (waiting_.empty()) break;
      batch.clear();
      batch.swap(waiting_);
      hurry_ = false;
      const std::uint64_t lost = std::exchange(untold_, 0);
      lock.unlock();
      const std::uint64_t lost_now = put(batch, lost);
      lock.lock();
      note_dropped(lost_now);
      done_ += batch.size();
      written_.notify_all();
    }
    ended_ = true;
    written_.notify_all();
  }

 private:
  // `lost` found no room behind this batch. Returns how many lines could not be written.
  std::uint64_t put(std::string_view batch, std::uint64_t lost) {
    const std::uint64_t failed = lines_in(batch.substr(write_whole_lines(batch)));
    if (lost == 0 || !options_.dropped_line) return failed;
    const std::string told = failed > 0 ? std::string() : options_.dropped_line(lost);
    if (told.empty() || write_whole_lines(told) < told.size()) {
      const std::lock_guard lock(mutex_);
      untold_ += lost;
    }
    return failed;
  }

  // Where a write failed in the middle of a line, what follows does not belong to it.
  std::size_t write_whole_lines(std::string_view text) {
    if (mid_line_ && write_out(options_.descriptor, "\n") == 0) return 0;
    mid_line_ = false;
    const std::size_t out = write_out(options_.descriptor, text);
    if (out > 0) mid_line_ = text[out - 1] != '\n';
    return out;
  }

  void note_dropped(std::uint64_t lines) {
    dropped_ += lines;
    untold_ += lines;
  }

  const LogSinkOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;  // for the thread
  std::condition_variable written_;  // for whoever waits for it
  std::string waiting_;
  std::uint64_t taken_ = 0;  // bytes that were queued since the beginning,
  std::uint64_t done_ = 0;   // and those that the thread is through with
  std::uint64_t dropped_ = 0;
  std::uint64_t untold_ = 0;  // of those that were dropped
  bool hurry_ = false;
  bool ending_ = false;
  bool ended_ = false;
  bool mid_line_ = false;  // the thread's own
};

LogSink::LogSink(LogSinkOptions options) : queue_(std::make_shared<Queue>(std::move(options))) {
  // No signal is handled on that thread, and a pipe without a reader is an error of write() there,
  // whatever the process does with SIGPIPE.
  sigset_t all{};
  sigset_t before{};
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([queue = queue_] { queue->run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LogSink::~LogSink() { queue_->end() ? thread_.join() : thread_.detach(); }

bool LogSink::write(std::string_view line, When when) { return queue_->write(line, when); }
bool LogSink::flush() { return queue_->flush(); }
std::uint64_t LogSink::dropped() const { return queue_->dropped(); }

}  // namespace pawl::os
