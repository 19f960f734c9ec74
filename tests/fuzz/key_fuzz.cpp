// Any bytes as the values of Idempotency-Key header lines (one per LF) and as an RFC 9651 Item.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/check.hpp"
#include "pawl/types/key.hpp"
#include "src/core/structured_field.hpp"

namespace pawl {
namespace {

// A key that was taken can be sent again in quotes, and is still the same key.
void check_key(const Key& key, KeyRules rules) {
  PAWL_CHECK(!key.text.empty());
  PAWL_CHECK(key.text.size() <= key_bytes_max);
  PAWL_CHECK(key.text.size() >= rules.length_min);
  PAWL_CHECK(
      std::all_of(key.text.begin(), key.text.end(), [](char c) { return c >= 0x20 && c <= 0x7E; }));
  const auto quoted = sf::serialize({key.text, {}});
  PAWL_CHECK(quoted.has_value());
  const std::array<std::string_view, 1> line{*quoted};
  for (const KeySyntax syntax : {KeySyntax::either, KeySyntax::ietf}) {
    rules.syntax = syntax;
    const auto again = parse_key(line, rules);
    PAWL_CHECK(again.has_value());
    PAWL_CHECK(*again == key);
  }
}

void try_key(const std::vector<std::string_view>& lines) {
  for (const KeySyntax syntax : {KeySyntax::either, KeySyntax::ietf, KeySyntax::bare}) {
    for (const bool refuse_pii : {true, false}) {
      for (const std::size_t length_min : {std::size_t{0}, std::size_t{16}}) {
        const KeyRules rules{.syntax = syntax, .length_min = length_min, .refuse_pii = refuse_pii};
        const auto key = parse_key(lines, rules);
        PAWL_CHECK(!key.has_value() || lines.size() == 1);
        if (key) {
          check_key(*key, rules);
        } else {
          PAWL_CHECK(!explain(key.error(), rules).empty());
        }
      }
    }
  }
}

void try_item(std::string_view value) {
  const auto item = sf::parse_item(value);
  if (!item) {
    PAWL_CHECK(item.error().at_byte <= value.size());
    return;
  }
  const auto text = sf::serialize(*item);
  PAWL_CHECK(text.has_value());
  const auto again = sf::parse_item(*text);
  PAWL_CHECK(again.has_value());
  PAWL_CHECK(*again == *item);
  const auto same = sf::serialize(*again);
  PAWL_CHECK(same.has_value());
  PAWL_CHECK(*same == *text);
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  lines.push_back(text);
  return lines;
}

}  // namespace
}  // namespace pawl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(data, data + size);
  pawl::try_item(input);
  pawl::try_key({input});
  const auto lines = pawl::split_lines(input);
  if (lines.size() > 1) pawl::try_key(lines);
  return 0;
}
