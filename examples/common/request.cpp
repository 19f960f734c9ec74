#include "examples/common/request.hpp"

#include <algorithm>
#include <charconv>

#include "src/adapters/http/syntax.hpp"

namespace pawl::example {
namespace {

// The head's parser has seen to it that two hexadecimal digits follow each percent sign.
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(http::hex_value(text[i + 1]) * 16 + http::hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

}  // namespace

std::optional<std::string> parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) != name) continue;
    return decoded(pair.substr(std::min(equals + 1, pair.size())));
  }
  return std::nullopt;
}

std::optional<std::int64_t> to_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> whole_number(const json::Value* value) {
  if (value == nullptr || value->kind != json::Kind::number) return std::nullopt;
  return to_number(value->text);
}

std::optional<std::string> string_of(const json::Value* value) {
  if (value == nullptr || value->kind != json::Kind::string) return std::nullopt;
  return value->text;
}

bool is_currency(std::string_view text) {
  return text.size() == 3 &&
         std::ranges::all_of(text, [](char letter) { return letter >= 'A' && letter <= 'Z'; });
}

Response json_answer(int status, std::string body) {
  Response response;
  response.status = status;
  response.headers = {{"Content-Type", "application/json"}};
  response.body = std::move(body);
  return response;
}

}  // namespace pawl::example
