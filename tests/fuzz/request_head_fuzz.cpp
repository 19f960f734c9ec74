// Any bytes as an HTTP request: read alike however they arrive, and what is accepted is read by the
// next gateway as it was read here.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "pawl/types/check.hpp"
#include "src/adapters/http/forwarding.hpp"
#include "src/adapters/http/read_for_tests.hpp"
#include "src/adapters/http/syntax.hpp"

namespace pawl::http {
namespace {

constexpr HeadLimits small{.head_bytes_max = 512, .field_count_max = 8, .target_bytes_max = 64};

void check_arrivals(std::string_view bytes, const HeadLimits& limits) {
  const Verdict whole = read_request(bytes, at_once(bytes), limits);
  PAWL_CHECK(read_request(bytes, byte_by_byte(bytes), limits) == whole);
  for (const std::size_t at : {bytes.size() / 3, bytes.size() / 2, bytes.size() - 1}) {
    PAWL_CHECK(read_request(bytes, split_at(bytes, at), limits) == whole);
  }
  PAWL_CHECK(whole.used <= bytes.size());
  if (whole.status != Verdict::accepted) return;
  // Complete means complete: no byte less would do, and none more is looked at.
  PAWL_CHECK(read_request(bytes.substr(0, whole.used), {whole.used}, limits) == whole);
  const Verdict cut = read_request(bytes.substr(0, whole.used - 1), {whole.used - 1}, limits);
  PAWL_CHECK(cut.status == Verdict::cut_off);
}

std::string forwarded(const RequestHead& head) {
  ForwardOptions options;
  options.pseudonym = "pawl-fuzz";
  options.client = "192.0.2.1";
  options.default_host = "upstream:80";
  std::string out;
  append_request(out, head, options);
  if (head.framing == Framing::length) {
    append_field(out, "Content-Length", std::to_string(head.length));
  }
  if (head.framing == Framing::chunked) append_field(out, "Transfer-Encoding", "chunked");
  return out + "\r\n";
}

void check_forwarding(std::string_view bytes) {
  HeadScanner scanner(HeadLimits{}.head_bytes_max);
  const auto end = scanner.scan(bytes);
  if (!end || !*end) return;
  const auto head = parse_request_head(bytes.substr(0, **end), HeadLimits{});
  if (!head) {
    PAWL_CHECK(!head.error().detail.empty());
    return;
  }
  const std::string out = forwarded(*head);
  HeadScanner again_scanner(2 * HeadLimits{}.head_bytes_max);
  const auto again_end = again_scanner.scan(out);
  PAWL_CHECK(again_end && *again_end == out.size());
  HeadLimits roomier;
  roomier.field_count_max += 8;
  const auto again = parse_request_head(out, roomier);
  PAWL_CHECK(again);
  PAWL_CHECK(again->method == head->method);
  PAWL_CHECK(again->path == head->path);
  PAWL_CHECK(again->query == head->query && again->has_query == head->has_query);
  PAWL_CHECK(again->host == (head->host.empty() ? "upstream:80" : head->host));
  PAWL_CHECK(again->framing == head->framing && again->length == head->length);
  PAWL_CHECK(again->connection.empty() && !again->expects_continue);
  PAWL_CHECK(is_loop(*again, "pawl-fuzz"));
  for (const Field& field : again->fields) {
    PAWL_CHECK(!starts_with_word(field.name, "Pawl-"));
    const bool framing = same_word(field.name, "Transfer-Encoding");
    PAWL_CHECK(framing || !is_hop_by_hop(field.name, {}));
  }
}

}  // namespace
}  // namespace pawl::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(data, data + size);
  pawl::http::check_arrivals(bytes, {});
  pawl::http::check_arrivals(bytes, pawl::http::small);
  pawl::http::check_forwarding(bytes);
  return 0;
}
