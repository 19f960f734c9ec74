#include "tests/sim/consumers.hpp"

namespace pawl::sim {

using namespace std::chrono_literals;

// As [key_api] can be set, with short times.
BoundaryPolicy draw_consumer_policy(Stream& stream) {
  constexpr std::array<Duration, 4> leases{3s, 6s, 12s, 30s};
  constexpr std::array<Duration, 4> timeouts{2s, 5s, 12s, 30s};
  constexpr std::array<Duration, 4> retentions{10s, 30s, 120s, 600s};
  constexpr std::array rules{OnLeaseExpiry::unknown, OnLeaseExpiry::unknown, OnLeaseExpiry::retry,
                             OnLeaseExpiry::resume};
  BoundaryPolicy policy;
  policy.lease = stream.pick(leases);
  policy.upstream_timeout = stream.pick(timeouts);
  policy.retention = stream.pick(retentions);
  policy.on_lease_expiry = stream.pick(rules);
  policy.on_server_error = OnServerError::hold;  // no 5xx is permission to run again
  policy.retention_from = stream.one_in(2) ? RetentionFrom::created : RetentionFrom::completed;
  if (stream.one_in(4)) policy.expired = WhenExpired::tombstone;
  policy.tombstone_for = 120s;
  if (stream.one_in(3)) policy.fingerprint.exclude.push_back(*json::parse_pointer("/nonce"));
  return policy;
}

Consumers::Consumers(Outside& outside, std::vector<std::unique_ptr<Node>>& nodes,
                     const FingerprintSecrets& secrets)
    : outside_(outside),
      process_(std::make_shared<Process>(outside.scheduler,
                                         [](const char*) { return Process::Fate::lives; })),
      stream_(outside.seed, "queue") {
  if (!stream_.one_in(3)) return;
  const int count = 2 + static_cast<int>(stream_.below(2));
  for (int number = 1; number <= count; ++number) {
    consumers_.push_back(std::make_unique<Consumer>(outside, nodes, secrets, counts_, number));
  }
}

void Consumers::start(Duration during) {
  if (consumers_.empty()) return;
  for (const std::unique_ptr<Consumer>& consumer : consumers_) consumer->start();
  const std::size_t count = 2 + stream_.below(3);
  for (std::size_t i = 0; i < count; ++i) {
    Message message;
    // The caller and the key of a client too, whose scope is another.
    message.identity = {key_api_scope("ann"), Key{"key-" + std::to_string(i)}};
    message.body = {static_cast<int>(10 + stream_.below(3)), static_cast<int>(stream_.below(3))};
    message.policy = draw_consumer_policy(stream_);
    message.in_steps = stream_.one_in(2);
    messages_.push_back(std::move(message));
  }
  std::uint64_t number = 0;
  for (Message& message : messages_) {
    const std::uint64_t partitions = 1 + stream_.below(2);
    for (std::uint64_t i = 0; i < partitions; ++i) {
      outside_.scheduler.spawn(partition(message, ++number, during));
    }
  }
}

void Consumers::heal() {
  for (const std::unique_ptr<Consumer>& consumer : consumers_) consumer->heal();
}

Task<void> Consumers::rest(Duration time) {
  const Process::Ticket ticket = process_->ticket();
  process_->wake(ticket, outside_.scheduler.now() + time, "rest");
  co_await process_->park(ticket);
}

std::shared_ptr<Delivery> Consumers::delivery_of(Message& message, Stream& stream, bool honest) {
  const bool changes = outside_.chaos.strikes(Fault::policy_change, stream);
  BoundaryPolicy policy = draw_consumer_policy(stream);
  const bool other = outside_.chaos.strikes(Fault::other_body, stream);
  const int more = 1 + static_cast<int>(stream.below(2));
  if (changes) message.policy = policy;
  auto made = std::make_shared<Delivery>();
  made->identity = message.identity;
  made->body = message.body;
  if (other && !honest) (stream.one_in(2) ? made->body.amount : made->body.nonce) += more;
  made->policy = message.policy;
  made->number = ++deliveries_;
  made->careless = outside_.chaos.strikes(Fault::consumer_careless, stream);
  made->in_steps = message.in_steps;
  return made;
}

Task<bool> Consumers::deliver(std::shared_ptr<Delivery> delivery, Stream& stream,
                              Duration visibility) {
  const auto finished = std::make_shared<bool>(false);
  const Process::Ticket acknowledged = process_->ticket();
  delivery->acknowledge = [finished, acknowledged, process = process_,
                           &scheduler = outside_.scheduler](bool is_finished) {
    *finished = is_finished;
    process->wake(acknowledged, scheduler.now(), "queue.acknowledged");
  };
  ++counts_.deliveries;
  consumers_[stream.below(consumers_.size())]->take(std::move(delivery));
  process_->wake(acknowledged, outside_.scheduler.now() + visibility, "queue.visibility");
  co_await process_->park(acknowledged);
  co_return *finished;
}

Task<void> Consumers::partition(Message& message, std::uint64_t number, Duration during) {
  Stream stream(outside_.seed, "partition", number);
  co_await rest(stream.between(0ms, during));
  std::uint64_t extras = stream.below(3);  // duplicates of what was acknowledged
  const std::uint64_t times = 3 + stream.below(6);
  for (std::uint64_t i = 0; i < times && !outside_.chaos.ended(); ++i) {
    const Duration pause = stream.between(0ms, stream.one_in(3) ? 40s : 3s);
    const Duration visibility = stream.between(1s, 40s);
    if (outside_.chaos.strikes(Fault::request, stream)) {
      std::shared_ptr<Delivery> made = delivery_of(message, stream, false);
      if (outside_.chaos.strikes(Fault::race, stream)) {
        auto twin = std::make_shared<Delivery>(*made);
        twin->number = ++deliveries_;
        twin->acknowledge = [](bool) {};
        ++counts_.deliveries;
        consumers_[stream.below(consumers_.size())]->take(std::move(twin));
      }
      const bool finished = co_await deliver(std::move(made), stream, visibility);
      if (finished && extras-- == 0) co_return;
    }
    co_await rest(pause);
  }
}

void Consumers::deliver_again() {
  waiting_ = messages_.size();
  std::uint64_t number = 0;
  for (Message& message : messages_) outside_.scheduler.spawn(until_finished(message, ++number));
}

Task<void> Consumers::until_finished(Message& message, std::uint64_t number) {
  Stream stream(outside_.seed, "to the end", number);
  for (int i = 0; i < 30 && !message.finished; ++i) {
    std::shared_ptr<Delivery> made = delivery_of(message, stream, true);
    message.finished = co_await deliver(std::move(made), stream, 60s);
    if (!message.finished) co_await rest(2s);
  }
  --waiting_;
}

void Consumers::report_unfinished(Checker& checker) const {
  for (const Message& message : messages_) {
    if (!message.finished && !checker.is_corrupt(message.identity)) {
      checker.violated("once faults stop, every message is finished", message.identity,
                       "not finished after 30 deliveries");
    }
  }
}

}  // namespace pawl::sim
