// The head of an HTTP/1.1 message: parsed once, strictly, from a complete section of bytes.
//
// A gateway that hashes, reserves and then forwards must never read a message in another way than
// its upstream does. So whatever is ambiguous is refused, and what is forwarded is written anew
// from these parts, never copied from the received bytes. RFC 9112 where it leaves no choice, the
// stricter side where it does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/expected.hpp"
#include "src/core/render.hpp"

namespace pawl::http {

// A view into the buffer that was parsed.
struct Field {
  std::string_view name;
  std::string_view value;  // without the blanks around it
};
using Fields = std::vector<Field>;

// The first value of that name, compared without case.
std::optional<std::string_view> find(const Fields& fields, std::string_view name);

enum class Framing {
  none,         // no body
  length,       // Content-Length
  chunked,      // Transfer-Encoding: chunked
  until_close,  // responses only: the body ends with the connection
};

struct RequestHead {
  std::string_view method;
  std::string_view path;   // as sent, without query
  std::string_view query;  // as sent, without '?'
  bool has_query = false;
  std::string_view host;  // of the Host field or of an absolute target; empty only in HTTP/1.0
  int minor_version = 1;
  Fields fields;
  // Lower-cased names that the Connection field lists, "close" and "keep-alive" among them.
  std::vector<std::string> connection;
  Framing framing = Framing::none;
  std::uint64_t length = 0;
  bool keep_alive = true;
  bool expects_continue = false;
};

// Does one follow, for all that the head says?
inline bool has_body(const RequestHead& head) {
  return head.framing == Framing::chunked || (head.framing == Framing::length && head.length > 0);
}

// A message that is answered by us, after which the connection is closed.
struct Refusal {
  Problem problem = Problem::bad_request;
  std::string detail;
  std::optional<int> status;  // where it is not the problem's usual one
};

// The same name, also to a server that reads '_' as '-'.
bool may_be_taken_for(std::string_view name, std::string_view other);

// True where the upstream may see another value of that field than the first one, or none: it is
// there twice, under a name that some take for it ('_' for '-'), or Connection lists it.
bool is_doubtful(const RequestHead& head, std::string_view name);

struct HeadLimits {
  std::size_t head_bytes_max = std::size_t{64} << 10;
  std::size_t field_count_max = 200;
  std::size_t target_bytes_max = std::size_t{16} << 10;
};

// Where a head ends in what has arrived so far. Bytes may be added between calls.
class HeadScanner {
 public:
  explicit HeadScanner(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // Nothing: more is needed. A number: the head is the first so many bytes. A refusal: it can never
  // become a head (a bare CR or LF, too long); known as early as that.
  Expected<std::optional<std::size_t>, Refusal> scan(std::string_view so_far);

 private:
  std::size_t bytes_max_;
  std::size_t scanned_ = 0;
  std::size_t line_start_ = 0;
  bool first_line_over_ = false;
};

// `bytes`: up to and including the empty line. The result's views point into it.
Expected<RequestHead, Refusal> parse_request_head(std::string_view bytes, const HeadLimits& limits);

struct ResponseHead {
  int status = 0;
  int minor_version = 1;
  Fields fields;
  std::vector<std::string> connection;
  Framing framing = Framing::none;
  std::uint64_t length = 0;
  bool keep_alive = true;
};

// `to_head`: it answers a HEAD request, so no body follows whatever the fields say. An answer that
// can have no body and names one all the same does not keep its connection alive. The error says
// what is wrong with it.
Expected<ResponseHead, std::string> parse_response_head(std::string_view bytes, bool to_head,
                                                        const HeadLimits& limits);

}  // namespace pawl::http
