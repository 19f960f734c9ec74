#include "src/core/key_ring.hpp"

#include <algorithm>
#include <optional>

#include "src/core/encoding.hpp"

namespace pawl {
namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

bool is_key_id(std::string_view id) {
  return !id.empty() && id.size() <= 32 && std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

Expected<EncryptionKey, std::string> parse_key_line(std::string_view line) {
  const std::size_t gap = line.find_first_of(blanks);
  const std::string_view id = line.substr(0, gap);
  if (gap == std::string_view::npos || !is_key_id(id)) {
    return Unexpected{std::string(
        "it must be an id of 1 to 32 letters, digits, - and _, a blank, and the key in base64")};
  }
  const std::optional<std::string> bytes =
      from_base64(without_blanks(line.substr(gap)), Base64Rules::strict);
  if (!bytes || bytes->size() != encryption_key_bytes) {
    return Unexpected{"the key \"" + std::string(id) +
                      "\" must be 32 bytes in base64, as `openssl rand -base64 32` prints them"};
  }
  return EncryptionKey{std::string(id), *bytes};
}

}  // namespace

const EncryptionKey* KeyRing::find(std::string_view id) const {
  const auto found = std::ranges::find(keys, id, &EncryptionKey::id);
  return found == keys.end() ? nullptr : &*found;
}

Expected<KeyRing, std::string> parse_key_ring(std::string_view text) {
  KeyRing ring;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = without_blanks(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty() || line.starts_with('#')) continue;
    Expected<EncryptionKey, std::string> key = parse_key_line(line);
    const std::string where = "line " + std::to_string(number) + ": ";
    if (!key) return Unexpected{where + key.error()};
    if (ring.find(key->id) != nullptr) {
      return Unexpected{where + "an earlier line has the id \"" + key->id + "\" already"};
    }
    ring.keys.push_back(std::move(*key));
  }
  if (ring.keys.empty()) return Unexpected{std::string("there is no key in it")};
  return ring;
}

}  // namespace pawl
