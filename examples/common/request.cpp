#include "common/request.hpp"

#include <algorithm>
#include <charconv>

namespace pawl::example {
namespace {

// The byte that two hexadecimal digits are.
std::optional<char> byte_in(std::string_view digits) {
  unsigned char byte = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, byte, 16);
  if (digits.size() != 2 || error != std::errc() || stopped != end) return std::nullopt;
  return static_cast<char>(byte);
}

// A percent sign that no such digits follow stands for itself.
std::string decoded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::optional<char> byte =
        text.front() == '%' ? byte_in(text.substr(1, 2)) : std::nullopt;
    out += byte.value_or(text.front() == '+' ? ' ' : text.front());
    text.remove_prefix(byte ? 3 : 1);
  }
  return out;
}

}  // namespace

Target split_target(std::string_view target) {
  const std::size_t end = std::min(target.find('?'), target.size());
  return {target.substr(0, end), target.substr(std::min(end + 1, target.size()))};
}

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
