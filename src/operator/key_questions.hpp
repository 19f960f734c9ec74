// What an operator asks about keys: lists, and everything that is known of one.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "src/operator/key_history.hpp"
#include "src/operator/key_ports.hpp"
#include "src/operator/key_search.hpp"

namespace pawl {

// The list of that name; `dead`, whatever the name is.
OrRefusal<Listed> list_named(const std::string& status, bool dead);

struct KeyList {
  Instant now{};
  std::vector<ListedKey> keys;  // the oldest first
  bool whole = true;            // false: there may be more
};
Task<OrRefusal<KeyList>> list_keys(KeyPorts ports, Listed which, std::size_t keys_max);

// A key by its name, or by what a line of the log says of it.
struct KeyQuestion {
  std::string key;
  std::string scope;  // empty: whichever has it
  std::string hash;
  std::string request_id;
  std::size_t scan = KeySearch{}.keys_max;  // records to look through for the latter two
  std::string store;                        // as it was named: for the commands that are suggested
};
std::optional<Refusal> check_question(const KeyQuestion& question);

struct ExplainedKey {
  KeyFacts facts;
  // Of the request that was searched for, where it is not the last one; else 0.
  int earlier_attempt = 0;
  // False: nothing at all is on record.
  [[nodiscard]] bool is_known() const;
};
// A search that found none, or several.
struct AmbiguousKey {
  FoundKeys found;
  KeySearch search;
};
using Explanation = std::variant<ExplainedKey, AmbiguousKey>;
Task<OrRefusal<Explanation>> explain_key(KeyPorts ports, KeyQuestion question);

}  // namespace pawl
