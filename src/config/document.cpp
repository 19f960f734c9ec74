#include "src/config/document.hpp"

#include <toml++/toml.h>
#include <charconv>
#include <sstream>

#include "pawl/types/json.hpp"

namespace pawl::config {
namespace {

Position place(const toml::source_region& region) {
  return {static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

template <class DateTime>
std::string written(const DateTime& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// As deep as the text is nested, which the library bounds at 256.
Node convert(const toml::node& source) {
  Node node;
  node.at = place(source.source());
  if (const toml::table* table = source.as_table()) {
    node.kind = Kind::table;
    for (const auto& [key, value] : *table) {
      node.members.push_back({std::string(key.str()), place(key.source()), convert(value)});
    }
  } else if (const toml::array* array = source.as_array()) {
    node.kind = Kind::array;
    for (const toml::node& item : *array) node.items.push_back(convert(item));
  } else if (const auto* text = source.as_string()) {
    node.kind = Kind::string;
    node.text = text->get();
  } else if (const auto* integer = source.as_integer()) {
    node.kind = Kind::integer;
    node.integer = integer->get();
  } else if (const auto* real = source.as_floating_point()) {
    node.kind = Kind::real;
    node.real = real->get();
  } else if (const auto* boolean = source.as_boolean()) {
    node.kind = Kind::boolean;
    node.boolean = boolean->get();
  } else {
    node.kind = Kind::date_time;
    if (const auto* date = source.as_date()) node.text = written(date->get());
    if (const auto* time = source.as_time()) node.text = written(time->get());
    if (const auto* both = source.as_date_time()) node.text = written(both->get());
  }
  return node;
}

std::string explain(std::string_view description) {
  std::string what = "this is not TOML: ";
  constexpr std::string_view opening = "Error while parsing ";
  if (description.starts_with(opening)) {
    what += "in a ";
    description.remove_prefix(opening.size());
  }
  what += one_line(description);
  // `lease = 30s` is what everybody writes once.
  if (description.find("decimal integer: expected digit") != std::string_view::npos) {
    what += "; a duration or a size is written in quotes, like \"30s\"";
  }
  return what;
}

}  // namespace

const Node* Node::find(std::string_view name) const {
  for (const Member& member : members) {
    if (member.name == name) return &member.value;
  }
  return nullptr;
}

Expected<Node, Diagnostic> read_toml(std::string_view text, std::string_view file_name) {
  try {
    return convert(toml::parse(text, file_name));
  } catch (const toml::parse_error& error) {
    const Position at = place(error.source());
    return Unexpected{
        Diagnostic{std::string(file_name), at.line, at.column, explain(error.description())}};
  }
}

std::string describe(const Node& node) {
  constexpr std::size_t shown_max = 60;
  switch (node.kind) {
    case Kind::string: return node.text.size() <= shown_max ? quote(node.text) : "a long text";
    case Kind::integer: return std::to_string(node.integer);
    case Kind::real: {
      char digits[32];
      const auto end = std::to_chars(digits, digits + sizeof digits, node.real);
      return std::string(digits, end.ptr);
    }
    case Kind::boolean: return node.boolean ? "true" : "false";
    case Kind::date_time: return node.text;
    case Kind::array: return "a list";
    case Kind::table: return "a table";
  }
  return "?";
}

std::string quote(std::string_view text) {
  // TOML's escapes are JSON's, and one more character needs one.
  std::string quoted = json::quote(text);
  for (std::size_t at = 0; (at = quoted.find('\x7f', at)) != std::string::npos;) {
    quoted.replace(at, 1, "\\u007F");
  }
  return quoted;
}

}  // namespace pawl::config
