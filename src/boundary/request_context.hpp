// One guarded request on its way to its one answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pawl/types/fingerprint.hpp"
#include "pawl/types/record.hpp"
#include "src/boundary/limits.hpp"
#include "src/boundary/replay_cache.hpp"
#include "src/core/boundary_policy.hpp"
#include "src/core/decision.hpp"
#include "src/core/render.hpp"
#include "src/ports/memory_budget.hpp"

namespace pawl {

// What will be said about it in the log.
struct RequestTrace {
  std::string_view decision;  // a name of DecisionKind; empty: none was made
  std::string_view evidence;  // not_sent, sent, answered; empty: nothing was to be sent
  std::string execution;      // the request whose answer was given again, or stands in the way
  std::string trouble;        // what went wrong, in our words
};

// The views belong to the caller and outlive the request.
class RequestContext {
 public:
  RequestContext(const BoundaryPolicy& held_to, const FingerprintSecrets& known, MemoryBudget* from)
      : policy(held_to), secrets(known), memory(from) {}
  virtual ~RequestContext() = default;
  RequestContext(const RequestContext&) = delete;
  RequestContext& operator=(const RequestContext&) = delete;

  // A client that has hung up is not waited for.
  [[nodiscard]] virtual bool client_is_gone() { return false; }
  // What is kept with the record for a worker, or for a flow that is resumed. It is a copy of the
  // body; whether there is any can be asked without.
  [[nodiscard]] virtual bool is_stored() const { return false; }
  [[nodiscard]] virtual std::optional<StoredRequest> to_store() const { return std::nullopt; }

  const BoundaryPolicy& policy;
  const FingerprintSecrets& secrets;

  std::string_view route_name;
  std::string_view method;
  std::string_view path;
  std::string_view query;
  std::string_view content_type;
  std::string path_at_host;  // what is hashed as the path, where hosts are told apart
  std::string body;

  Scope scope;
  Key key;
  std::string_view key_as_sent;
  Fingerprint fingerprint;
  // Where no caller was chosen: a digest of the credentials that came, and what a record of this
  // key keeps of them. Empty otherwise.
  std::string client;
  std::string credentials;
  bool source_is_asked = false;  // a source is asked what became of it, and does not only tell
  std::string status_url;        // where the key's state can be read, on routes that answer 202

  std::int64_t purge_epoch = 0;          // as known before the store was asked
  std::optional<DecisionKind> decided;   // when the record was last read
  SharedRecord record;                   // what was decided on, or became of it; null: from memory
  std::optional<Duration> lease_left;    // where it is in flight
  std::optional<Duration> usually_left;  // by what requests of its route take
  std::optional<Problem> refused_as;     // a problem of ours was the answer
  bool is_near_duplicate = false;        // of a request under another key
  // Why no new work may be made of it, because it was made too long ago; empty: it was not.
  std::string stale;
  std::optional<LimitStanding> limit;  // how its scope stands, where the route has limits
  RequestTrace trace;
  std::string id;          // of this request alone; empty: none was needed yet
  std::string request_id;  // of the answer: the execution that produced it, or `id`

  // What is held for it: its body, room for an answer, later the answer alone.
  Charge memory;
  // Another attempt has begun since: it may have been executed twice.
  bool superseded = false;
  // The answer is larger than what is stored: its body is where the execution has it.
  bool withheld_answer = false;
  // The body of an answer that is shared with others who are given it, and with the cache.
  std::shared_ptr<const Cached> replay;
  std::shared_ptr<const Charge> loan;

  [[nodiscard]] RequestContent content() const;
  // Does a stored fingerprint mean this request, under the rules of then?
  [[nodiscard]] bool is_what_was_meant(const Fingerprint& stored,
                                       const FingerprintRules& rules) const;
  [[nodiscard]] Dialect dialect() const;
};

}  // namespace pawl
