// Clients: each has payments to make and a key for each, and does what clients do.
#pragma once

#include <memory>
#include <vector>

#include "tests/sim/node.hpp"

namespace pawl::sim {

// One logical payment: a key, what it means, and how its route is configured at the moment.
struct Payment {
  Identity identity;
  Body body;
  Policy policy;
};

struct ClientCounts {
  std::uint64_t requests =
      0;  // histories that came to their end: answered, or given up by the client
  std::uint64_t answered = 0;
  std::array<std::uint64_t, 9> said{};
};

class Clients {
 public:
  Clients(Outside& outside, std::vector<std::unique_ptr<Node>>& nodes);

  // Payments whose requests are spread over `during`.
  void start(Duration during);
  // Once everything is calm: every payment asks until it has a final answer. False while some wait.
  void ask_again();
  [[nodiscard]] bool all_answered() const { return waiting_ == 0; }
  void report_unanswered(Checker& checker) const;

  void rotate_secret();
  [[nodiscard]] const FingerprintSecrets& secrets() const { return secrets_; }
  [[nodiscard]] const ClientCounts& counts() const { return counts_; }

 private:
  struct Try {
    Answer answer;
    bool answered = false;
  };

  Task<void> session(Payment& payment, std::uint64_t number, Duration during);
  Task<void> until_final(Payment& payment, std::size_t number);
  std::shared_ptr<Exchange> exchange(Payment& payment, Stream& stream, bool honest);
  Task<Try> request(std::shared_ptr<Exchange> exchange, Stream& stream, Duration patience);
  Task<void> alone(std::shared_ptr<Exchange> exchange, Stream stream);
  Task<void> rest(Duration time);

  Outside& outside_;
  std::vector<std::unique_ptr<Node>>& nodes_;
  std::shared_ptr<Process> process_;
  Stream stream_;
  bool waits_;    // in_flight = "wait" on every route
  bool limited_;  // so many new keys a second
  std::vector<Payment> payments_;
  std::vector<bool> final_;
  std::size_t waiting_ = 0;
  FingerprintSecrets secrets_;
  ClientCounts counts_;
};

Policy draw_policy(Stream& stream);
// The same meaning, spelled in different ways.
std::string spelled(Body body, std::uint64_t spelling);

}  // namespace pawl::sim
