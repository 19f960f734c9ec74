// Writes one JSON object, member by member.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "pawl/types/json.hpp"

namespace pawl {

class JsonObject {
 public:
  JsonObject& text(std::string_view name, std::string_view value) {
    return raw(name, json::quote(value));
  }
  JsonObject& number(std::string_view name, std::int64_t value) {
    return raw(name, std::to_string(value));
  }
  JsonObject& flag(std::string_view name, bool value) {
    return raw(name, value ? "true" : "false");
  }
  // `value` is JSON already.
  JsonObject& raw(std::string_view name, std::string_view value) {
    out_.push_back(out_.empty() ? '{' : ',');
    out_.append(json::quote(name)).append(":").append(value);
    return *this;
  }
  [[nodiscard]] std::string done() const& { return out_.empty() ? "{}" : out_ + "}"; }
  [[nodiscard]] std::string done() && {
    if (out_.empty()) return "{}";
    out_.push_back('}');
    return std::move(out_);
  }

 private:
  std::string out_;
};

}  // namespace pawl
