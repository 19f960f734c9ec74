// One line per request: what was asked, what was decided, how far it got, how long it took. Never a
// key, a credential, a query or a body. `pawl explain --hash` and `--request-id` lead from a line
// to the record. What came from outside cannot begin a line, end a value or drive a terminal.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pawl/types/time.hpp"
#include "src/adapters/os/log_sink.hpp"
#include "src/config/config.hpp"
#include "src/ports/line_log.hpp"

namespace pawl::gateway {

// Lines are gathered and written, by a thread of its own, when there are many or a moment later.
// Safe from any thread, and no thread waits for the reader of the log: where it is not read, lines
// are dropped and counted.
class RequestLog final : public LineLog {
 public:
  explicit RequestLog(config::LogFormat format, os::LogSinkOptions options = {});

  void write(const LogLine& line) override;
  // About the program itself: "draining", "the store has recovered", ...
  void say(std::string_view level, std::string_view what) override { say(level, what, {}); }
  // The same with what is to be found by name: "starting store=... routes=3".
  using Named = std::vector<std::pair<std::string_view, std::string>>;
  void say(std::string_view level, std::string_view what, const Named& values);
  void set_format(config::LogFormat format) { format_ = format; }
  // What is of another level beyond this one is not written.
  void set_level(config::LogLevel level) { level_ = level; }
  // Waits until all of it is written, for a second at most.
  void flush() { sink_.flush(); }
  [[nodiscard]] std::uint64_t dropped() const { return sink_.dropped(); }

 private:
  std::atomic<config::LogFormat> format_;
  std::atomic<config::LogLevel> level_ = config::LogLevel::info;
  os::LogSink sink_;
};

}  // namespace pawl::gateway
