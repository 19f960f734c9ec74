// The way to a log that may be slow, stuck or gone. Whoever writes a line never waits for whoever
// reads it: lines go into a queue of bounded size, and a thread of its own writes them out.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace pawl::os {

struct LogSinkOptions {
  int descriptor = 2;
  // What waits. As much again may be on its way out.
  std::size_t queue_bytes_max = std::size_t{1} << 20;
  // How long a line waits for others to be written with it.
  std::chrono::milliseconds gather{100};
  // How long the end of the sink waits for its reader.
  std::chrono::milliseconds end_wait{1000};
  // The line, with its end, that says how many were dropped. Called from the sink's thread.
  std::function<std::string(std::uint64_t)> dropped_line = {};
};

// Safe from any thread. Lines come out whole and in order; those of several processes that share a
// pipe do not mix either, up to PIPE_BUF bytes each. A sink that is not read ends nothing: neither
// a write, nor SIGPIPE, nor its own destructor, which leaves the thread to the end of the process.
class LogSink {
 public:
  enum class When { gathered, at_once };

  explicit LogSink(LogSinkOptions options = {});
  ~LogSink();
  LogSink(const LogSink&) = delete;
  LogSink& operator=(const LogSink&) = delete;

  // `line` has its end. False: the queue is full, the line is dropped and counted.
  bool write(std::string_view line, When when = When::gathered);
  // Waits until what was written before is out, for `end_wait` at most. False: it is not.
  bool flush();
  // Lines that found no room, or whose writing failed.
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  class Queue;
  const std::shared_ptr<Queue> queue_;  // the thread's as well: it may outlive the sink
  std::thread thread_;
};

}  // namespace pawl::os
