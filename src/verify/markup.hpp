// Text in XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace pawl::verify {

// `text` is printable already: no control characters but line ends.
inline std::string escape_markup(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace pawl::verify
