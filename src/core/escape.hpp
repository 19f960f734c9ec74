// Any bytes as text of letters, digits, '-', '_', '.' and %XX: what stands in a recovery point.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pawl {

void append_escaped(std::string& out, std::string_view bytes);
// Nothing for what append_escaped does not write.
std::optional<std::string> unescaped(std::string_view text);

}  // namespace pawl
