// KeyDirectory in SQL: one set of statements for every store that speaks it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/adapters/sql/session_thread.hpp"
#include "src/ports/key_directory.hpp"

namespace pawl::sql {

class SqlKeyDirectory final : public KeyDirectory {
 public:
  explicit SqlKeyDirectory(std::shared_ptr<SessionThread> thread) : port_(std::move(thread)) {}

  Task<StoreResult<std::vector<ListedKey>>> list(Listed which, std::size_t keys_max) override;
  Task<StoreResult<std::vector<KeyRef>>> keys_after(Scope scope, Key key,
                                                    std::size_t keys_max) override;
  Task<StoreResult<ScopesOfKey>> scopes_of(Key key, std::size_t scopes_max) override;
  Task<StoreResult<bool>> purge(Scope scope, Key key, Guard expected, AuditEntry audit) override;
  [[nodiscard]] std::string trouble() const override { return port_.trouble(); }

 private:
  SessionPort port_;
};

}  // namespace pawl::sql
