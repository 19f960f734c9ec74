// Where the outbox's rows are sent over HTTP, as the configuration names them; each as a request,
// signed.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <vector>

#include "src/adapters/http/upstream_call.hpp"
#include "src/config/config.hpp"
#include "src/core/outbox.hpp"
#include "src/ports/destination.hpp"
#include "src/workers/outbox_worker.hpp"

namespace pawl::gateway {

// "t=<unix seconds>,v1=<hex of the HMAC-SHA-256 of "t.body">": the receiver computes the same, and
// refuses what is too old.
std::string outbox_signature(std::string_view secret, Instant now, std::string_view body);

// Why the row cannot be written as a request; empty: it can. Any service with access to the table
// may have stored it.
std::string unsendable(const OutboxRow& row);

// The row must be sendable, and outlive this.
class OutboxRequest final : public http::RequestWriter {
 public:
  // `now` is asked when the request is written: the signature carries it.
  OutboxRequest(const OutboxRow& row, const config::Destination& destination,
                const std::string& host, std::function<Instant()> now)
      : row_(row), destination_(destination), host_(host), now_(std::move(now)) {}

  std::string head(const Record&) override;
  [[nodiscard]] std::string_view body() const override { return row_.body; }

 private:
  const OutboxRow& row_;
  const config::Destination& destination_;
  const std::string& host_;
  std::function<Instant()> now_;
};

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
