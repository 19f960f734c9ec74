#include "src/config/findings.hpp"

#include <algorithm>
#include <tuple>

namespace pawl::config {
namespace {

Troubles sorted(Troubles troubles) {
  std::stable_sort(troubles.begin(), troubles.end(), [](const Trouble& a, const Trouble& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  return troubles;
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (const char c : text) {
    const bool control = (c >= 0 && c < ' ') || c == '\x7f';
    line.append(c == '\n' ? "\\n" : control ? "?" : std::string_view(&c, 1));
  }
  return line;
}

std::string to_text(const Trouble& trouble) {
  std::string text = trouble.file;
  if (trouble.line > 0) {
    text += ':' + std::to_string(trouble.line) + ':' + std::to_string(trouble.column);
  }
  return text.empty() ? trouble.what : text + ": " + trouble.what;
}

void Findings::error(Position at, std::string_view what) {
  errors_.push_back({file_, at.line, at.column, one_line(what)});
}

void Findings::warn(Position at, std::string_view what) {
  warnings_.push_back({file_, at.line, at.column, one_line(what)});
}

Troubles Findings::errors() const { return sorted(errors_); }
Troubles Findings::warnings() const { return sorted(warnings_); }

}  // namespace pawl::config
