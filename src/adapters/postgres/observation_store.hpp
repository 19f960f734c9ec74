// Observe mode's tables in PostgreSQL. A connection of its own, and no wait without an end: a
// server that hangs costs observations, nothing else.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/adapters/postgres/blocking.hpp"
#include "src/ports/observation_store.hpp"

namespace pawl::postgres {

class PostgresObservationStore final : public ObservationStore {
 public:
  // Connects when it is needed.
  explicit PostgresObservationStore(std::string url, Options options = {});

  Expected<Done, std::string> apply(const std::vector<ObservedKey>& keys,
                                    const Transition& transition) override;
  Expected<std::size_t, std::string> reap(Duration tallies_kept) override;
  Expected<Summary, std::string> summary(Duration since) override;
  void disconnect() override { session_.disconnect(); }

 private:
  using Answer = BlockingSession::Answer;

  // One statement. An error ends the connection, and with it any transaction.
  Answer run(const char* sql, const std::vector<std::string>& parameters = {});
  Expected<Instant, std::string> now();
  Expected<Found, std::string> find(const std::vector<ObservedKey>& keys);
  // False: another node was quicker, and nothing is written.
  Expected<bool, std::string> try_to_apply(const std::vector<ObservedKey>& keys,
                                           const Transition& transition);
  Expected<bool, std::string> write(const ObservationUpdate& updated);

  BlockingSession session_;
  bool has_tables_ = false;
};

}  // namespace pawl::postgres
