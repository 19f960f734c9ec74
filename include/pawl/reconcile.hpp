// Unknown is not a place to stay: what became of a request is asked of your own code.
//
//   pawl::Reconciler reconciler(node, {.route = "payments"}, [&](const pawl::Doubt& doubt) {
//     const auto charge = provider.find(doubt.derived_key);
//     if (!charge) return pawl::Told(pawl::NeverSeen{});
//     return pawl::Told(pawl::Happened{{201, {}, charge->json}});
//   });
//
// It asks and resolves, and never executes anything. docs/reconciliation.md says what follows from
// the answers, and what an operator does about those that nobody can give.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "pawl/core/http.hpp"
#include "pawl/core/record.hpp"
#include "pawl/core/time.hpp"
#include "pawl/node.hpp"

namespace pawl {

// A request of which nobody here knows what became.
struct Doubt {
  Scope scope;
  std::string caller;  // of whom it is, as given to `handle`
  Key key;
  std::string derived_key;  // of scope and key: what a provider may have been sent instead of it
  std::string method;
  std::string path;
  // Of a flow: the phase whose call is in doubt, and the key that call was sent with; else empty.
  std::string phase;
  std::string call_key;
  int attempt = 1;
  Instant created_at{};
  Instant began_at{};  // when the attempt in doubt began: what happened before is another attempt's
};

// It happened, or it was declined: this is the answer, from now on. Where several attempts were
// made, a decline is believed only once what the last one did must be visible: before,
// it may be an earlier attempt's. Of a flow it is the answer to the call in doubt: its phase
// records it, and the phases that are left are run.
struct Happened {
  Response response;
  // Final, and nothing happened, whatever the response's status is. 4xx and 5xx mean it anyway.
  bool declined = false;
};
// It was never seen. Believed only late enough and often enough: see ReconcilerOptions.
struct NeverSeen {};
// Not known yet, or it could not be asked.
struct StillUnknown {
  std::string why;
};
using Told = std::variant<Happened, NeverSeen, StillUnknown>;

struct ReconcilerOptions {
  std::string route;               // the Middleware's or the Flow's name
  std::string source = "library";  // what the case and the audit call whoever was asked
  // How long after the last moment at which the request could act it may not be seen although it
  // is there. Generously: if it is too short, it is executed twice.
  Duration visibility_window = std::chrono::minutes(5);
  int absent_confirmations = 2;  // how often NeverSeen must be said after that, in a row
  int max_attempts = 20;         // then it is a dead letter: `pawl keys list --status dead`
  Duration backoff = std::chrono::seconds(10);  // doubled per attempt
  Duration backoff_max = std::chrono::hours(1);
  Duration ask_limit = std::chrono::seconds(30);  // for so long no other node asks
  Duration every = std::chrono::seconds(1);       // how often is looked for some
};

struct ReconcileReport {
  std::size_t asked = 0;
  std::size_t completed = 0;  // an answer was found
  std::size_t released = 0;   // found not executed: the next request with the key runs
  std::size_t dead = 0;
};

// A thread that asks, for as long as this lives. Any number of nodes may have one: one asks at a
// time.
class Reconciler {
 public:
  // Blocks as long as it must, on the reconciler's thread. What it throws counts as StillUnknown.
  using Ask = std::function<Told(const Doubt&)>;

  // Throws std::invalid_argument.
  Reconciler(Node node, ReconcilerOptions options, Ask ask);
  // Waits for the question under way.
  ~Reconciler();
  Reconciler(const Reconciler&) = delete;
  Reconciler& operator=(const Reconciler&) = delete;

  // One pass now, on the caller's thread.
  ReconcileReport reconcile();

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace pawl
