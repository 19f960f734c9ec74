#include "src/core/escape.hpp"

#include "src/core/encoding.hpp"

namespace pawl {
namespace {

// Not '~': what is stored must not change its spelling.
bool is_plain(char c) { return is_unreserved(c) && c != '~'; }

}  // namespace

void append_escaped(std::string& out, std::string_view bytes) {
  append_percent_encoded(out, bytes, is_plain);
}

std::optional<std::string> unescaped(std::string_view text) {
  return percent_decoded_strictly(text, is_plain);
}

}  // namespace pawl
