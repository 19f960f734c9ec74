// Collects everything that is wrong, so that a file is corrected in one round.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "src/config/diagnostic.hpp"
#include "src/config/document.hpp"

namespace pawl::config {

class Diagnostics {
 public:
  explicit Diagnostics(std::string file) : file_(std::move(file)) {}

  void error(Position at, std::string_view what);
  void warn(Position at, std::string_view what);

  [[nodiscard]] bool has_errors() const { return !errors_.empty(); }
  // In the order of the file.
  [[nodiscard]] Troubles errors() const;
  [[nodiscard]] Troubles warnings() const;

 private:
  std::string file_;
  Troubles errors_;
  Troubles warnings_;
};

}  // namespace pawl::config
