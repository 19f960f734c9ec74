// A node: the store, the engine on it, and a thread that renews leases, sweeps and reaps.
//
// A program opens one and hands it to its Middleware and Flow objects. Any thread may use them.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "pawl/database.hpp"
#include "pawl/types/time.hpp"

namespace pawl {

class Metrics;

namespace detail {
class NodeCore;
}

enum class LogLevel { info, warning, error };

struct NodeOptions {
  // Accept a PostgreSQL that may forget what it acknowledged (fsync = off).
  bool allow_lossy_store = false;
  // PostgreSQL: bring the schema `pawl` up to date when opening. Off: `pawl migrate` does it.
  bool migrate = false;
  // PostgreSQL: how many phases may have a transaction open at once. SQLite: always one.
  std::size_t connections = 8;
  // PostgreSQL: how long one statement of a phase, or its commit, may take. A server that has said
  // nothing a little later has its connection closed; what was being committed is in doubt.
  std::chrono::milliseconds statement_timeout = std::chrono::seconds(60);
  // Seal bodies in the store with the keys of this file; empty: they are stored in clear. See
  // docs/data-protection.md. Several processes on one store have the same keys.
  std::string encryption_keys_file = {};
  // Sweep and reap in the background. Off where a `pawl worker` or `pawl serve` does it.
  bool passes = true;
  Duration sweep_interval = std::chrono::seconds(10);
  // How long what outlives its record is kept: delivered messages of the outbox, evidence (answers
  // that came after their record was taken over), the audit.
  Duration outbox_retention = std::chrono::days(30);
  Duration evidence_retention = std::chrono::days(90);
  Duration audit_retention = std::chrono::days(400);
  // For flows that are awaited instead of waited for: how many run at once.
  std::size_t flow_threads = 4;
  std::shared_ptr<Metrics> metrics = {};
  // From any thread; must not throw. None: warnings and errors go to standard error.
  std::function<void(LogLevel, std::string_view)> log = {};
  // For tests: called at every point of a flow at which a crash is distinguished, by name. See
  // docs/library.md. A test kills its process there.
  std::function<void(std::string_view point)> at_point = {};
};

// The store could not be opened: what is wrong, where, and what would be right.
class OpenError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A handle; copies are the same node. The last one that goes, Middleware and Flow objects counted,
// ends its thread. No call may be under way then.
class Node {
 public:
  explicit Node(std::shared_ptr<detail::NodeCore> core) : core_(std::move(core)) {}

  // One transaction in the service's own tables, outside any request: for making tables, say.
  // Throws DatabaseError, and whatever `work` throws; then nothing of it is there.
  void transact(const std::function<void(Database&)>& work) const;

  // Why the store cannot be used just now; nothing while it can.
  [[nodiscard]] std::optional<std::string> trouble() const;

  [[nodiscard]] const std::shared_ptr<detail::NodeCore>& core() const { return core_; }

 private:
  std::shared_ptr<detail::NodeCore> core_;
};

// "sqlite:PATH", or anything libpq understands ("postgres://..."). Blocks; throws OpenError.
Node open(const std::string& url, NodeOptions options = {});

}  // namespace pawl
