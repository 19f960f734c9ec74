// A queue that delivers at least once, and the consumers that take from it.
#pragma once

#include "tests/sim/consumer.hpp"

namespace pawl::sim {

class Consumers {
 public:
  Consumers(Outside& outside, std::vector<std::unique_ptr<Node>>& nodes,
            const FingerprintSecrets& secrets);

  // In a third of the worlds; elsewhere there is no queue.
  void start(Duration during);
  void heal();
  // Once everything is calm: every message is delivered until it is finished.
  void deliver_again();
  [[nodiscard]] bool all_finished() const { return waiting_ == 0; }
  void report_unfinished(Checker& checker) const;
  [[nodiscard]] const ConsumerCounts& counts() const { return counts_; }

 private:
  struct Message {
    Identity identity;
    Body body;
    BoundaryPolicy policy;
    bool in_steps = false;
    bool finished = false;
  };

  Task<void> partition(Message& message, std::uint64_t number, Duration during);
  Task<void> until_finished(Message& message, std::uint64_t number);
  std::shared_ptr<Delivery> delivery_of(Message& message, Stream& stream, bool honest);
  // False: not finished, or not heard of by then; it will be delivered again.
  Task<bool> deliver(std::shared_ptr<Delivery> delivery, Stream& stream, Duration visibility);
  Task<void> rest(Duration time);

  Outside& outside_;
  std::shared_ptr<Process> process_;  // the queue itself never fails
  Stream stream_;
  ConsumerCounts counts_;
  std::vector<std::unique_ptr<Consumer>> consumers_;
  std::vector<Message> messages_;
  std::uint64_t deliveries_ = 0;
  std::size_t waiting_ = 0;
};

BoundaryPolicy draw_consumer_policy(Stream& stream);

}  // namespace pawl::sim
