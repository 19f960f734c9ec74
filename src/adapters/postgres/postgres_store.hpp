// The shared store: PostgreSQL, for any number of nodes.
//
// All connections live on a thread of the store's own. Callers may be on any thread: their
// coroutine sleeps while its operation is under way and wakes up on its own executor. Operations
// that arrive while a batch commits share the next one.
//
// What a caller is told when things go wrong: `unavailable` for what was not sent within
// Options::operation_timeout, `in_doubt` for what was sent and not acknowledged within it,
// `contended` where somebody (a service's open transaction, say) held the row for longer than 100
// ms.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "src/adapters/postgres/options.hpp"
#include "src/ports/store.hpp"

namespace pawl::postgres {

class PostgresStore final : public Store {
 public:
  // `url` is anything libpq understands: a URI or key=value pairs, several hosts, sslmode,
  // target_session_attrs. Blocks until connected once. Refuses, saying why, a server that cannot be
  // reached, a schema that is missing, old or newer, and a server that may lose what it
  // acknowledged.
  static Expected<std::unique_ptr<PostgresStore>, std::string> open(const std::string& url,
                                                                    Options options = {});
  // No operation may be under way.
  ~PostgresStore() override;

  Task<std::vector<StoreResult<Written>>> insert_or_read(std::vector<Record> fresh) override;
  Task<std::vector<StoreResult<Written>>> replace(std::vector<Replacement> batch) override;
  Task<StoreResult<std::vector<bool>>> erase(std::vector<Erasure> batch) override;
  Task<StoreResult<std::optional<Record>>> find(Scope scope, Key key) override;
  Task<StoreResult<StoreClock>> time() override;
  Task<StoreResult<std::vector<Record>>> lapsed(PassQuery query) override;
  Task<StoreResult<std::vector<Record>>> past_retention(PassQuery query) override;
  Task<StoreResult<std::vector<Record>>> undetermined(PassQuery query) override;
  Task<StoreResult<std::vector<Record>>> pending(PassQuery query) override;
  Task<StoreResult<std::size_t>> count_active(Scope scope, std::size_t up_to) override;
  Task<StoreResult<Done>> keep_evidence(LateEvidence evidence) override;
  [[nodiscard]] std::size_t unreadable_rows() const override;

  // Why the store cannot be used just now; nothing while it can. Safe from any thread.
  [[nodiscard]] std::optional<std::string> trouble() const;

 private:
  class StoreLoop;
  explicit PostgresStore(std::unique_ptr<StoreLoop> core);

  std::unique_ptr<StoreLoop> core_;
};

}  // namespace pawl::postgres
