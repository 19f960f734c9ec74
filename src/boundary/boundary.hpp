// The boundary: a guarded request gets its one answer here. Over values and ports, without a
// socket: the gateway, libpawl and the simulator hand their requests in.
//
//   key -> fingerprint -> memory (a replay may end here) -> limits for new work -> reserve (or the
//   stored answer) -> execute -> settle -> answer
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "src/boundary/breaker.hpp"
#include "src/boundary/limits.hpp"
#include "src/boundary/near_duplicates.hpp"
#include "src/boundary/replay_cache.hpp"
#include "src/boundary/request_context.hpp"
#include "src/boundary/run_times.hpp"
#include "src/boundary/settled_notices.hpp"
#include "src/boundary/single_flight.hpp"
#include "src/engine/engine.hpp"
#include "src/engine/late_outcomes.hpp"
#include "src/ports/gateway_metrics.hpp"
#include "src/ports/log.hpp"
#include "src/ports/sleeper.hpp"

namespace pawl {

// What is set aside for the answer of every request before it is sent, and enough for most.
inline constexpr std::size_t answer_share = std::size_t{64} << 10;
// Memory comes back as soon as an answer has been read.
inline constexpr Duration overload_retry_after = std::chrono::seconds(1);

// What the requests of one process share, on all its threads.
struct BoundaryState {
  explicit BoundaryState(std::size_t cache_bytes_max, std::size_t memory_bytes_max)
      : memory(memory_bytes_max), cache(cache_bytes_max) {}

  MemoryBudget memory;
  ReplayCache cache;
  Breaker breaker;
  ScopeLimits limits;
  SingleFlight flights;
  SettledNotices notices;
  NearDuplicates near_duplicates;
  RunTimes run_times;
  std::function<void()> accepted = [] {};  // an async request was stored: a worker may start
};

// A request's way to its executor.
class Execution : public Upstream {
 public:
  // What its answer holds of the memory budget.
  virtual Charge take_memory() { return {}; }
  // Of an answer that is too large to be stored: all of it is there and can be delivered.
  [[nodiscard]] virtual bool has_whole_answer() const { return false; }
};

// One per thread, on top of that thread's engine.
class Boundary {
 public:
  struct Ports {
    Engine& engine;
    Store& store;
    Clock& clock;
    Entropy& entropy;
    Sleepers& sleepers;
    GatewayMetrics& metrics;
    Log& log;
  };
  Boundary(BoundaryState& state, Ports ports) : state_(state), ports_(ports) {}

  // Reads the key, once the scope is known, and what can be said without the body. Nothing: it may
  // go on. `lines`: the values of Idempotency-Key; none: there was no such field.
  std::optional<ProblemDetails> identify(RequestContext& context,
                                         std::span<const std::string_view> lines,
                                         std::string_view content_encoding);
  // The same of a key that is a text somewhere else: it has no syntax of its own. `text` outlives
  // the request.
  std::optional<ProblemDetails> identify_text(RequestContext& context, std::string_view text);
  // Reads the body. Nothing: it may go on.
  std::optional<Response> take_fingerprint(RequestContext& context);
  // The answer: stored, or of an execution that is recorded.
  Task<Response> handle(RequestContext& context, Execution& execution);

  // The same in two halves, for callers that execute somewhere else. First what is there already,
  // or the right to execute once.
  struct Granted {
    std::shared_ptr<Lease> lease;
    std::optional<LimitGrant> place;      // among the new keys of its scope
    std::unique_ptr<FlightGuard> flight;  // others may be waiting for its answer
    std::size_t memory = 0;               // for its body, and its answer
    BootTime since{};
  };
  using Admission = std::variant<Response, Granted>;
  Task<Admission> admit(RequestContext& context);
  // Then, whatever happened: records it, and says what the client is told.
  Task<Response> settle(RequestContext& context, Granted granted, Outcome outcome);
  // What the client is told of an outcome that was recorded, or could not be. From any thread.
  Response render_executed(RequestContext& context, Executed& executed,
                           const Execution* execution = nullptr);

  // Outcomes whose clients were told 503 because the store was unavailable, once more each.
  Task<void> settle_late();
  // How many of them there are. From any thread.
  [[nodiscard]] std::size_t late() const { return late_.count(); }
  // Returns when there is none. For the end of a node.
  Task<void> all_recorded();

  // Waits a moment for room for `bytes` and for a stored answer that may be found. False: none.
  Task<bool> make_room(RequestContext& context, std::size_t bytes);

  Response problem(RequestContext& context, ProblemDetails details);
  Response plain_problem(RequestContext& context, const PlainProblem& problem);
  Response overloaded(RequestContext& context, std::string detail = {});
  Response store_failed(RequestContext& context, StoreError error, std::string detail = {});
  // Of this request alone.
  const std::string& id_of(RequestContext& context);
  std::string new_request_id();

 private:
  std::optional<Response> from_memory(RequestContext& context);
  bool is_near_duplicate(const RequestContext& context);
  Task<Admission> admit_unknown(RequestContext& context);
  Task<Admission> reserve(RequestContext& context);
  // Nothing: there is room for one more, which must be `finished`.
  Task<std::optional<Response>> refuse_new_work(RequestContext& context);
  // What is there already; for new work `instead`, or nothing of note where there is none.
  Task<Response> look_up(RequestContext& context, std::optional<Problem> instead);

  // in_flight = "wait"
  Task<Admission> take_turns(RequestContext& context);
  Task<Admission> lead(RequestContext& context, BootTime until);
  Task<Admission> watch_another_node(RequestContext& context, BootTime until, Admission admission);
  Task<void> wait_for_leader(RequestContext& context, std::shared_ptr<Sleeper> sleeper,
                             BootTime until);
  Task<Response> look_once_more(RequestContext& context);
  Response still_in_flight(RequestContext& context);

  Task<Response> execute(RequestContext& context, Granted granted, Execution& execution);
  Response conclude(RequestContext& context, Granted& granted, Executed& executed,
                    const Execution* execution);
  // How long requests like this one usually still take.
  [[nodiscard]] Duration usually_left(const RequestContext& context, const Record& record) const;
  Response render_refused(RequestContext& context, const Reservation& found);
  Response render_replay(RequestContext& context, std::shared_ptr<const Cached> cached);
  Response render_settled(RequestContext& context, Executed& executed, const Execution* execution);
  Response render_withheld(RequestContext& context, const Answered& answer, const Record& record);

  BoundaryState& state_;
  Ports ports_;
  LateOutcomes late_;
};

}  // namespace pawl
