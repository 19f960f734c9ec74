// What happened to one key, in plain words: for whoever is called at night.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pawl/ports/cases.hpp"

namespace pawl::gateway {

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
  Instant now{};
};

std::string key_story(const KeyFacts& facts);
std::string key_story_json(const KeyFacts& facts);

std::string key_list(const std::vector<ListedKey>& keys, Instant now);
std::string key_list_json(const std::vector<ListedKey>& keys);

}  // namespace pawl::gateway
