// How a record looks while its answer or its request is sealed: encrypted at rest. Stores keep it
// as they keep any other; only src/adapters/sealed makes and opens it, and nothing above that sees
// it.
#pragma once

#include <string>
#include <string_view>

#include "pawl/types/json.hpp"
#include "pawl/types/record.hpp"
#include "src/core/sha256.hpp"

namespace pawl {

// 100 and the version of what is inside. Whatever does not know it takes the row for one of a
// later version, which is never replayed.
inline constexpr int sealed_response_version = 100 + response_schema_version;

// In place of a target, which begins with '/' where it is one.
inline constexpr std::string_view sealed_target = "pawl:sealed";

inline bool is_sealed(const StoredResponse& response) {
  return response.schema_version == sealed_response_version;
}
inline bool is_sealed(const StoredRequest& request) { return request.target == sealed_target; }

// The head of a stored request that is sealed has this member too, with the version of what is
// inside. Whatever does not know it takes the row for one of a later version, which is never sent.
inline constexpr std::string_view sealed_member = "sealed";
inline constexpr int sealed_request_version = 1;

// Has the head of a stored request the members that it must have, and no others?
inline bool has_members_of_request(const json::Value& head) {
  const json::Value* const target = head.find("target");
  const bool sealed = target != nullptr && target->text == sealed_target;
  const json::Value* const version = head.find(sealed_member);
  if (version == nullptr) return head.members.size() == 2;
  return sealed && head.members.size() == 3 && version->kind == json::Kind::number &&
         version->text == std::to_string(sealed_request_version);
}

// What an outbox row keeps of a body that is sealed: the same message enqueued again has the same.
inline std::string sealed_digest(std::string_view row_id, std::string_view body) {
  return hex(sha256(std::string(row_id).append(body)));
}

}  // namespace pawl
