#include "src/verify/openapi.hpp"

#include <algorithm>
#include <optional>

#include "pawl/types/http.hpp"
#include "pawl/types/json.hpp"
#include "src/core/json_text.hpp"

namespace pawl::verify {
namespace {

constexpr int reference_depth_max = 16;

std::string as_text(const json::Value& value) {
  std::string out;
  json::append_text(out, value);
  return out;
}

class Document {
 public:
  explicit Document(const json::Value& root) : root_(root) {}

  // What a reference leads to, however many there are in a row; nullptr: nowhere.
  const json::Value* follow(const json::Value* value) const {
    for (int depth = 0; value != nullptr && depth < reference_depth_max; ++depth) {
      const json::Value* const reference = value->find("$ref");
      if (reference == nullptr) return value;
      if (!reference->text.starts_with("#")) return nullptr;
      const auto pointer = json::parse_pointer(std::string_view(reference->text).substr(1));
      value = pointer ? json::resolve(root_, *pointer) : nullptr;
    }
    return nullptr;
  }

  // A member of what `value` is or refers to.
  const json::Value* member(const json::Value* value, std::string_view name) const {
    const json::Value* const there = follow(value);
    return there == nullptr ? nullptr : follow(there->find(name));
  }

  // An example of it, as JSON: given as such, or put together from those of its members.
  std::optional<std::string> example_of(const json::Value* given, int depth = 0) const {
    const json::Value* const schema = follow(given);
    if (schema == nullptr || depth > reference_depth_max) return std::nullopt;
    if (const json::Value* const example = schema->find("example")) return as_text(*example);
    if (const std::optional<std::string> listed = first_example(schema->find("examples"))) {
      return listed;
    }
    if (const json::Value* const fixed = schema->find("default")) return as_text(*fixed);
    const json::Value* const choice = schema->find("enum");
    if (choice != nullptr && !choice->items.empty()) return as_text(choice->items.front());
    return made_of_members(*schema, depth);
  }

 private:
  // A list of values (a schema's), or named objects with a `value` (a media type's).
  std::optional<std::string> first_example(const json::Value* examples) const {
    if (examples == nullptr) return std::nullopt;
    if (!examples->items.empty()) return as_text(examples->items.front());
    for (const json::Member& each : examples->members) {
      if (const json::Value* const value = member(&each.value, "value")) return as_text(*value);
    }
    return std::nullopt;
  }

  std::optional<std::string> made_of_members(const json::Value& schema, int depth) const {
    const json::Value* const members = schema.find("properties");
    const json::Value* const required = schema.find("required");
    if (members == nullptr) return std::nullopt;
    std::string out;
    for (const json::Member& each : members->members) {
      const std::optional<std::string> example = example_of(&each.value, depth + 1);
      const bool needed =
          required != nullptr && std::ranges::any_of(required->items, [&](const json::Value& name) {
            return name.text == each.name;
          });
      if (!example && needed) return std::nullopt;
      if (example) out += (out.empty() ? "" : ",") + json::quote(each.name) + ":" + *example;
    }
    return "{" + out + "}";
  }

  const json::Value& root_;
};

class Operations {
 public:
  Operations(const Document& document, std::string_view key_header)
      : document_(document), key_header_(key_header) {}

  void add(const std::string& path, const json::Value& item) {
    const json::Value* const post = document_.member(&item, "post");
    if (post == nullptr) return;
    const std::vector<const json::Value*> parameters = parameters_of(item, *post);
    const bool keyed = std::ranges::any_of(parameters, [&](const json::Value* each) {
      return text_of(*each, "in") == "header" &&
             same_field_name(text_of(*each, "name"), key_header_);
    });
    if (!keyed) return;
    Operation operation{path, {}};
    std::string trouble = fill_in(operation.path, parameters);
    const std::optional<std::string> body = body_of(*post);
    if (!body) trouble = "its JSON body has no example";
    if (trouble.empty()) {
      operation.body = *body;
      all_.found.push_back(std::move(operation));
    } else {
      all_.left_out.push_back("POST " + path + ": " + trouble);
    }
  }

  KeyedOperations take() { return std::move(all_); }

 private:
  static std::string text_of(const json::Value& value, std::string_view name) {
    const json::Value* const found = value.find(name);
    return found == nullptr ? "" : found->text;
  }

  std::vector<const json::Value*> parameters_of(const json::Value& item,
                                                const json::Value& post) const {
    std::vector<const json::Value*> all;
    for (const json::Value* owner : {&post, &item}) {
      const json::Value* const list = document_.member(owner, "parameters");
      if (list == nullptr) continue;
      for (const json::Value& each : list->items) {
        if (const json::Value* const found = document_.follow(&each)) all.push_back(found);
      }
    }
    return all;
  }

  // Empty, or why it cannot be done.
  std::string fill_in(std::string& path, const std::vector<const json::Value*>& parameters) const {
    for (const json::Value* each : parameters) {
      const std::string hole = "{" + text_of(*each, "name") + "}";
      const std::size_t at = path.find(hole);
      if (text_of(*each, "in") != "path" || at == std::string::npos) continue;
      std::optional<std::string> example = document_.example_of(each);
      if (!example) example = document_.example_of(document_.member(each, "schema"));
      if (!example) return "the parameter " + hole + " has no example";
      const auto value = json::read(*example);
      path.replace(at, hole.size(), value ? value->text : *example);
    }
    return path.find('{') == std::string::npos ? "" : "a parameter of its path is not described";
  }

  std::optional<std::string> body_of(const json::Value& post) const {
    const json::Value* const body = document_.member(&post, "requestBody");
    const json::Value* const content = document_.member(body, "content");
    const json::Value* const media = document_.member(content, "application/json");
    if (const std::optional<std::string> example = document_.example_of(media)) return example;
    return document_.example_of(document_.member(media, "schema"));
  }

  const Document& document_;
  std::string_view key_header_;
  KeyedOperations all_;
};

}  // namespace

Expected<KeyedOperations, std::string> keyed_operations(std::string_view document,
                                                        std::string_view key_header) {
  const Expected<json::Value, json::Error> root = json::read(document);
  if (!root) {
    return Unexpected{"it is not JSON (YAML has to be converted first): " + root.error().what +
                      " at byte " + std::to_string(root.error().at_byte)};
  }
  const json::Value* const paths = root->find("paths");
  if (root->find("openapi") == nullptr || paths == nullptr) {
    return Unexpected{std::string("it is no OpenAPI document: `openapi` or `paths` is missing")};
  }
  const Document read(*root);
  Operations operations(read, key_header);
  for (const json::Member& path : paths->members) operations.add(path.name, path.value);
  return operations.take();
}

}  // namespace pawl::verify
