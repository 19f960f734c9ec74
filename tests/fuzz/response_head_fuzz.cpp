// Any bytes as an upstream's answer: what is accepted and written out again means the same, and is
// one answer.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "pawl/core/check.hpp"
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
  PAWL_CHECK(again->connection.empty() && again->keep_alive);
  const bool bodiless = head.status < 200 || head.status == 204 || head.status == 304;
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
  PAWL_CHECK(to_head->framing == Framing::none);
  PAWL_CHECK(to_post->framing != Framing::until_close || !to_post->keep_alive);
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
