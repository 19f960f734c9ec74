// An upstream that does what the test says and counts how often money moved.
#pragma once

#include <functional>

#include "src/ports/upstream.hpp"

namespace pawl::testing {

class ScriptedUpstream final : public Upstream {
 public:
  // What one send does once the gate is open: charge or not, and with which outcome.
  struct Step {
    bool charges = true;
    Outcome outcome;
  };

  Task<Outcome> send(const Record& attempt, SendGate& gate, BootTime deadline) override;

  [[nodiscard]] int charges() const { return charges_; }
  [[nodiscard]] int sends() const { return sends_; }

  // Every send from here on. The default charges and answers 201.
  void answer(Step step) { step_ = std::move(step); }

  // Where a process may stop for a while, or somebody else may act. Each runs once, in the next
  // send.
  std::function<void()> before_gate;
  std::function<void()> after_gate;
  std::function<void()> before_answer;

 private:
  Step step_ = default_step();
  int charges_ = 0;
  int sends_ = 0;

  static Step default_step();
};

Outcome answered(int status, std::string body = R"({"id":"pay_1"})");

}  // namespace pawl::testing
