// What is wrong with a configuration, and where: made for a person who will now open the file.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::config {

struct Position {
  int line = 0;
  int column = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

struct Diagnostic {
  std::string file;  // empty: not from a file, but from a flag or from the whole of it
  int line = 0;      // from 1; 0: the file as a whole
  int column = 0;
  std::string what;          // what is wrong and what would be right; one line, no period
  std::string setting = {};  // by its path, "route.2.match", for who knows where that stands
  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

using Troubles = std::vector<Diagnostic>;

// Text out of a file, made fit for a message: a line end becomes \\n, other control characters `?`.
std::string one_line(std::string_view text);

// "pawl.toml:3:1: what", as compilers and editors have it.
std::string to_text(const Diagnostic& trouble);

// Collects everything that is wrong, so that a file is corrected in one round.
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
