// The outbox in PostgreSQL. The statements obey the rules for a distributed one: rows are claimed
// by lease columns, and what makes a row free is asked again once its lock was waited for.
#pragma once

#include <string>

#include "src/adapters/postgres/blocking.hpp"
#include "src/ports/outbox_store.hpp"

namespace pawl::postgres {

class PostgresOutbox final : public OutboxStore {
 public:
  // Connects when it is needed.
  explicit PostgresOutbox(std::string url, Options options = {});

  Expected<OutboxClaimed, std::string> claim(const OutboxClaim& claim) override;
  Expected<std::vector<bool>, std::string> write(const std::vector<OutboxWrite>& writes) override;
  Expected<std::vector<OutboxCount>, std::string> count() override;
  Expected<std::vector<OutboxRow>, std::string> list(const OutboxQuery& query) override;
  Expected<std::optional<OutboxRow>, std::string> find(const std::string& id) override;
  Expected<OutboxRow, std::string> change(const std::string& id, OutboxAction action,
                                          const OutboxAuthor& author,
                                          const Transition& transition) override;
  Expected<Instant, std::string> time() override;
  void disconnect() override { session_.disconnect(); }

 private:
  Expected<std::vector<OutboxRow>, std::string> rows_of(const BlockingSession::Answer& answer);

  BlockingSession session_;
};

}  // namespace pawl::postgres
