#include "src/config/diagnostics.hpp"

#include <algorithm>
#include <tuple>

namespace pawl::config {
namespace {

Troubles sorted(Troubles troubles) {
  std::stable_sort(troubles.begin(), troubles.end(), [](const Diagnostic& a, const Diagnostic& b) {
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

std::string to_text(const Diagnostic& trouble) {
  std::string text = trouble.file;
  if (trouble.line > 0) {
    text += ':' + std::to_string(trouble.line) + ':' + std::to_string(trouble.column);
  }
  return text.empty() ? trouble.what : text + ": " + trouble.what;
}

void Diagnostics::error(Position at, std::string_view what) {
  errors_.push_back({file_, at.line, at.column, one_line(what)});
}

void Diagnostics::warn(Position at, std::string_view what) {
  warnings_.push_back({file_, at.line, at.column, one_line(what)});
}

Troubles Diagnostics::errors() const { return sorted(errors_); }
Troubles Diagnostics::warnings() const { return sorted(warnings_); }

}  // namespace pawl::config
