// Texts that are kept in the store, a fact per line.
#pragma once

#include <algorithm>
#include <string_view>

namespace pawl::config {

template <class Visit>
void each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace pawl::config
