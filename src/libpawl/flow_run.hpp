// One owner's way through a flow's phases, from a recovery point to the answer or to where it
// stops.
#pragma once

#include "src/libpawl/flow_core.hpp"
#include "src/ports/transactions.hpp"

namespace pawl::detail {

// What a phase's outcome has, once its time is over, to be recorded.
inline constexpr Duration settle_allowance = std::chrono::seconds(10);

// Thrown: it is not known whether it was committed. The record knows.
struct InDoubt {
  std::string what;
};

class FlowRun {
 public:
  FlowRun(const FlowCore& flow, Granted granted);

  // Blocks. What the client is told.
  Response run();
  // The record has its answer now.
  [[nodiscard]] bool completed() const { return completed_; }

 private:
  // Each gives an answer where the run is over, nothing where it goes on.
  using Step = std::optional<Response>;

  Step run_transactional(const Phase& phase);
  Step run_external_call(const Phase& phase);
  void store_send_intent(const Phase& phase, const std::string& key);
  Step take_in(const Phase& phase, const Call& call, const Outcome& outcome,
               const std::optional<std::string>& unmarked);
  Step look_up(const Phase& phase, const Call& call, const std::string& why);
  Step record_answer(const Phase& phase, const Call& call, const Response& answer);
  void keep_evidence(const Call& call, const Response& answer, const std::string& why);
  // Domain writes and what follows from `decide`, in one transaction.
  Step commit(const Phase& phase, const std::function<Next(Transaction&)>& decide);
  Step go_on(std::unique_ptr<PhaseTransaction> work, const Phase& phase, Next next);

  Outcome send(const Phase& phase, const Call& call, SendGate& gate);
  [[nodiscard]] Instant last_sending(const Destination& destination) const;
  [[nodiscard]] bool may_send_again(const Destination& destination) const;
  void demand_next(const Phase& phase, const Next& next) const;
  [[nodiscard]] Run run_now() const;
  void hold_on();
  void adopt(Record after);

  // Lets go of the record; `recovery_point`, if given, in place of the one that is stored.
  Response stop(const std::string& why, std::optional<std::string> recovery_point = {},
                int status = 503);
  Response give_up_unknown(const std::string& why);
  Response refuse();
  Response render(const Outcome& outcome, const StoreResult<Settlement>& settlement);
  Response superseded(const std::string& why);
  [[nodiscard]] std::string named(const std::string& text) const;

  const FlowCore& flow_;
  NodeCore& node_;
  Granted granted_;
  Record held_;  // as last committed
  RecoveryPoint point_;
  bool completed_ = false;
};

}  // namespace pawl::detail
