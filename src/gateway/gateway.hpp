// The boundary in front of an API: every request of the public listener comes through here.
//
// Other methods than POST and PATCH, and what needs no key, pass through. A guarded request goes
// parse -> authenticate -> route -> key -> fingerprint -> reserve (a replay ends here) -> limits
// for new work -> execute; see docs/life-of-a-request.md.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <list>
#include <string>

#include "pawl/engine.hpp"
#include "src/adapters/http/pass_through.hpp"
#include "src/adapters/http/session.hpp"
#include "src/adapters/http/upstream_call.hpp"
#include "src/config/config.hpp"
#include "src/gateway/breaker.hpp"
#include "src/gateway/callers.hpp"
#include "src/gateway/flights.hpp"
#include "src/gateway/hints.hpp"
#include "src/gateway/key_calls.hpp"
#include "src/gateway/metrics.hpp"
#include "src/gateway/near_duplicates.hpp"
#include "src/gateway/replay_cache.hpp"
#include "src/gateway/request_log.hpp"
#include "src/gateway/routes.hpp"
#include "src/gateway/scope_limits.hpp"

namespace pawl::gateway {

class CaseDesk;
class Sleeper;
class Observer;

// What the threads of one process share.
struct Shared {
  Shared(const config::Config& settings, GatewayMetrics& counters, RequestLog& lines,
         std::string name)
      : config(settings),
        metrics(counters),
        log(lines),
        pseudonym(std::move(name)),
        routes(settings),
        key_api(key_api_route(settings)),
        callers(settings.caller),
        memory(settings.memory_budget == 0 ? std::numeric_limits<std::size_t>::max()
                                           : settings.memory_budget),
        cache(settings.replay_cache) {}

  const config::Config& config;
  GatewayMetrics& metrics;
  RequestLog& log;
  const std::string pseudonym;  // in Via: tells our own requests when they come back
  const Routes routes;
  const config::Route key_api;  // of the key API's calls: no request is forwarded by it
  const Callers callers;
  http::MemoryBudget memory;
  ReplayCache cache;
  Breaker breaker;
  ScopeLimits limits;
  Flights flights;
  Hints hints;
  NearDuplicates near_duplicates;
  std::shared_ptr<Orphans> orphans;        // of all threads: whichever sweeps must know
  std::function<void()> accepted = [] {};  // an async request was stored: a worker may look
  Observer* observer = nullptr;            // where some route is observed
  CaseDesk* desk = nullptr;                // where events of webhooks are kept
  std::function<void()> news = [] {};      // one was kept: the reconciler may look
};

// One per thread, on top of that thread's engine and connections.
class Gateway final : public http::Handler {
 public:
  // `guarded`: connections that no other request has ever used, or will; `others`: those of all
  // that need no record.
  Gateway(Shared& shared, Engine& engine, Store& store, http::UpstreamPool& guarded,
          http::UpstreamPool& others, Clock& clock, Entropy& entropy)
      : shared_(shared),
        engine_(engine),
        store_(store),
        upstream_(guarded),
        others_(others),
        clock_(clock),
        entropy_(entropy) {}

  Task<void> handle(http::ClientRequest& request) override;
  Response refused(const http::Refusal& refusal) override;
  void failed(std::string_view why) override;

  // Outcomes whose clients were told 503 because the store was away: tried once more each, for as
  // long as this process lives.
  Task<void> settle_late();
  // How many of them there are. From any thread.
  [[nodiscard]] std::size_t late() const { return late_count_; }

 private:
  // One request on its way, and what will be said about it in the log.
  struct Passage;

  // Before anything else is looked at: what no upstream may be sent.
  std::optional<ProblemDetails> check_message(const Passage& passage, bool disputed) const;
  Task<void> pass(Passage& passage, http::PassWatch* watch = nullptr);
  Task<void> observe(Passage& passage);
  Task<void> guard(Passage& passage);
  Task<void> answer_own(Passage& passage);
  Task<Response> key_state(Passage& passage, std::string_view escaped_key);
  [[nodiscard]] Response no_such_key(const Key& key) const;
  Task<void> answer_webhook(Passage& passage);
  Task<Response> take_event(Passage& passage, const config::Source& source);

  // The key API.
  Task<void> answer_key_call(Passage& passage);
  std::optional<Response> refuse_caller(const std::string& caller) const;
  std::optional<ProblemDetails> identify_call(Passage& passage, const std::string& caller,
                                              std::string_view escaped_key);
  Task<Response> make_call(Passage& passage, KeyVerb verb);
  Task<Response> reserve_key(Passage& passage, const KeyCall& call);
  Task<Response> write_key(Passage& passage, KeyVerb verb, const KeyCall& call);
  // What is to be said instead, where an answer that was refused could not be kept as evidence.
  Task<std::optional<Response>> keep_refused(Passage& passage, const Grant& grant,
                                             const GrantWrite& refused, const Outcome& answer,
                                             const SettleOptions& options);
  Response render_reservation(Passage& passage, const Reservation& found);
  Response render_write(Passage& passage, const KeyCall& call, const GrantWrite& written);

  Expected<std::string, ProblemDetails> caller_of(const Passage& passage) const;
  // Who sent it, for the connections to the upstream: by its credentials, or where it has none by
  // its address.
  [[nodiscard]] std::string sender_of(const Passage& passage) const;
  // Once scope and key are known: whose they are where no caller was chosen.
  void note_credentials(Passage& passage) const;
  std::optional<ProblemDetails> identify(Passage& passage);
  Task<bool> read_body(Passage& passage, std::optional<ProblemDetails> trouble);
  // The end of every request but those that only pass: lets go of what came, and answers.
  Task<void> deliver(Passage& passage, Response response);
  Response overloaded(Passage& passage, std::string detail = {});
  Response render_replay(Passage& passage, std::shared_ptr<const Cached> cached);
  // Waits a moment for room for `bytes` and for a stored answer that may be found. False: none.
  Task<bool> admit(Passage& passage, std::size_t bytes);
  std::optional<Response> from_memory(Passage& passage);
  bool is_near_duplicate(const Passage& passage);
  Task<Response> find_or_make(Passage& passage);
  Task<Response> reserve_and_execute(Passage& passage);
  Task<std::optional<Response>> refuse_new_work(Passage& passage);
  static StoredRequest kept_request(const Passage& passage);
  // What is there already; for new work `instead`, or nothing of note where there is none.
  Task<Response> look_only(Passage& passage, std::optional<Problem> instead);
  // in_flight = "wait"
  Task<Response> take_turns(Passage& passage);
  Task<Response> lead(Passage& passage, BootTime until);
  Task<Response> watch_another_node(Passage& passage, BootTime until, Response response);
  Task<void> wait_for_leader(Passage& passage, std::shared_ptr<Sleeper> sleeper, BootTime until);
  Response still_in_flight(Passage& passage);
  Response render_guarded(Passage& passage, Guarded guarded);
  Response render_executed(Passage& passage, Executed& executed);
  Response render_withheld(Passage& passage, const Answered& answer, const Record& record);
  Response problem(Passage& passage, ProblemDetails details);
  Response store_failed(Passage& passage, StoreError error, std::string detail = {});
  void remember_late(Passage& passage, const Executed& executed);
  // Of this request alone.
  const std::string& id_of(Passage& passage);
  // Every answer of ours has an id, in the log too.
  void name_answer(Passage& passage, Response& response);

  struct Late {
    std::shared_ptr<Lease> lease;
    Outcome outcome;
    std::size_t bytes = 0;
    http::Charge memory;
  };

  Shared& shared_;
  Engine& engine_;
  Store& store_;
  http::UpstreamPool& upstream_;
  http::UpstreamPool& others_;
  Clock& clock_;
  Entropy& entropy_;
  std::list<Late> late_;
  std::size_t late_bytes_ = 0;
  std::atomic<std::size_t> late_count_ = 0;
};

}  // namespace pawl::gateway
