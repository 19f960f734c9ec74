// The outbox in a SQLite store. A connection of its own: its commits wait for the disk as the
// store's do, and nobody else waits for them longer than that.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "src/adapters/sqlite/database.hpp"
#include "src/ports/outbox_store.hpp"

namespace pawl::sqlite {

class SqliteOutbox final : public OutboxStore {
 public:
  // The file is opened when it is needed; it must be a store by then.
  explicit SqliteOutbox(std::string path, Options options = {});

  Expected<OutboxClaimed, std::string> claim(const OutboxClaim& claim) override;
  Expected<std::vector<bool>, std::string> write(const std::vector<OutboxWrite>& writes) override;
  Expected<std::vector<OutboxCount>, std::string> count() override;
  Expected<std::vector<OutboxRow>, std::string> list(const OutboxQuery& query) override;
  Expected<std::optional<OutboxRow>, std::string> find(const std::string& id) override;
  Expected<OutboxRow, std::string> change(const std::string& id, OutboxAction action,
                                          const OutboxAuthor& author,
                                          const Transition& transition) override;
  Expected<Instant, std::string> time() override { return options_.clock(); }
  void disconnect() override { opened_.reset(); }

 private:
  std::optional<std::string> ready();
  // Says why, and starts afresh: seldom, and then nothing of what was open can be trusted.
  std::string failed();
  std::optional<Statement> prepared(const std::string& sql);
  Expected<bool, std::string> any_due(const OutboxClaim& claim, Instant now);
  Expected<std::vector<OutboxRow>, std::string> rows_of(Statement& statement);
  // SQLite's result code.
  int replace(const OutboxRow& next, const std::string& owner, std::optional<Instant> lease_at,
              bool& changed);
  int audit(const OutboxRow& before, const OutboxRow& after, OutboxAction action,
            const OutboxAuthor& author, Instant now);

  const std::string path_;
  const Options options_;
  std::optional<Database> database_;
  std::optional<Opened> opened_;
};

}  // namespace pawl::sqlite
