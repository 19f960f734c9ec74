// DataKeyStore in SQL: one set of statements for every store that speaks it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/adapters/sql/session_thread.hpp"
#include "src/ports/data_key_store.hpp"

namespace pawl::sql {

class SqlDataKeyStore final : public DataKeyStore {
 public:
  explicit SqlDataKeyStore(std::shared_ptr<SessionThread> thread) : port_(std::move(thread)) {}

  Task<StoreResult<std::vector<WrappedKey>>> keys_of(Scope scope) override;
  Task<StoreResult<bool>> add(WrappedKey key) override;
  Task<StoreResult<std::vector<WrappedKey>>> not_under(std::string kek, WrappedKey after,
                                                       std::size_t keys_max) override;
  Task<StoreResult<Counts>> counts() override;
  Task<StoreResult<bool>> rewrap(WrappedKey was, WrappedKey next) override;
  Task<StoreResult<std::size_t>> forget(Scope scope, AuditEntry audit) override;
  Task<StoreResult<bool>> seal_message(OutboxRow sealed, std::string digest,
                                       int generation) override;
  [[nodiscard]] std::string trouble() const override { return port_.trouble(); }

 private:
  SessionPort port_;
};

}  // namespace pawl::sql
