// Requests that are malformed, ambiguous or merely unusual, and what becomes of each: one list for
// the parser's tests, the running gateway's tests and the fuzzers' first inputs.
//
// Numbered as in the list of the design: A request line, B header section, C Content-Length,
// D Transfer-Encoding, E chunked body, F target and Host, G connection control.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::testing {

struct RawRequest {
  std::string row;    // "A8_2": the second form of row A8
  std::string bytes;  // as they go on the wire
  int status = 0;     // that refuses it; or one of those below

  static constexpr int accepted = 0;
  static constexpr int cut_off = -1;  // no verdict possible: more bytes would be needed
};

std::vector<RawRequest> bad_request_lines();       // A
std::vector<RawRequest> bad_header_sections();     // B
std::vector<RawRequest> bad_content_lengths();     // C
std::vector<RawRequest> bad_transfer_encodings();  // D
std::vector<RawRequest> bad_chunks();              // E
std::vector<RawRequest> bad_targets();             // F
std::vector<RawRequest> bad_connections();         // G

// gtest prints a row by its number.
inline void PrintTo(const RawRequest& request, std::ostream* out) { *out << request.row; }

// All of them.
std::vector<RawRequest> bad_requests();

// The key that a row's request carries, wherever the row is not about the key.
std::string key_of(std::string_view row);

}  // namespace pawl::testing
