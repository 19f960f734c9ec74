// A source: whoever knows what became of a request whose outcome is unknown. It is asked, and does
// nothing else.
#pragma once

#include <string>
#include <variant>

#include "pawl/types/outcome.hpp"
#include "pawl/types/record.hpp"
#include "pawl/types/time.hpp"
#include "src/ports/task.hpp"

namespace pawl {

// What it is asked about: a record, or a call of the outbox.
struct SourceQuestion {
  Scope scope;
  Key key;
  std::string resource_id;         // what an answer called what it made; empty: not known
  std::string derived_key;         // of scope and key
  const Record* record = nullptr;  // none: a call of the outbox. Outlives the question
  SettleOptions settle;            // of what may be stored of the answer
};

// There it is: the answer from now on.
struct SourceFound {
  StoredResponse response;
  bool happened = true;  // the effect is there; else declined, and nothing happened
};
struct SourceNeverSeen {};
// It answered, and cannot say yet.
struct SourceStill {
  std::string why;
};
// It could not be asked, or its answer says nothing.
struct SourceFailed {
  std::string why;
  bool hopeless = false;  // it can never be asked about this one
};
using SourceFinding = std::variant<SourceFound, SourceNeverSeen, SourceStill, SourceFailed>;

struct SourceReply {
  SourceFinding finding;
  std::string said;  // what it said, for the notes: "answered 404"; empty: nothing of note
};

class Source {
 public:
  virtual ~Source() = default;
  // Ends by `deadline` with a reply of some kind, unless it blocks its thread for longer.
  virtual Task<SourceReply> ask(SourceQuestion question, BootTime deadline) = 0;
};

}  // namespace pawl
