// What is wrong with a configuration, and where: made for a person who will now open the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::config {

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

}  // namespace pawl::config
