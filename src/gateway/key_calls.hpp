// The bodies of the key API's calls: strict JSON in, one call out, or a sentence that says where it
// is wrong and what would be right.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pawl/types/expected.hpp"
#include "pawl/types/http.hpp"
#include "pawl/types/names.hpp"
#include "pawl/types/record.hpp"

namespace pawl::gateway {

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

}  // namespace pawl::gateway

namespace pawl {

template <>
struct Names<gateway::KeyVerb> {
  static constexpr NameTable<gateway::KeyVerb, 5> table{{{gateway::KeyVerb::reserve, "reserve"},
                                                         {gateway::KeyVerb::advance, "advance"},
                                                         {gateway::KeyVerb::complete, "complete"},
                                                         {gateway::KeyVerb::release, "release"},
                                                         {gateway::KeyVerb::renew, "renew"}}};
};

}  // namespace pawl
