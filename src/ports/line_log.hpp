// One line per request, and per job of a worker: what was asked, what was decided, how far it got,
// how long it took. Never a key, a credential, a query or a body.
#pragma once

#include <string>
#include <string_view>

#include "pawl/types/time.hpp"
#include "src/ports/log.hpp"

namespace pawl {

struct LogLine {
  std::string_view request_id;  // of this request alone
  std::string_view client;
  std::string_view method;
  std::string_view path;
  std::string_view route;
  std::string_view scope;     // whose key
  std::string key;            // its short hash; empty: none
  std::string execution;      // the request whose answer was given again, or stands in the way
  std::string_view decision;  // created, replay, ...; empty: not guarded
  std::string_view evidence;  // not_sent, sent, answered; empty: nothing was to be sent
  std::string trouble;        // what went wrong, in our words; outlives whoever says it
  int status = 0;
  Duration took{0};
  Duration upstream_took{0};
};

class LineLog : public Log {
 public:
  virtual void write(const LogLine& line) = 0;
};

}  // namespace pawl
