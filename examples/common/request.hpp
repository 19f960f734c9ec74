// Reading what a client sent, and saying what is wrong with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pawl/types/http.hpp"
#include "pawl/types/json.hpp"

namespace pawl::example {

// "/path?query" in two; the query is empty where there is none.
struct Target {
  std::string_view path;
  std::string_view query;
};
Target split_target(std::string_view target);

// The value of `name` in "a=1&b=two%20words"; nothing where it is not there.
std::optional<std::string> parameter(std::string_view query, std::string_view name);

// The whole text as a number.
std::optional<std::int64_t> to_number(std::string_view text);

// A JSON number without fraction and exponent.
std::optional<std::int64_t> whole_number(const json::Value* value);
std::optional<std::string> string_of(const json::Value* value);

// "EUR": three capital letters.
bool is_currency(std::string_view text);

Response json_answer(int status, std::string body);

}  // namespace pawl::example
