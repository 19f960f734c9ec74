// HTTP as the core sees it: fields and a response. Nothing here reads or writes a wire.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/time.hpp"

namespace pawl {

struct Header {
  std::string name;
  std::string value;
  friend bool operator==(const Header&, const Header&) = default;
};
using Headers = std::vector<Header>;

// Field names are compared without case. The first value of that name, if any.
std::optional<std::string_view> find_header(const Headers& headers, std::string_view name);
bool same_field_name(std::string_view a, std::string_view b);

struct Response {
  int status = 0;
  Headers headers;
  std::string body;
  friend bool operator==(const Response&, const Response&) = default;
};

// How long the answer asks to be left alone (RFC 9110 section 10.2.3), in seconds or by a date.
// Nothing where it does not say so in a form that can be read.
std::optional<Duration> retry_after(const Headers& headers, Instant now);

// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 section 5.6.7).
std::string imf_fixdate(Instant instant);

}  // namespace pawl
