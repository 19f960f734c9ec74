// Any bytes as a chunked body: decoded alike however they arrive, to an end that no byte less has.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "pawl/types/check.hpp"
#include "src/adapters/http/read_for_tests.hpp"

namespace pawl::http {
namespace {

void check_chunks(std::string_view bytes) {
  const Verdict whole = read_chunks(bytes, 0, at_once(bytes));
  PAWL_CHECK(read_chunks(bytes, 0, byte_by_byte(bytes)) == whole);
  const std::size_t step = 1 + bytes.size() / 64;
  for (std::size_t at = 1; at < bytes.size(); at += step) {
    PAWL_CHECK(read_chunks(bytes, 0, split_at(bytes, at)) == whole);
  }
  PAWL_CHECK(whole.body.size() <= bytes.size());
  if (whole.status != Verdict::accepted) return;
  const std::string_view used = bytes.substr(0, whole.used);
  PAWL_CHECK(read_chunks(used, 0, at_once(used)) == whole);
  const std::string_view cut = used.substr(0, used.size() - 1);
  PAWL_CHECK(read_chunks(cut, 0, at_once(cut)).status == Verdict::cut_off);
}

}  // namespace
}  // namespace pawl::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(data, data + size);
  pawl::http::check_chunks(bytes);
  return 0;
}
