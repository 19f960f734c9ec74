#include "src/config/source_parts.hpp"

#include <algorithm>

#include "src/config/known_names.hpp"

namespace pawl::config {

std::optional<json::Pointer> pointer_in(Value value, Diagnostics& findings) {
  const std::optional<std::string> text = string_in(value, findings);
  if (!text) return std::nullopt;
  Expected<json::Pointer, json::Error> pointer = json::parse_pointer(*text);
  if (pointer && !pointer->tokens.empty()) return std::move(*pointer);
  complain(value, "it must be a JSON pointer into the event, like \"/data/object/id\"", findings);
  return std::nullopt;
}

std::optional<std::optional<json::Pointer>> some_pointer_in(Value value, Diagnostics& findings) {
  std::optional<json::Pointer> pointer = pointer_in(value, findings);
  if (!pointer) return std::nullopt;
  return std::optional<json::Pointer>(std::move(*pointer));
}

std::string show_pointer(const json::Pointer& pointer) {
  return pointer.tokens.empty() ? std::string() : quote(json::to_text(pointer));
}

std::string show_some_pointer(const std::optional<json::Pointer>& pointer) {
  return pointer ? show_pointer(*pointer) : std::string();
}

std::optional<Halves> halves_of(const Node& node, std::string_view url, std::string_view example,
                                Diagnostics& findings) {
  const Value value{"url", node};
  if (url.find("***") != std::string_view::npos) {
    complain(value, "it is masked, as `pawl config show` prints it; put the real one in", findings);
    return std::nullopt;
  }
  const std::size_t scheme = url.find("://");
  const std::size_t slash =
      scheme == std::string_view::npos ? scheme : url.find_first_of("/?#", scheme + 3);
  Expected<UpstreamUrl, std::string> address = parse_upstream(url.substr(0, slash));
  if (!address) {
    complain(value, "it must be an address to ask at, like " + quote(example), findings);
    return std::nullopt;
  }
  const std::string_view target =
      slash == std::string_view::npos ? std::string_view("/") : url.substr(slash);
  const bool bad = target.find('#') != std::string_view::npos || !target.starts_with('/') ||
                   std::ranges::any_of(target, [](char c) { return c <= ' ' || c > '~'; });
  if (bad) {
    complain(value, "after the host it must have a path, and no blanks and no '#'", findings);
    return std::nullopt;
  }
  return Halves{std::move(*address), target};
}

std::vector<const Node*> tables_in(const Node& list, std::string_view where,
                                   Diagnostics& findings) {
  std::vector<const Node*> tables;
  if (list.kind != Kind::array) {
    findings.error(list.at,
                   "this must be a list: write " + std::string(where) + ", with two brackets");
    return tables;
  }
  for (const Node& item : list.items) {
    if (item.kind != Kind::table) {
      findings.error(item.at, "each " + std::string(where) + " must be a table");
      continue;
    }
    check_names(item, where, findings);
    tables.push_back(&item);
  }
  return tables;
}

std::string line(std::string_view name, std::string_view value) {
  return std::string(name).append(" = ").append(value).append("\n");
}

}  // namespace pawl::config
