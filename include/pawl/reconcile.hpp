// Resolves unknown outcomes: your own code is asked what became of a request.
//
//   const auto ask = [&](const pawl::UnknownOutcome& unknown) -> pawl::LookupAnswer {
//     const auto charge = provider.find(unknown.derived_key);
//     if (!charge) return pawl::NeverSeen{};
//     return pawl::Happened{{201, {}, charge->json}};
//   };
//   pawl::Reconciler reconciler(node, {.route = "payments"}, ask);
//
// It asks and resolves, and never executes anything. docs/reconciliation.md says what follows from
// the answers, and what an operator does about dead letters.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "pawl/node.hpp"
#include "pawl/types/http.hpp"
#include "pawl/types/record.hpp"
#include "pawl/types/time.hpp"

namespace pawl {

// A request whose outcome is unknown.
struct UnknownOutcome {
  Scope scope;
  std::string caller;  // of whom it is, as given to `handle`
  Key key;
  std::string derived_key;  // of scope and key: what a provider may have been sent instead of it
  std::string method;
  std::string path;
  // Of a flow: the phase whose call has the unknown outcome, and the key it was sent with; else
  // empty.
  std::string phase;
  std::string call_key;
  int attempt = 1;
  Instant created_at{};
  Instant began_at{};  // when this attempt began: what happened before is another attempt's
};

// It happened, or it was declined: this is the answer, from now on. Where several attempts were
// made, a decline is believed only once what the last one did must be visible: before,
// it may be an earlier attempt's. Of a flow it is the answer to the call whose outcome is
// unknown: its phase records it, and the phases that are left are run.
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
using LookupAnswer = std::variant<Happened, NeverSeen, StillUnknown>;

struct ReconcilerOptions {
  std::string route;               // the Middleware's or the Flow's name
  std::string source = "library";  // what the reconciliation case and the audit call it
  // How long after the last moment at which the request could act it may not be seen although it
  // is there. Generously: if it is too short, it is executed twice.
  Duration visibility_window = std::chrono::minutes(5);
  int absent_confirmations = 2;  // how often NeverSeen must be said after that, in a row
  int max_attempts = 20;         // then it is a dead letter: `pawl keys list --status dead`
  Duration backoff = std::chrono::seconds(10);  // doubled per attempt
  Duration backoff_max = std::chrono::hours(1);
  Duration ask_limit = std::chrono::seconds(30);  // for so long no other node asks
  Duration every = std::chrono::seconds(1);       // how often unknown outcomes are polled for
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
  using Ask = std::function<LookupAnswer(const UnknownOutcome&)>;

  // Throws std::invalid_argument.
  Reconciler(Node node, ReconcilerOptions options, Ask ask);
  // Waits for the question under way.
  ~Reconciler();
  Reconciler(const Reconciler&) = delete;
  Reconciler& operator=(const Reconciler&) = delete;

  // One poll now, on the caller's thread.
  ReconcileReport reconcile();

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace pawl
