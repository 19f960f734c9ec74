// Any bytes as a PROXY header: read alike however they arrive, within its bounds, and never with
// bytes that are not its own.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "pawl/types/check.hpp"
#include "src/adapters/http/proxy_header.hpp"

namespace pawl::http {
namespace {

void check_header(std::string_view bytes) {
  const auto whole = read_proxy_header(bytes);
  if (whole && !*whole) {
    PAWL_CHECK(bytes.size() < proxy_header_bytes_max);
    return;
  }
  // As it arrives byte by byte, the first that is not "more" is what it is.
  std::size_t arrived = 0;
  auto first = read_proxy_header({});
  while (first && !*first && arrived < bytes.size()) {
    first = read_proxy_header(bytes.substr(0, ++arrived));
  }
  PAWL_CHECK(first.has_value() == whole.has_value());
  if (!whole) return;
  const ProxyHeader& header = **whole;
  PAWL_CHECK(arrived == header.bytes && (*first)->bytes == header.bytes);
  PAWL_CHECK(header.bytes > 0 && header.bytes <= proxy_header_bytes_max);
  PAWL_CHECK((*first)->source.has_value() == header.source.has_value());
  if (!header.source) return;
  const std::string address = to_text(*header.source);
  PAWL_CHECK(to_text(*(*first)->source) == address);
  PAWL_CHECK(IpAddress::parse(address).has_value());
}

}  // namespace
}  // namespace pawl::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(data, data + size);
  pawl::http::check_header(bytes);
  return 0;
}
