// The boundary in front of an API: every request of the public listener comes through here.
//
// Methods that the route does not guard (`methods`), and what needs no key, pass through. A guarded
// request goes parse -> authenticate -> route -> key -> fingerprint -> reserve (a replay ends here)
// -> limits for new work -> execute; see docs/life-of-a-request.md.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <string>

#include "src/adapters/http/pass_through.hpp"
#include "src/adapters/http/session.hpp"
#include "src/adapters/http/upstream_call.hpp"
#include "src/boundary/boundary.hpp"
#include "src/boundary/key_api.hpp"
#include "src/callers/http_endpoints.hpp"
#include "src/engine/engine.hpp"
#include "src/gateway/earlier_ages.hpp"
#include "src/gateway/request_log.hpp"
#include "src/gateway/served_config.hpp"
#include "src/ports/reconciliation_store.hpp"
#include "src/ports/task_group.hpp"

namespace pawl::observe {
class Recorder;
}

namespace pawl::gateway {

class Observation;

// What the threads of one process share.
struct NodeServices : BoundaryState {
  NodeServices(const config::Config& settings, GatewayMetrics& counters, RequestLog& lines,
               std::string name)
      : BoundaryState(settings.replay_cache, settings.memory_budget == 0
                                                 ? std::numeric_limits<std::size_t>::max()
                                                 : settings.memory_budget),
        in_force(std::make_shared<const ServedConfig>(settings, lines)),
        metrics(counters),
        log(lines),
        pseudonym(std::move(name)) {}

  ConfigInForce in_force;
  EarlierAgesInForce earlier_ages;
  GatewayMetrics& metrics;
  RequestLog& log;
  const std::string pseudonym;             // in Via: tells our own requests when they come back
  std::shared_ptr<Orphans> orphans;        // of all threads: whichever sweeps must know
  observe::Recorder* recorder = nullptr;   // where some route is observed
  ReconciliationStore* cases = nullptr;    // where events of webhooks are kept
  std::function<void()> on_event = [] {};  // one was kept: the reconciler may poll
  // When it was last said that connections are closed without an answer, by the steady clock.
  std::atomic<std::chrono::steady_clock::rep> dropped_said = 0;
};

// One per thread, on top of that thread's engine and connections.
class Gateway final : public http::Handler {
 public:
  // `guarded`: connections that no other request has ever used, or will; `others`: those of all
  // that need no record.
  Gateway(NodeServices& shared, Engine& engine, Store& store, http::UpstreamPool& guarded,
          http::UpstreamPool& others, Clock& clock, Entropy& entropy, Sleepers& sleepers)
      : shared_(shared),
        engine_(engine),
        store_(store),
        upstream_(guarded),
        others_(others),
        clock_(clock),
        entropy_(entropy),
        boundary_(shared, {engine, store, clock, entropy, sleepers, shared.metrics, shared.log}),
        key_api_(shared, {engine, store, clock, entropy, sleepers, shared.metrics, shared.log},
                 boundary_),
        endpoints_(guarded.deadlines(), clock) {}

  Task<void> handle(http::ClientRequest& request) override;
  Response refused(const http::Refusal& refusal, std::string_view client) override;
  Response over_limit(http::ConnectionLimit limit, std::string_view client,
                      const http::RequestHead* head) override;
  void dropped(http::ConnectionLimit limit, std::string_view client) override;
  void failed(std::string_view why) override;

  Boundary& boundary() { return boundary_; }
  // Lets go of connections that have been idle for long.
  void prune() { endpoints_.prune(); }

 private:
  // One request on its way, and what will be said about it in the log.
  struct ClientContext;

  Response refuse(const ProblemDetails& details, LogLine line);
  // Checked before anything else: what no upstream may be sent.
  std::optional<ProblemDetails> check_message(const ClientContext& context, bool disputed) const;
  Task<void> pass(ClientContext& context, http::PassWatch* watch = nullptr);
  Task<void> observe(ClientContext& context);
  struct NamedLater;
  Task<void> name_observed(std::shared_ptr<NamedLater> later);
  void name_now_or_later(ClientContext& context, std::shared_ptr<Observation> observation,
                         bool is_known);
  Task<void> guard(ClientContext& context);
  Task<void> answer_own(ClientContext& context);
  Task<Response> key_state(ClientContext& context, std::string_view escaped_key);
  Response no_such_key(ClientContext& context);
  Task<void> answer_webhook(ClientContext& context);
  Task<Response> take_event(ClientContext& context, const config::Source& source);

  // The key API.
  Task<void> answer_key_call(ClientContext& context);
  std::optional<Response> refuse_caller(ClientContext& context, const std::string& caller);
  std::optional<ProblemDetails> identify_call(ClientContext& context, const std::string& caller,
                                              std::string_view escaped_key);

  // Who it is from, if that can be said without asking anybody; else `ask_for_caller`.
  std::optional<callers::Identified> known_caller(const ClientContext& context) const;
  Task<callers::Identified> ask_for_caller(ClientContext& context);
  // Who sent it, for the connections to the upstream: by its credentials, or where it has none by
  // its address.
  [[nodiscard]] std::string sender_of(const ClientContext& context) const;
  // Once scope and key are known: whose they are where no caller was chosen.
  void note_credentials(ClientContext& context) const;
  std::optional<ProblemDetails> identify(ClientContext& context, const callers::Identified& caller);
  std::optional<ProblemDetails> identify_by_body(ClientContext& context);
  // Is it too old for new work?
  void check_age(ClientContext& context, const callers::KnownCaller& caller) const;
  Task<bool> read_body(ClientContext& context, std::optional<ProblemDetails> trouble);
  // The end of every request but those that only pass: lets go of what came, and answers.
  Task<void> deliver(ClientContext& context, Response response);
  // Every answer of ours has an id, in the log too.
  void name_answer(ClientContext& context, Response& response);

  NodeServices& shared_;
  Engine& engine_;
  Store& store_;
  http::UpstreamPool& upstream_;
  http::UpstreamPool& others_;
  Clock& clock_;
  Entropy& entropy_;
  Boundary boundary_;
  KeyApi key_api_;
  callers::HttpEndpoints endpoints_;
  std::optional<TaskGroup> naming_;  // of requests that were only watched; made by the first
};

}  // namespace pawl::gateway
