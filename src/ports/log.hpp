// What the program says about itself.
#pragma once

#include <string_view>

namespace pawl {

class Log {
 public:
  virtual ~Log() = default;
  // `level`: info, warning or error. Safe from any thread, and never waits for whoever reads it.
  virtual void say(std::string_view level, std::string_view what) = 0;
};

}  // namespace pawl
