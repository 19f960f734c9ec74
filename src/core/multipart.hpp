// multipart bodies (RFC 2046), as far as a fingerprint needs them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl {

// Views into the body.
struct Part {
  // Lower-cased name and trimmed value, sorted by name, repeated names in their order: what it is
  // called (Content-Disposition: name, filename), its type, how it is encoded.
  std::vector<std::pair<std::string, std::string_view>> fields;
  std::string_view content;
};

// The parts in their order. Nothing where servers might disagree about what they are: another text
// before the first or after the last part, a boundary that is named twice or not at all or that
// stands inside of a part, a header that is folded or none.
std::optional<std::vector<Part>> read_multipart(std::string_view content_type,
                                                std::string_view body);

// Each field and each content behind its length: no two lists of parts give the same text. The
// boundary, which many clients make anew for every try, is not in it.
std::string canonical_multipart(const std::vector<Part>& parts);

}  // namespace pawl
