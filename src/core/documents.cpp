#include "src/core/documents.hpp"

#include <cstdio>

#include "src/core/encoding.hpp"
#include "src/core/json_writer.hpp"

namespace pawl {
namespace {

bool is_text(std::string_view bytes) { return json::read(json::quote(bytes)).has_value(); }

// HTTP allows any bytes from 0x80 on in a field and says nothing of what they mean; what is not
// UTF-8 is mostly ISO 8859-1.
std::string text_of_field(const std::string& value) {
  if (is_text(value)) return value;
  std::string text;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xC0U | byte >> 6U);
      text += static_cast<char>(0x80U | (byte & 0x3FU));
    }
  }
  return text;
}

}  // namespace

std::string timestamp(Instant instant) {
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(instant - day);
  char text[40];
  std::snprintf(text, sizeof text, "\"%04d-%02u-%02uT%02d:%02d:%02d.%06dZ\"",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()),
                static_cast<int>(time.subseconds().count()));
  return text;
}

std::string stored_response(const StoredResponse& response) {
  std::string headers = "[";
  for (const Header& header : response.headers) {
    if (headers.size() > 1) headers += ',';
    headers +=
        "[" + json::quote(header.name) + "," + json::quote(text_of_field(header.value)) + "]";
  }
  JsonObject out;
  out.number("status", response.status).raw("headers", headers + "]");
  if (!response.body) return out.flag("body_withheld", true).done();
  // Any bytes may be an answer; JSON text may not be any bytes.
  if (is_text(*response.body)) return out.text("body", *response.body).done();
  return out.text("body_base64", to_base64(*response.body)).done();
}

}  // namespace pawl
