// A flow: a request's work as named phases, each of which happens once although the process may die
// at any instruction.
//
// A transactional phase (`local`) runs in one transaction: its domain writes commit together with
// the next recovery point, or with the answer. An external-call phase (`foreign`) makes one
// external call, under a key that is stored before it is sent; its outcome commits together with
// the next recovery point. The next owner, by a retry, on another node or through the completer,
// resumes at the recovery point.
//
// That there is one side effect per phase is a matter of types: a transactional phase is given a
// Transaction and no way to call out; an external-call phase says, as a value, which one call it
// wants, and is given a Transaction only once the answer is there.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/database.hpp"
#include "pawl/http_request.hpp"
#include "pawl/node.hpp"
#include "pawl/types/fingerprint.hpp"
#include "pawl/types/outcome.hpp"
#include "pawl/types/policy.hpp"

namespace pawl {

// What phases hand on to each other. Stored with the recovery point, so keep it small (4 KiB in
// all) and keep secrets out of it.
using FlowState = std::map<std::string, std::string>;

// One run of a flow, as every phase sees it: the same on the first try and after a crash.
struct Run {
  Scope scope;
  Key key;
  HttpRequest request;  // as stored: of the headers only those in FlowOptions::request_headers
  FlowState state;
  int attempt = 1;     // 1 for the first owner; a takeover adds one
  Instant created_at;  // when the request was first accepted, by the store's clock

  // A name that is the same in every try of this request, and unique to it: for ids of rows. A key
  // that is used again after its retention is another request.
  [[nodiscard]] std::string id(std::string_view of) const;
  // Of the state; throws std::out_of_range, naming it, if no phase has set it.
  [[nodiscard]] const std::string& get(const std::string& name) const;
};

// What a phase comes to.
struct Next {
  std::optional<std::string> phase;  // advance
  std::optional<Response> response;  // respond
  FlowState state;                   // added to what was handed on so far

  Next with(std::string name, std::string value) && {
    state.insert_or_assign(std::move(name), std::move(value));
    return std::move(*this);
  }
};
// Go on with a phase that is declared further down.
Next advance(std::string phase);
// The end: this answer is stored, and replayed byte for byte from now on. Any final status.
Next respond(Response response);

// The one call of an external-call phase.
struct Outbound {
  std::string method = "POST";
  std::string path = "/";
  Headers headers = {};
  std::string body = {};
};

struct Call {
  std::string key;  // derived from scope, key and phase: what the other side dedupes by
  Outbound request;
  Duration timeout;
  // Ask with the connection open and not one byte written; if false, send nothing and say NotSent.
  // It was asked just before `send` was called; ask again if connecting may take long.
  std::function<bool()> may_send;
};

namespace detail {
class HttpCaller;
class FlowCore;
}  // namespace detail

// What an external-call phase calls.
struct Destination {
  // Sends once, never again by itself, and says what is known afterwards: NotSent if not one byte
  // was written, Lost if some were and no whole answer came back, Answered. Blocks; an exception
  // counts as Lost.
  std::function<Outcome(const Call&)> send = {};
  // Asks, without doing anything, what became of a call that was sent: its answer, or nothing where
  // that is not known. Used where the call must not be sent again.
  std::function<std::optional<Response>(const Call&)> look_up = {};
  // Does the other side do a call once however often it comes with this key, and for how long?
  // After a crash it is sent again only within that time; else it is looked up or `unknown`.
  bool dedupes = true;
  Duration dedupe_window = std::chrono::hours(24);
  // Statuses from 400 on that are always this side's final answer, although they often are not: 409
  // where it is about the order and never about the key. See docs/library.md.
  std::vector<int> final_statuses = {};

  std::shared_ptr<detail::HttpCaller> http = {};  // see http_destination
};

// A Destination that speaks HTTP/1.1 to "http://HOST[:PORT]" or "https://HOST[:PORT]": Outbound as
// it is, with the derived key as Idempotency-Key. Throws std::invalid_argument.
Destination http_destination(const Node& node, const std::string& url);

struct FlowOptions {
  std::string name;    // kept with each record; letters, digits, '-', '_' and '.'
  Policy policy = {};  // on_lease_expiry is `resume`, whatever it says
  FingerprintSecrets secrets = {};
  std::vector<std::string> request_headers = {"Content-Type"};  // kept; nothing else is
  Duration wait_limit = std::chrono::seconds(10);               // where in_flight is `wait`
};

// The result of one scan for abandoned requests.
struct CompletionReport {
  std::size_t seen = 0;       // lapsed, and this flow's
  std::size_t completed = 0;  // have an answer now
  std::size_t stopped = 0;    // tried, and to be tried again later, or unknown now
  std::size_t refused = 0;    // at a recovery point that this version does not know
};

class Flow {
 public:
  using Local = std::function<Next(Transaction&, const Run&)>;
  using MakeCall = std::function<Outbound(const Run&)>;
  using RecordAnswer = std::function<Next(Transaction&, const Run&, const Response&)>;

  // Throws std::invalid_argument where the policy cannot be a flow's.
  Flow(Node node, FlowOptions options);
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;
  ~Flow();

  // Phases in the order in which they are run; the first one is where a new request starts. Names:
  // letters, digits, '-' and '_'. Declare all of them before the first request. Throws
  // std::invalid_argument.
  Flow& local(std::string phase, Local run);
  Flow& foreign(std::string phase, Destination destination, MakeCall call, RecordAnswer record);

  // Any thread; blocks. `caller` is who was authenticated, and never comes from the body. Every
  // method is guarded, and a key is required.
  Response handle(std::string_view caller, const HttpRequest& request);
  // The same on the node's threads; `finished` is called on one of them. See pawl/async.hpp.
  void handle(std::string caller, HttpRequest request, std::function<void(Response)> finished);

  // One scan: resumes what dead owners of this flow left behind. Any number of nodes may do it
  // at once. Blocks, for the time of the request under way and not much over 20s; ends earlier once
  // `stop` says so between two requests. Call it every few seconds in some process that knows this
  // flow's phases.
  CompletionReport complete_abandoned(const std::function<bool()>& stop = [] { return false; });

 private:
  std::unique_ptr<detail::FlowCore> core_;
};

// A thread that calls complete_abandoned now and then, for as long as this lives. Without one, in
// some process, a request whose owner died and whose client never came back stays where it is.
class Completer {
 public:
  explicit Completer(Flow& flow, Duration every = std::chrono::seconds(5));
  // Waits for the request under way.
  ~Completer();
  Completer(const Completer&) = delete;
  Completer& operator=(const Completer&) = delete;

 private:
  struct Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace pawl
