// What the gateway measures besides the engine's counters. A port: Prometheus is one way to show
// it.
#pragma once

#include <cstddef>
#include <string_view>

#include "pawl/types/time.hpp"
#include "src/core/ledger.hpp"

namespace pawl {

class GatewayMetrics {
 public:
  virtual ~GatewayMetrics() = default;
  // All are safe from any thread. Routes come from the configuration; scopes are bounded by whoever
  // implements this.
  virtual void request(std::string_view route, int status) = 0;
  virtual void upstream_took(std::string_view route, Duration took) = 0;
  virtual void duplicate(std::string_view scope) = 0;
  virtual void replayed(bool from_memory) = 0;
  virtual void misuse(std::string_view scope) = 0;
  // A name of DecisionKind: a request that was answered from memory, without a reservation.
  virtual void decided_in_memory(std::string_view decision) = 0;
  virtual void near_duplicate(std::string_view route) = 0;
  // Another node said that a key is settled which somebody here waits for.
  virtual void hinted() = 0;
  virtual void unguarded(std::string_view route) = 0;
  // On observed routes: what would have become of it, a name of PredictedDecision.
  virtual void observed(std::string_view route, std::string_view would) = 0;
  virtual void observation_dropped() = 0;
  virtual void refused(std::string_view problem) = 0;
  // Over a limit of connections: "all" or "address".
  virtual void connection_refused(std::string_view limit) = 0;
  // A question about an unknown record that resolved nothing: absent, pending, failed, dead. Or
  // what had been found not executed, and there is proof that it was: disproved. Or an event that
  // says otherwise than what is stored: contradicted.
  virtual void reconciled(std::string_view result) = 0;
  // Such a proof came when the record had been taken over: it may have been executed twice.
  virtual void disproved_too_late() = 0;
  // A webhook: kept, duplicate, ignored, bad_signature, unreadable, unavailable. Later: foreign,
  // its source may not speak for the record it is about.
  virtual void webhook(std::string_view result) = 0;
  virtual void dead_letters(std::size_t count) = 0;
  virtual void async_dead_letters(std::size_t count) = 0;
  // What the last comparison of ledgers that was made to the end has counted.
  virtual void compared(std::string_view source, const LedgerCounts& counts, Instant ended_at) = 0;
};

// For whoever measures nothing of this.
class NoGatewayMetrics : public GatewayMetrics {
 public:
  void request(std::string_view /*route*/, int /*status*/) override {}
  void upstream_took(std::string_view /*route*/, Duration /*took*/) override {}
  void duplicate(std::string_view /*scope*/) override {}
  void replayed(bool /*from_memory*/) override {}
  void misuse(std::string_view /*scope*/) override {}
  void decided_in_memory(std::string_view /*decision*/) override {}
  void near_duplicate(std::string_view /*route*/) override {}
  void hinted() override {}
  void unguarded(std::string_view /*route*/) override {}
  void observed(std::string_view /*route*/, std::string_view /*would*/) override {}
  void observation_dropped() override {}
  void refused(std::string_view /*problem*/) override {}
  void connection_refused(std::string_view /*limit*/) override {}
  void reconciled(std::string_view /*result*/) override {}
  void disproved_too_late() override {}
  void webhook(std::string_view /*result*/) override {}
  void dead_letters(std::size_t /*count*/) override {}
  void async_dead_letters(std::size_t /*count*/) override {}
  void compared(std::string_view /*source*/, const LedgerCounts& /*counts*/,
                Instant /*ended_at*/) override {}
};

}  // namespace pawl
