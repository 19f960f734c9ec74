#include "src/adapters/http/fields.hpp"

#include <algorithm>

#include "src/adapters/http/syntax.hpp"

namespace pawl::http {
namespace {

std::optional<FieldTrouble> read_field(std::string_view line, BlanksBeforeColon blanks,
                                       Field& field) {
  if (line.front() == ' ' || line.front() == '\t') {
    return FieldTrouble{Problem::bad_request,
                        "A header line starts with a blank: folded lines are not accepted."};
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) {
    return FieldTrouble{Problem::bad_request, "A header line has no colon."};
  }
  std::string_view name = line.substr(0, colon);
  if (blanks == BlanksBeforeColon::dropped) name = trimmed(name);
  if (!is_token(name)) {
    return FieldTrouble{Problem::bad_request,
                        "A header name is empty or has a character that no name may have."};
  }
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!is_field_value(value)) {
    return FieldTrouble{Problem::bad_request, "A header value has a control character in it."};
  }
  field = {name, value};
  return std::nullopt;
}

Expected<FoundFraming, FieldTrouble> read_transfer_encoding(std::string_view value,
                                                            int minor_version) {
  if (minor_version == 0) {
    return Unexpected{
        FieldTrouble{Problem::bad_request, "Transfer-Encoding does not exist in HTTP/1.0."}};
  }
  if (same_word(value, "chunked")) return FoundFraming{Framing::chunked, 0, true};
  const std::vector<std::string_view> codings = list_members(value);
  const auto is_chunked = [](std::string_view coding) { return same_word(coding, "chunked"); };
  const bool well_formed = std::ranges::all_of(codings, is_token) && is_chunked(codings.back()) &&
                           std::ranges::count_if(codings, is_chunked) == 1;
  if (well_formed) {
    return Unexpected{
        FieldTrouble{Problem::not_implemented, "The only transfer coding known here is chunked."}};
  }
  return Unexpected{
      FieldTrouble{Problem::bad_request, "Transfer-Encoding must be exactly: chunked."}};
}

}  // namespace

std::string joined_values(const Fields& fields, std::string_view name) {
  std::string all;
  for (const Field& field : fields) {
    if (!same_word(field.name, name)) continue;
    if (!all.empty()) all += ", ";
    all += field.value;
  }
  return all;
}

std::optional<std::string_view> find(const Fields& fields, std::string_view name) {
  for (const Field& field : fields) {
    if (same_word(field.name, name)) return field.value;
  }
  return std::nullopt;
}

std::optional<FieldTrouble> read_fields(std::string_view lines, std::size_t count_max,
                                        BlanksBeforeColon blanks, Fields& fields) {
  while (!lines.empty()) {
    const std::size_t end = lines.find("\r\n");
    if (fields.size() == count_max) {
      return FieldTrouble{Problem::headers_too_large, "There are too many header lines."};
    }
    Field field;
    std::optional<FieldTrouble> trouble = read_field(lines.substr(0, end), blanks, field);
    if (trouble) return trouble;
    fields.push_back(field);
    lines.remove_prefix(end + 2);
  }
  return std::nullopt;
}

bool read_connection(const Fields& fields, std::vector<std::string>& members) {
  for (const Field& field : fields) {
    if (!same_word(field.name, "Connection")) continue;
    for (const std::string_view member : list_members(field.value)) {
      if (member.empty()) continue;
      if (!is_token(member)) return false;
      members.push_back(lowered(member));
    }
  }
  return true;
}

Expected<FoundFraming, FieldTrouble> read_framing(const Fields& fields, int minor_version) {
  const Field* length = nullptr;
  const Field* coding = nullptr;
  for (const Field& field : fields) {
    const bool is_length = same_word(field.name, "Content-Length");
    const bool is_coding = same_word(field.name, "Transfer-Encoding");
    if ((is_length && length != nullptr) || (is_coding && coding != nullptr)) {
      return Unexpected{FieldTrouble{
          Problem::bad_request, std::string(is_length ? "Content-Length" : "Transfer-Encoding") +
                                    " is there more than once."}};
    }
    if (is_length) length = &field;
    if (is_coding) coding = &field;
  }
  if (length != nullptr && coding != nullptr) {
    return Unexpected{FieldTrouble{Problem::bad_request,
                                   "Content-Length and Transfer-Encoding contradict each other."}};
  }
  if (coding != nullptr) return read_transfer_encoding(coding->value, minor_version);
  if (length == nullptr) return FoundFraming{};
  const std::optional<std::uint64_t> number = read_decimal(length->value);
  if (!number) {
    return Unexpected{FieldTrouble{Problem::bad_request,
                                   "Content-Length must be one decimal number of 64 bits."}};
  }
  return FoundFraming{Framing::length, *number, true};
}

}  // namespace pawl::http
