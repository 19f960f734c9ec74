// One line per request: what was asked, what was decided, how far it got, how long it took. Never a
// key, a credential, a query or a body.
#pragma once

#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "pawl/core/time.hpp"
#include "src/config/config.hpp"

namespace pawl::gateway {

struct LogLine {
  std::string_view request_id;
  std::string_view client;
  std::string_view method;
  std::string_view path;
  std::string_view route;
  std::string key;            // its short hash; empty: none
  std::string_view decision;  // created, replay, ...; empty: not guarded
  std::string_view evidence;  // not_sent, sent, answered; empty: nothing was to be sent
  std::string trouble;        // what went wrong, in our words; outlives whoever says it
  int status = 0;
  Duration took{0};
  Duration upstream_took{0};
};

// Lines are gathered and written when there are many, or a moment later. Safe from any thread.
class RequestLog {
 public:
  explicit RequestLog(config::LogFormat format) : format_(format) {}
  ~RequestLog() { flush(); }

  void write(const LogLine& line);
  // About the program itself: "draining", "store is back", ...
  void say(std::string_view level, std::string_view what);
  void flush();

 private:
  void append(std::string_view text);

  const config::LogFormat format_;
  std::mutex mutex_;
  std::string pending_;
};

}  // namespace pawl::gateway
