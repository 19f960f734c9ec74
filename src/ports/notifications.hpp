// Short notifications between nodes: hints, which may be lost.
#pragma once

#include <string>

namespace pawl {

class Notifications {
 public:
  virtual ~Notifications() = default;
  // From any thread; never blocks. Dropped where the server is unavailable or too much waits
  // already.
  virtual void say(std::string channel, std::string word) = 0;
};

}  // namespace pawl
