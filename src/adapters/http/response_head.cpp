#include <algorithm>

#include "src/adapters/http/fields.hpp"
#include "src/adapters/http/syntax.hpp"

namespace pawl::http {
namespace {

// "HTTP/1.x 200 reason"; the reason may be empty and is not kept.
bool read_status_line(std::string_view line, ResponseHead& head) {
  if (line.size() < 12 || !line.starts_with("HTTP/1.") || !is_digit(line[7]) || line[8] != ' ') {
    return false;
  }
  if (line.size() > 12 && line[12] != ' ') return false;
  const std::optional<std::uint64_t> status = read_decimal(line.substr(9, 3));
  if (!status || *status < 100 || *status > 599) return false;
  if (!is_field_value(line.substr(12))) return false;
  head.minor_version = line[7] == '0' ? 0 : 1;
  head.status = static_cast<int>(*status);
  return true;
}

}  // namespace

Expected<ResponseHead, std::string> parse_response_head(std::string_view bytes, bool to_head,
                                                        const HeadLimits& limits) {
  ResponseHead head;
  const std::size_t line_end = bytes.find("\r\n");
  if (!read_status_line(bytes.substr(0, line_end), head)) {
    return Unexpected{std::string("the status line is not HTTP/1.1")};
  }
  head.fields.reserve(16);
  const std::string_view lines = bytes.substr(line_end + 2, bytes.size() - line_end - 4);
  if (auto trouble =
          read_fields(lines, limits.field_count_max, BlanksBeforeColon::dropped, head.fields)) {
    return Unexpected{std::move(trouble->what)};
  }
  if (!read_connection(head.fields, head.connection)) {
    return Unexpected{std::string("Connection is not a list of names")};
  }
  Expected<FoundFraming, FieldTrouble> framing = read_framing(head.fields, head.minor_version);
  if (!framing) return Unexpected{std::move(framing.error().what)};
  const auto lists = [&](std::string_view name) {
    return std::ranges::find(head.connection, name) != head.connection.end();
  };
  head.keep_alive = head.minor_version == 1 ? !lists("close") : lists("keep-alive");
  const bool bodiless = to_head || head.status < 200 || head.status == 204 || head.status == 304;
  if (bodiless) {
    // Whoever names a body here may send one as well, later: it would be the next one's answer.
    if (framing->given) head.keep_alive = false;
    return head;
  }
  head.framing = framing->given ? framing->framing : Framing::until_close;
  head.length = framing->length;
  if (head.framing == Framing::until_close) head.keep_alive = false;
  return head;
}

}  // namespace pawl::http
