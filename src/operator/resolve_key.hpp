// An operator says what became of a key whose outcome is unknown.
#pragma once

#include <optional>
#include <string>

#include "src/engine/engine.hpp"
#include "src/operator/key_ports.hpp"

namespace pawl {

struct ResolveOrder {
  KeyName name;
  // What was found: one of the two.
  bool completed = false;
  bool not_executed = false;
  // Of a completed one: what its client is to be given.
  int response_status = 0;
  std::optional<std::string> body;
  std::string content_type;  // of the body, where there is one
  // Of the attempt that was investigated; nothing: not said.
  std::optional<Fence> fence;
  OrderedBy by;
};

// What is wrong with the order itself; nothing where it can be meant.
std::optional<Refusal> check_resolve(const ResolveOrder& order);

struct ResolvedKey {
  Record record;
  // The record is resolved, and its reconciliation case could not be told: a sentence. Else empty.
  std::string warning;
};
Task<OrRefusal<ResolvedKey>> resolve_key(KeyPorts ports, Engine& engine, ResolveOrder order);

// "resolved: it is now completed"
std::string resolved_text(const ResolvedKey& resolved);

}  // namespace pawl
