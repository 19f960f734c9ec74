#include "src/gateway/body_coding.hpp"

#include "pawl/core/fingerprint.hpp"
#include "src/adapters/http/syntax.hpp"

namespace pawl::gateway {
namespace {

// Every charset that a lower-cased media type names, or seems to: a reader may take any of them.
bool names_utf8_only(std::string_view type) {
  constexpr std::string_view word = "charset";
  for (std::size_t at = type.find(word); at != type.npos; at = type.find(word)) {
    type.remove_prefix(at + word.size());
    std::string_view name = http::trimmed(type.substr(0, type.find(';')));
    if (!name.starts_with('=')) return false;
    name.remove_prefix(1);
    if (name != "utf-8" && name != "\"utf-8\"" && name != "us-ascii" && name != "\"us-ascii\"") {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<ProblemDetails> check_coding(const http::Fields& fields) {
  const std::optional<std::string_view> coding = http::find(fields, "Content-Encoding");
  if (coding && !http::same_word(*coding, "identity")) {
    return ProblemDetails{Problem::body_invalid,
                          "Send the body without Content-Encoding: what it means is compared with "
                          "other tries of the same request.",
                          415,
                          {}};
  }
  const std::string type = http::lowered(http::find(fields, "Content-Type").value_or(""));
  if (!is_json(type) || names_utf8_only(type)) return std::nullopt;
  return ProblemDetails{Problem::body_invalid, "JSON is sent in UTF-8.", 415, {}};
}

}  // namespace pawl::gateway
