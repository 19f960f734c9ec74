// An input as a row of choices: bytes, and pieces behind a byte that says how long they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pawl::fuzz {

class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return first;
  }
  std::string_view piece() {
    const std::size_t size = std::min<std::size_t>(byte(), bytes_.size());
    const std::string_view piece = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return piece;
  }

 private:
  std::string_view bytes_;
};

}  // namespace pawl::fuzz
