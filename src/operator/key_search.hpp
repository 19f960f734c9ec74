// From a line of the log to the record it is about.
//
// Neither a key's hash nor a request's id is stored: both are derived from what a record has, so a
// bounded walk through the records finds them, and no request pays for an index.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/operator/refusal.hpp"
#include "src/ports/key_directory.hpp"

namespace pawl {

struct KeySearch {
  std::string hash;            // of a key, or how it begins: the log's key_hash
  std::string request_id;      // of an execution: the log's request_id or execution
  std::optional<Scope> scope;  // only in this one
  std::size_t keys_max = 10'000'000;
};

struct FoundKey {
  KeyRef key;
  int attempt = 0;  // whose id it is; 0: it was searched for by its hash
};

struct FoundKeys {
  std::vector<FoundKey> keys;
  std::size_t seen = 0;
  bool whole = true;  // false: there are more than `keys_max`
};

Task<OrRefusal<FoundKeys>> search_keys(KeyDirectory& directory, KeySearch search);

// What they look like: 12 hexadecimal digits, and what Pawl-Request-Id has.
bool looks_like_hash(std::string_view text);
bool looks_like_request_id(std::string_view text);
// An id of a request that executed nothing; it is in the log and nowhere else.
bool is_of_no_execution(std::string_view request_id);

}  // namespace pawl
