#include "src/verify/spelling.hpp"

#include <array>

#include "src/core/encoding.hpp"
#include "src/core/json_text.hpp"

namespace pawl::verify {
namespace {

struct Manner {
  bool reverse = false;
  bool blanks = false;
  bool escapes = false;
  bool exponents = false;
};

void append_unit(std::string& out, unsigned unit) {
  out += "\\u";
  for (const unsigned shift : {12U, 8U, 4U, 0U}) out += hex_digit(unit >> shift);
}

// `text` is valid UTF-8: the reader refuses anything else.
std::string all_escaped(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    unsigned code = length == 1 ? lead : lead & (0x7fU >> length);
    for (std::size_t k = 1; k < length; ++k) {
      code = (code << 6U) | (static_cast<unsigned char>(text[i + k]) & 0x3fU);
    }
    i += length;
    if (code < 0x10000) {
      append_unit(out, code);
    } else {
      append_unit(out, 0xd800 + ((code - 0x10000) >> 10U));
      append_unit(out, 0xdc00 + ((code - 0x10000) & 0x3ffU));
    }
  }
  return out + '"';
}

class Speller {
 public:
  explicit Speller(Manner manner) : manner_(manner) {}

  std::string spell(const json::Value& value) {
    append(value);
    return std::move(out_);
  }
  [[nodiscard]] bool met_number() const { return met_number_; }

 private:
  void blank() {
    if (manner_.blanks) out_ += "\n ";
  }
  void append_string(const std::string& text) {
    out_ += manner_.escapes ? all_escaped(text) : json::quote(text);
  }
  void append(const json::Value& value) {
    blank();
    switch (value.kind) {
      case json::Kind::null:
      case json::Kind::boolean: json::append_text(out_, value); break;
      case json::Kind::number: append_number(value); break;
      case json::Kind::string: append_string(value.text); break;
      case json::Kind::array: append_items(value); break;
      case json::Kind::object: append_members(value); break;
    }
    blank();
  }
  void append_number(const json::Value& value) {
    met_number_ = true;
    out_ += value.text;
    const bool has_exponent = value.text.find_first_of("eE") != std::string::npos;
    if (manner_.exponents && !has_exponent) out_ += "e0";
  }
  void append_items(const json::Value& value) {
    out_ += '[';
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      if (i > 0) out_ += ',';
      append(value.items[i]);
    }
    out_ += ']';
  }
  void append_members(const json::Value& value) {
    out_ += '{';
    const std::size_t count = value.members.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out_ += ',';
      const json::Member& member = value.members[manner_.reverse ? count - 1 - i : i];
      blank();
      append_string(member.name);
      blank();
      out_ += ':';
      append(member.value);
    }
    out_ += '}';
  }

  Manner manner_;
  std::string out_;
  bool met_number_ = false;
};

std::string text_of(const json::Value& value) {
  std::string out;
  json::append_text(out, value);
  return out;
}

// One more than a whole number's last digit; 9 becomes 8, so that no digit is carried.
void change_number(std::string& text) {
  const std::size_t last = std::min(text.find_first_of(".eE"), text.size()) - 1;
  text[last] = text[last] == '9' ? '8' : static_cast<char>(text[last] + 1);
}

bool change(json::Value& value) {
  switch (value.kind) {
    case json::Kind::number: change_number(value.text); return true;
    case json::Kind::string: value.text += "x"; return true;
    case json::Kind::boolean: value.boolean = !value.boolean; return true;
    case json::Kind::null:
    case json::Kind::array:
    case json::Kind::object: return false;
  }
  return false;
}

// The first value of that kind, deep or not.
json::Value* first_of_kind(json::Value& value, json::Kind kind) {
  if (value.kind == kind) return &value;
  for (json::Value& item : value.items) {
    if (json::Value* const found = first_of_kind(item, kind)) return found;
  }
  for (json::Member& member : value.members) {
    if (json::Value* const found = first_of_kind(member.value, kind)) return found;
  }
  return nullptr;
}

}  // namespace

std::string reordered(const json::Value& document) {
  return Speller({.reverse = true, .blanks = true}).spell(document);
}

std::string escaped(const json::Value& document) {
  return Speller({.escapes = true}).spell(document);
}

std::optional<std::string> with_other_numbers(const json::Value& document) {
  Speller speller({.exponents = true});
  std::string text = speller.spell(document);
  if (!speller.met_number()) return std::nullopt;
  return text;
}

std::string with_member(const json::Value& object, const std::string& name,
                        const std::string& value) {
  std::string out = text_of(object);
  out.pop_back();
  if (!object.members.empty()) out += ',';
  return out + json::quote(name) + ":" + value + "}";
}

std::optional<std::string> changed_at(const json::Value& document, const json::Pointer& pointer) {
  json::Value copy = document;
  // `copy` is ours, so what the pointer leads to is too.
  auto* const found = const_cast<json::Value*>(json::resolve(copy, pointer));
  if (found == nullptr || !change(*found)) return std::nullopt;
  return text_of(copy);
}

std::optional<std::string> changed_somewhere(const json::Value& document) {
  json::Value copy = document;
  for (const json::Kind kind : {json::Kind::number, json::Kind::string, json::Kind::boolean}) {
    json::Value* const found = first_of_kind(copy, kind);
    if (found != nullptr && change(*found)) return text_of(copy);
  }
  return std::nullopt;
}

}  // namespace pawl::verify
