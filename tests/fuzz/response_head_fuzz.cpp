// Any bytes as an upstream's answer: what is accepted and written out again means the same, and is
// one answer. A connection is kept exactly if both sides want it and nobody can be in doubt where
// the answer ends: one that has a body names its length or coding, one that can have none names
// neither.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "pawl/types/check.hpp"
#include "src/adapters/http/forwarding.hpp"
#include "src/adapters/http/syntax.hpp"

namespace pawl::http {
namespace {

constexpr std::size_t bytes_max = 4096;

using End = Expected<std::optional<std::size_t>, Refusal>;

bool same(const End& a, const End& b) {
  if (a.has_value() != b.has_value()) return false;
  return a ? *a == *b : a.error().detail == b.error().detail;
}

End scan_byte_by_byte(std::string_view bytes) {
  HeadScanner scanner(bytes_max);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    End end = scanner.scan(bytes.substr(0, size));
    if (!end || *end) return end;
  }
  return scanner.scan(bytes);
}

bool has_no_body(int status) { return status < 200 || status == 204 || status == 304; }

bool lists(const ResponseHead& head, std::string_view option) {
  return std::ranges::find(head.connection, option) != head.connection.end();
}

void check_kept(const ResponseHead& head, bool bodiless) {
  const bool wanted = head.minor_version == 1 ? !lists(head, "close") : lists(head, "keep-alive");
  const bool names_body = find(head.fields, "Content-Length").has_value() ||
                          find(head.fields, "Transfer-Encoding").has_value();
  PAWL_CHECK(head.keep_alive == (wanted && names_body != bodiless));
  PAWL_CHECK((head.framing == Framing::none) == bodiless);
  PAWL_CHECK((head.framing == Framing::until_close) == (!bodiless && !names_body));
}

void check_written_again(const ResponseHead& head) {
  Response response{.status = head.status, .headers = end_to_end(head), .body = "12345"};
  std::string out;
  append_answer_head(out, response, AnswerOptions{});
  HeadScanner scanner(2 * bytes_max);
  const End end = scanner.scan(out);
  PAWL_CHECK(end && *end == out.size());
  const auto again = parse_response_head(out, /*to_head=*/false, HeadLimits{});
  PAWL_CHECK(again);
  PAWL_CHECK(again->status == head.status);
  PAWL_CHECK(again->connection.empty());
  const bool bodiless = has_no_body(head.status);
  check_kept(*again, bodiless);
  // Nobody writes an interim answer as the answer: it would end its connection.
  PAWL_CHECK(again->keep_alive == (head.status >= 200));
  PAWL_CHECK(again->framing == (bodiless ? Framing::none : Framing::length));
  PAWL_CHECK(bodiless || again->length == 5);
  for (const Header& header : response.headers) {
    PAWL_CHECK(find(again->fields, header.name).has_value());
  }
}

void check_answer(std::string_view bytes) {
  HeadScanner scanner(bytes_max);
  const End end = scanner.scan(bytes);
  PAWL_CHECK(same(end, scan_byte_by_byte(bytes)));
  if (!end || !*end) return;
  PAWL_CHECK(**end <= bytes_max);
  const std::string_view text = bytes.substr(0, **end);
  const auto to_post = parse_response_head(text, /*to_head=*/false, HeadLimits{});
  const auto to_head = parse_response_head(text, /*to_head=*/true, HeadLimits{});
  PAWL_CHECK(to_post.has_value() == to_head.has_value());
  if (!to_post) {
    PAWL_CHECK(!to_post.error().empty());
    return;
  }
  check_kept(*to_post, has_no_body(to_post->status));
  check_kept(*to_head, /*bodiless=*/true);
  for (const Field& field : to_post->fields) {
    PAWL_CHECK(is_token(field.name) && is_field_value(field.value));
  }
  check_written_again(*to_post);
}

}  // namespace
}  // namespace pawl::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(data, data + size);
  pawl::http::check_answer(bytes);
  return 0;
}
