// The embedded store, `sqlite:PATH`: one file, no server, every acknowledged write durable.
//
// One thread writes, in transactions shared by whoever waits; two read, one of them for the passes.
// Every method may be called from any thread; a caller suspends and is resumed on its own executor.
// Several processes may open one file, on one machine: SQLite's locks and the guards in the
// statements keep them apart, only slower than one process alone. A process must not fork while it
// has a store open, nor open and close the file by other means: that drops SQLite's locks.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "src/adapters/sqlite/database.hpp"
#include "src/adapters/sqlite/options.hpp"
#include "src/adapters/sqlite/reader.hpp"
#include "src/adapters/sqlite/writer.hpp"
#include "src/ports/store.hpp"

namespace pawl::sqlite {

class SqliteStore final : public Store {
 public:
  // Opens or creates the file and, unless told otherwise, brings its schema up to date. Blocks: for
  // the start of a program. The error is a sentence or two: what is wrong, where, and what would be
  // right.
  static Expected<std::unique_ptr<SqliteStore>, std::string> open(
      const std::string& path, Options options = {}, WhenOld when_old = WhenOld::migrate);
  // Finishes what was asked of it. The callers' executors must still be there.
  ~SqliteStore() override;

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

  // Why the store cannot be used at the moment (disk full, read-only, corrupt, ...), for readiness.
  // It clears by itself once the trouble has gone, with or without traffic. Any thread, never
  // blocks.
  [[nodiscard]] std::optional<std::string> trouble() const { return health_.trouble(); }

  // Since the start: how many writes shared how many commits.
  [[nodiscard]] WriterCounts counts() const { return writer_.counts(); }

 private:
  SqliteStore(Database database, Options options);

  Task<void> perform(std::span<Write* const> writes, WriteGroup& group, WriteKind kind);
  Task<void> perform(Reader& reader, Read& read);
  Task<StoreResult<std::vector<Record>>> pass(Statement Statements::*statement, PassQuery query,
                                              std::atomic<std::size_t>& unreadable);

  const Database database_;
  const Options options_;
  Health health_;
  Writer writer_;
  Reader finder_;
  Reader passes_;
  // By pass, as the last one found them.
  std::atomic<std::size_t> unreadable_lapsed_ = 0;
  std::atomic<std::size_t> unreadable_past_retention_ = 0;
  std::atomic<std::size_t> unreadable_undetermined_ = 0;
  std::atomic<std::size_t> unreadable_pending_ = 0;
};

}  // namespace pawl::sqlite
