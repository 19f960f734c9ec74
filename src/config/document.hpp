// A TOML document as a plain tree in which everything knows its place. The library that reads TOML
// is met in document.cpp and nowhere else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/expected.hpp"
#include "src/config/diagnostics.hpp"

namespace pawl::config {

enum class Kind { string, integer, real, boolean, date_time, array, table };

struct Member;

struct Node {
  Kind kind = Kind::table;
  Position at;
  std::string text;  // string: its value. date_time: as it would be written
  std::int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::vector<Node> items;
  std::vector<Member> members;  // a table's, by name

  // The member's value, or nullptr; nullptr as well where this is no table.
  [[nodiscard]] const Node* find(std::string_view name) const;
};

struct Member {
  std::string name;
  Position at;
  Node value;
};

// A text that is no TOML is one trouble: nothing after it can be trusted.
Expected<Node, Diagnostic> read_toml(std::string_view text, std::string_view file_name);

// The value as a message shows it: `"abc"`, `30`, `true`, `a list`, `a table`.
std::string describe(const Node& node);

// `text` as a TOML string, quotes included.
std::string quote(std::string_view text);

}  // namespace pawl::config
