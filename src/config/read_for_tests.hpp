// Short ways to read a configuration in a test.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "src/config/read_config.hpp"

namespace pawl::config {

inline std::string in_lines(const Troubles& troubles) {
  std::string lines;
  for (const Diagnostic& trouble : troubles) lines += to_text(trouble) + "\n";
  return lines;
}

inline Config good(std::string_view text) {
  const Expected<Read, Troubles> read = read_config(text, "f");
  EXPECT_TRUE(read) << text << "\n" << (read ? std::string() : in_lines(read.error()));
  return read ? read->config : Config{};
}

// All troubles, a line each; empty where there are none.
inline std::string errors_of(std::string_view text) {
  const Expected<Read, Troubles> read = read_config(text, "f");
  return read ? std::string() : in_lines(read.error());
}

inline std::string warnings_of(std::string_view text) {
  const Expected<Read, Troubles> read = read_config(text, "f");
  return read ? in_lines(read->warnings) : "errors: " + in_lines(read.error());
}

}  // namespace pawl::config
