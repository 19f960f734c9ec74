// Where the outbox's rows are sent over HTTP, as the configuration names them.
#pragma once

#include <list>
#include <vector>

#include "src/adapters/http/upstream_call.hpp"
#include "src/config/config.hpp"
#include "src/ports/destination.hpp"
#include "src/workers/outbox_worker.hpp"

namespace pawl::gateway {

// One [[destination]], which outlives it.
class HttpDestination final : public Destination {
 public:
  HttpDestination(const config::Destination& destination, http::Deadlines& deadlines);

  [[nodiscard]] std::string unsendable(const OutboxRow& row) const override;
  Task<CallResult> send(const OutboxRow& row, const std::function<Instant()>& now, SendGate& gate,
                        BootTime deadline) override;
  void prune() { pool_.prune(); }

 private:
  const config::Destination& destination_;
  http::UpstreamPool pool_;
};

// Of one thread: that of `deadlines`. The destinations outlive them.
class HttpDestinations {
 public:
  HttpDestinations(const std::vector<config::Destination>& destinations,
                   http::Deadlines& deadlines);

  // For a worker, which they outlive.
  [[nodiscard]] const std::vector<workers::DestinationSettings>& settings() const {
    return settings_;
  }
  // Lets go of connections that have been idle for long.
  void prune();

 private:
  std::list<HttpDestination> destinations_;
  std::vector<workers::DestinationSettings> settings_;
};

}  // namespace pawl::gateway
