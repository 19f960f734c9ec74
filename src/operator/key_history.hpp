// What happened to one key, in plain words: for the operator on call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/operator/key_search.hpp"
#include "src/ports/reconciliation_store.hpp"

namespace pawl {

// Everything that is on record about a key. The record itself may be gone.
struct KeyFacts {
  Scope scope;
  Key key;
  std::optional<Record> record;
  std::optional<Case> about;
  std::vector<CaseNote> notes;
  std::vector<AuditRow> audit;
  std::vector<LateEvidence> evidence;
  std::vector<WebhookEvent> events;
  ScopesOfKey elsewhere;  // looked for where this scope has no record
  // The store was put back from a backup: what was used until then, since it was made, is
  // forgotten.
  std::optional<Instant> forgotten_since;
  std::string store;  // as it was named: for the commands that are suggested
  Instant now{};
};

std::string key_history(const KeyFacts& facts);
std::string key_history_json(const KeyFacts& facts);

// A search that found none, or several.
std::string found_keys(const FoundKeys& found, const KeySearch& search, const std::string& store);
std::string found_keys_json(const FoundKeys& found);

std::string key_list(const std::vector<ListedKey>& keys, Instant now);
std::string key_list_json(const std::vector<ListedKey>& keys);

}  // namespace pawl
