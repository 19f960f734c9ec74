// The store of the simulated world: one truth (the memory store, the reference for all others) and
// one unreliable connection to it per process.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <limits>
#include <memory>

#include "src/adapters/memory/memory_outbox_store.hpp"
#include "src/adapters/memory/memory_reconciliation_store.hpp"
#include "src/adapters/memory/memory_store.hpp"
#include "src/boundary/replay_cache.hpp"
#include "tests/sim/chance.hpp"
#include "tests/sim/checker.hpp"
#include "tests/sim/history.hpp"
#include "tests/sim/scheduler.hpp"

namespace pawl::sim {

// The database server. Its methods happen at once and atomically: how long they took, whether they
// were reached and whether anybody heard of it is the connection's business.
class Server {
 public:
  struct Backup {
    std::vector<Record> records;
    memory::MemoryReconciliationStore::Backup cases;
  };

  Server(Scheduler& scheduler, Checker& checker, History& history);

  std::vector<StoreResult<Written>> insert_or_read(std::vector<Record> fresh);
  std::vector<StoreResult<Written>> replace(std::vector<Replacement> batch);
  // All but those that fail.
  std::vector<StoreResult<Written>> replace_but(const std::vector<Replacement>& batch,
                                                const std::vector<bool>& fails);
  StoreResult<std::vector<bool>> erase(std::vector<Erasure> batch);
  StoreResult<std::optional<Record>> find(const Scope& scope, const Key& key);
  StoreResult<StoreClock> time() { return run(truth_.time()); }
  StoreResult<std::vector<Record>> lapsed(PassQuery query);
  StoreResult<std::vector<Record>> past_retention(PassQuery query);
  StoreResult<std::vector<Record>> undetermined(PassQuery query);
  StoreResult<std::vector<Record>> pending(PassQuery query);
  StoreResult<std::size_t> count_active(const Scope& scope, std::size_t up_to);
  StoreResult<Done> keep_evidence(LateEvidence evidence);

  // pawl.complete, in the service's own transaction: true if it committed. `effect` is the rest of
  // that transaction.
  bool complete(const Identity& identity, Fence fence, StoredResponse response,
                const std::function<void(const Record& held)>& effect);

  // Does what was asked for at that honest time.
  template <class Reply>
  Reply asked_at(Instant when, const std::function<Reply()>& apply) {
    checker_.asked_to_write(when);
    Reply reply = apply();
    checker_.asked_to_write(std::nullopt);
    return reply;
  }

  // What the store's clock shows, and what it would show had nobody touched it.
  [[nodiscard]] Instant clock() const { return honest() + stepped_ + jumped_; }
  [[nodiscard]] Instant honest() const;
  void step_clock(Duration by) { stepped_ = by; }
  void jump_clock(Duration by) {
    jumped_ = by;
    ever_jumped_ |= by != Duration{0};
  }
  [[nodiscard]] bool ever_jumped() const { return ever_jumped_; }
  [[nodiscard]] bool jumped() const { return jumped_ != Duration{0}; }

  // What a backup holds; and a backup put back, with what an operator does after it.
  [[nodiscard]] std::vector<Record> records() const { return truth_.records(); }
  [[nodiscard]] Backup backup() const { return {truth_.records(), cases_.backup()}; }
  void restore(const Backup& backup);

  // The other tables: what a connection or the judge does with them.
  memory::MemoryReconciliationStore& cases() { return cases_; }
  memory::MemoryOutboxStore& outbox() { return outbox_; }
  template <class T>
  T run(Task<T> task);

  [[nodiscard]] bool has(const Identity& identity) { return checker_.row(identity).has_value(); }
  [[nodiscard]] bool changed_since(const Identity& identity, Duration when) const {
    const auto changed = changed_at_.find(identity);
    return changed != changed_at_.end() && changed->second >= when;
  }

  // An operator forgets a completed record; false where there is none.
  bool purge(const Identity& identity);
  // From now on nobody can read this row.
  void corrupt(const Identity& identity);

  // Every connection breaks; the standby takes over later. Commits that nobody has heard of yet are
  // lost, but for those that were on the standby already.
  void fail_over(Duration until);
  void survives_fail_over(std::function<void()> commit);
  [[nodiscard]] bool down() const;
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

 private:
  // co_spawn of Boost 1.81 wants results that can be made of nothing; ours cannot.
  template <class T>
  static Task<void> keep(Task<T> task, std::optional<T>& result) {
    result.emplace(co_await std::move(task));
  }
  void saw(const Record& record);
  void saw_nothing(const Identity& identity);

  Scheduler& scheduler_;
  Checker& checker_;
  History& history_;
  Duration stepped_{0};
  Duration jumped_{0};
  bool ever_jumped_ = false;
  Duration down_until_{0};
  std::uint64_t epoch_ = 0;
  std::vector<std::function<void()>> survivors_;
  std::map<Identity, Duration> changed_at_;
  memory::MemoryStore truth_;
  memory::MemoryReconciliationStore cases_;
  memory::MemoryOutboxStore outbox_;
  boost::asio::io_context context_{1};
};

// The memory stores never wait: the coroutine is over when poll returns.
template <class T>
T Server::run(Task<T> task) {
  std::optional<T> result;
  boost::asio::co_spawn(context_, keep(std::move(task), result), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  context_.restart();
  context_.poll();
  return std::move(*result);
}

// One process's way to the server, with everything that can go wrong on it.
class Connection final : public Store {
 public:
  Connection(Scheduler& scheduler, Server& server, Chaos& chaos, History& history, Process& process,
             Stream stream, std::string who);

  void cut_until(Duration when) { cut_until_ = when; }
  void heal() { cut_until_ = Duration{0}; }
  // What the store says of purges reaches this node's memory.
  void tell(ReplayCache& cache) { cache_ = &cache; }
  // The newest purge that this node has been told of.
  [[nodiscard]] std::int64_t heard_epoch() const { return heard_epoch_; }

  // A statement about another table: the ports of cases and of the outbox are made of it. `place`
  // names it for the history and for how likely trouble is there. See connection_call.hpp.
  template <class T>
  Task<StoreResult<T>> ask(std::string what, const char* place, bool writes,
                           std::function<StoreResult<T>()> apply);
  [[nodiscard]] bool tells() const { return history_.wanted(); }
  [[nodiscard]] Server& server() { return server_; }
  // No page of accepted requests is longer.
  void page_at_most(std::size_t rows) { rows_max_ = rows; }

  // Has the store's time been learned from an answer that was quick enough to say something?
  [[nodiscard]] bool knows_time() const { return knows_time_; }

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

 private:
  struct Plan {
    std::optional<Duration> apply_after;  // nothing: it never reaches the server
    Duration reply_after{0};
    std::optional<StoreError> error;
  };

  Plan plan(bool writes);
  void hear(std::int64_t purge_epoch);
  template <class Reply>
  Task<Expected<Reply, StoreError>> call(std::string what, const char* place, bool writes,
                                         std::function<Reply()> apply);

  Scheduler& scheduler_;
  Server& server_;
  Chaos& chaos_;
  History& history_;
  Process& process_;
  Stream stream_;
  std::string who_;
  ReplayCache* cache_ = nullptr;
  std::int64_t heard_epoch_ = 0;
  Duration cut_until_{0};
  bool knows_time_ = false;
  std::size_t rows_max_ = std::numeric_limits<std::size_t>::max();
};

}  // namespace pawl::sim
