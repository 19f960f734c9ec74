#include "src/core/resource_id.hpp"

#include "pawl/types/json.hpp"

namespace pawl {
namespace {

constexpr std::string_view in_header = "header:";
constexpr std::size_t name_bytes_max = 255;

std::string in_body(std::string_view body, std::string_view where) {
  const Expected<json::Pointer, json::Error> pointer = json::parse_pointer(where);
  if (!pointer) return {};
  const Expected<json::Value, json::Error> document = json::read(body);
  if (!document) return {};
  const json::Value* found = json::resolve(*document, *pointer);
  const bool is_name =
      found != nullptr && (found->kind == json::Kind::string || found->kind == json::Kind::number);
  return is_name ? found->text : std::string();
}

}  // namespace

std::string extract_resource_id(const Response& response, std::string_view where) {
  if (where.empty()) return {};
  std::string name;
  if (where.starts_with(in_header)) {
    name = find_header(response.headers, where.substr(in_header.size())).value_or("");
  } else {
    name = in_body(response.body, where);
  }
  return name.size() <= name_bytes_max ? name : std::string();
}

}  // namespace pawl
