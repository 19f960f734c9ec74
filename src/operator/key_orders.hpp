// What else an operator orders about one key. Each is written with its audit entry, in one commit.
#pragma once

#include <string>

#include "src/operator/key_ports.hpp"

namespace pawl {

// Deletes the record of a key that is finished. `forget_answer`: of a completed one too, although a
// retry then executes it again.
struct PurgeOrder {
  KeyName name;
  bool forget_answer = false;
  OrderedBy by;
};
Task<OrRefusal<Done>> purge_key(KeyPorts ports, PurgeOrder order);

// Accepted work that is out of attempts: queued again, or given up for good. What its record is
// then.
enum class DeadLetterAction { retry, discard };
struct DeadLetterOrder {
  KeyName name;
  DeadLetterAction action = DeadLetterAction::retry;
  OrderedBy by;
};
Task<OrRefusal<Status>> handle_dead_letter(KeyPorts ports, DeadLetterOrder order);
// "retried: it is now pending"
std::string dead_letter_text(DeadLetterAction action, Status became);

// An unknown key whose source is no longer asked: it is asked again, as if for the first time.
struct ReopenOrder {
  KeyName name;
  OrderedBy by;
};
Task<OrRefusal<Done>> reopen_key(KeyPorts ports, ReopenOrder order);

}  // namespace pawl
