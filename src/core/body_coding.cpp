#include "src/core/body_coding.hpp"

#include <algorithm>
#include <string>

#include "pawl/types/fingerprint.hpp"
#include "pawl/types/http.hpp"
#include "src/core/field_syntax.hpp"

namespace pawl {
namespace {

// Every charset that a lower-cased media type names, or seems to: a reader may take any of them.
bool names_utf8_only(std::string_view type) {
  constexpr std::string_view word = "charset";
  for (std::size_t at = type.find(word); at != type.npos; at = type.find(word)) {
    type.remove_prefix(at + word.size());
    std::string_view name = trimmed(type.substr(0, type.find(';')));
    if (!name.starts_with('=')) return false;
    name = trimmed(name.substr(1));
    if (name != "utf-8" && name != "\"utf-8\"" && name != "us-ascii" && name != "\"us-ascii\"") {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<ProblemDetails> check_coding(std::string_view content_encoding,
                                           std::string_view content_type) {
  if (!content_encoding.empty() && lowered(content_encoding) != "identity") {
    return ProblemDetails{Problem::body_invalid,
                          "Send the body without Content-Encoding: what it means is compared with "
                          "other tries of the same request.",
                          415,
                          {}};
  }
  const std::string type = lowered(content_type);
  if (!is_json(type) || names_utf8_only(type)) return std::nullopt;
  return ProblemDetails{Problem::body_invalid, "JSON is sent in UTF-8.", 415, {}};
}

}  // namespace pawl
