// The bodies of the key API's calls: strict JSON in, one call out, or a sentence that says where it
// is wrong and what would be right.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "pawl/types/expected.hpp"
#include "pawl/types/http.hpp"
#include "pawl/types/names.hpp"
#include "pawl/types/record.hpp"

namespace pawl {

// An answer that is handed in may have what one from the wire may have.
inline constexpr std::size_t handed_fields_max = 200;
inline constexpr std::size_t handed_field_bytes_max = std::size_t{64} << 10;

enum class KeyVerb { reserve, advance, complete, release, renew };

struct KeyCall {
  Owner owner;
  Fence fence;  // every verb but reserve
  // reserve: what the operation means, as text of this media type.
  std::string meaning;
  std::string_view meaning_type;
  std::string after;           // advance: the recovery point that the owner holds
  std::string recovery_point;  // advance: the next one
  Response response;           // complete
  std::string reason;          // release
};

Expected<KeyCall, std::string> read_key_call(KeyVerb verb, std::string_view body);

}  // namespace pawl

namespace pawl {

template <>
struct Names<KeyVerb> {
  static constexpr NameTable<KeyVerb, 5> table{{{KeyVerb::reserve, "reserve"},
                                                {KeyVerb::advance, "advance"},
                                                {KeyVerb::complete, "complete"},
                                                {KeyVerb::release, "release"},
                                                {KeyVerb::renew, "renew"}}};
};

}  // namespace pawl
