// NodeRegistry in SQL: one set of statements for every store that speaks it.
#pragma once

#include <memory>
#include <string>

#include "src/adapters/sql/session_thread.hpp"
#include "src/ports/node_registry.hpp"

namespace pawl::sql {

class SqlNodeRegistry final : public NodeRegistry {
 public:
  explicit SqlNodeRegistry(std::shared_ptr<SessionThread> thread) : port_(std::move(thread)) {}

  Task<StoreResult<std::size_t>> serves(std::string node, Duration within) override;

 private:
  SessionPort port_;
};

}  // namespace pawl::sql
