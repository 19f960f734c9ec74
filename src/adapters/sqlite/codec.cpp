#include "src/adapters/sqlite/codec.hpp"

#include <algorithm>

#include "src/core/json_writer.hpp"
#include "src/core/sealed.hpp"

namespace pawl::sqlite {
namespace {

bool is_ascii(std::string_view bytes) {
  return std::ranges::all_of(bytes,
                             [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
}

std::string utf8_of_latin1(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() + bytes.size() / 2);
  for (const char byte : bytes) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x80) {
      text += byte;
    } else {
      text += static_cast<char>(0xc0 | (code >> 6));
      text += static_cast<char>(0x80 | (code & 0x3f));
    }
  }
  return text;
}

// Nothing where the text has code points above U+00FF: we never wrote that. The JSON reader has
// checked that it is UTF-8.
std::optional<std::string> latin1_of_utf8(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto lead = static_cast<unsigned char>(text[at]);
    if (lead < 0x80) {
      bytes += text[at];
      continue;
    }
    if (lead > 0xc3 || at + 1 == text.size()) return std::nullopt;
    const auto rest = static_cast<unsigned char>(text[++at]);
    bytes += static_cast<char>(((lead & 0x03) << 6) | (rest & 0x3f));
  }
  return bytes;
}

std::string quoted(std::string_view bytes) {
  return is_ascii(bytes) ? json::quote(bytes) : json::quote(utf8_of_latin1(bytes));
}

std::optional<std::string> unquoted(const json::Value* value) {
  if (value == nullptr || value->kind != json::Kind::string) return std::nullopt;
  return latin1_of_utf8(value->text);
}

std::optional<Headers> headers_of(const json::Value* list) {
  if (list == nullptr || list->kind != json::Kind::array) return std::nullopt;
  Headers headers;
  headers.reserve(list->items.size());
  for (const json::Value& pair : list->items) {
    if (pair.kind != json::Kind::array || pair.items.size() != 2) return std::nullopt;
    std::optional<std::string> name = unquoted(&pair.items[0]);
    std::optional<std::string> value = unquoted(&pair.items[1]);
    if (!name || !value) return std::nullopt;
    headers.push_back({std::move(*name), std::move(*value)});
  }
  return headers;
}

}  // namespace

std::string encode_headers(const Headers& headers) {
  constexpr std::size_t usual_bytes = 64;  // of a header
  std::string text;
  text.reserve(2 + headers.size() * usual_bytes);
  text += '[';
  for (const Header& header : headers) {
    if (text.size() > 1) text += ',';
    text += '[';
    text += quoted(header.name);
    text += ',';
    text += quoted(header.value);
    text += ']';
  }
  text += ']';
  return text;
}

std::optional<Headers> decode_headers(std::string_view text) {
  const Expected<json::Value, json::Error> document = json::read(text);
  if (!document) return std::nullopt;
  return headers_of(&*document);
}

std::string encode_request(const StoredRequest& request) {
  JsonObject head;
  head.raw("target", quoted(request.target)).raw("headers", encode_headers(request.headers));
  if (is_sealed(request)) head.number(sealed_member, sealed_request_version);
  return std::move(head).done() + "\n" + request.body;
}

std::optional<StoredRequest> decode_request(std::string_view bytes) {
  const std::size_t line_end = bytes.find('\n');  // JSON strings have none: it is escaped there
  if (line_end == std::string_view::npos) return std::nullopt;
  const Expected<json::Value, json::Error> head = json::read(bytes.substr(0, line_end));
  if (!head || head->kind != json::Kind::object || !has_members_of_request(*head))
    return std::nullopt;
  std::optional<std::string> target = unquoted(head->find("target"));
  std::optional<Headers> headers = headers_of(head->find("headers"));
  if (!target || !headers) return std::nullopt;
  return StoredRequest{std::move(*target), std::move(*headers),
                       std::string(bytes.substr(line_end + 1))};
}

}  // namespace pawl::sqlite
