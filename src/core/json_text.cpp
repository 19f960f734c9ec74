#include "src/core/json_text.hpp"

namespace pawl::json {

void append_text(std::string& out, const Value& value) {
  switch (value.kind) {
    case Kind::null: out += "null"; return;
    case Kind::boolean: out += value.boolean ? "true" : "false"; return;
    case Kind::number: out += value.text; return;
    case Kind::string: out += quote(value.text); return;
    case Kind::array: {
      out += '[';
      for (const Value& item : value.items) {
        if (&item != &value.items.front()) out += ',';
        append_text(out, item);
      }
      out += ']';
      return;
    }
    case Kind::object: {
      out += '{';
      for (const Member& member : value.members) {
        if (&member != &value.members.front()) out += ',';
        out += quote(member.name);
        out += ':';
        append_text(out, member.value);
      }
      out += '}';
      return;
    }
  }
}

}  // namespace pawl::json
